package main

import (
	"os"

	"github.com/florete/flor/cmd/internal/build"
	"github.com/florete/flor/supervise/program"
)

func main() {
	// The vertex says itself what the kernel granted, as one record; quic-go's
	// own words to standard error would forge a line of the log (OBS-2).
	_ = os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true")
	program.Program{
		Name:    "flor-vertex",
		Version: build.Version(),
		Run:     run,
		Check:   check,
		Locate:  locate,
	}.Main()
}
