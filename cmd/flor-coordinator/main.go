package main

import (
	"os"

	"github.com/florete/flor/cmd/internal/build"
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
		Version: build.Version(),
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
