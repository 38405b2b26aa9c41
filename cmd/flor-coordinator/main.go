package main

import (
	"os"
	"runtime/debug"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/supervise/program"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "reset" {
		os.Exit(reset(os.Args[2:], os.Stdout, os.Stderr))
	}
	program.Program{
		Name:    "flor-coordinator",
		Version: version(),
		Run:     run,
		Check:   check,
		Locate:  locate,
	}.Main()
}

// check judges the payload alone; whether a port is free is no matter of the
// artifact.
func check(_ *program.Context, a envelope.Artifact) error {
	_, err := config.Parse(a.Payload())
	return err
}

// version is what the go command recorded of the module and its revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
