package main

import (
	"os"

	"github.com/florete/flor/cmd/internal/build"
	"github.com/florete/flor/cmd/internal/byhand"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/supervise/program"
)

// workload is the name under which the compiler puts a coordinator into a set.
const workload = "coordinator"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "reset" {
		os.Exit(reset(os.Args[2:], os.Stdout, os.Stderr))
	}
	program.Program{
		Name:    "flor-coordinator",
		Version: build.Version(),
		Run:     run,
		Check:   check,
		Locate:  byhand.Locate(workload),
	}.Main()
}

// check judges the payload alone; whether a port is free is no matter of the
// artifact.
func check(_ *program.Context, a envelope.Artifact) error {
	_, err := config.Parse(a.Payload())
	return err
}
