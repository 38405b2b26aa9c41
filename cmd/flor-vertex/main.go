package main

import (
	"os"

	"github.com/florete/flor/cmd/internal/build"
	"github.com/florete/flor/cmd/internal/byhand"
	"github.com/florete/flor/supervise/program"
)

// workload is the name under which the compiler puts a vertex into a set.
const workload = "flor"

func main() {
	// The vertex says itself what the kernel granted, as one record; quic-go's
	// own words to standard error would forge a line of the log (OBS-2).
	_ = os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true")
	program.Program{
		Name:    "flor-vertex",
		Version: build.Version(),
		Run:     run,
		Check:   check,
		Locate:  byhand.Locate(workload),
	}.Main()
}
