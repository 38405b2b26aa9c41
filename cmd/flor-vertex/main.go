package main

import (
	"os"
	"runtime/debug"

	"github.com/florete/flor/supervise/program"
)

func main() {
	// The vertex says itself what the kernel granted, as one record; quic-go's
	// own words to standard error would forge a line of the log (OBS-2).
	_ = os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true")
	program.Program{
		Name:    "flor-vertex",
		Version: version(),
		Run:     run,
		Check:   check,
		Locate:  locate,
	}.Main()
}

// version is what the go command recorded of the module and its revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
