package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/florete/flor/conformance/internal/host"
	"github.com/florete/flor/conformance/internal/programsuite"
	"github.com/florete/flor/conformance/internal/trial"
)

// ProgramSuite is the name of the suite for supervised programs.
const ProgramSuite = "program"

// ProgramOptions say what a program is run with. The zero value is good for a
// program that reads nothing from its payload.
type ProgramOptions struct {
	// Payload is that of the artifact, a JSON text that the program can serve;
	// empty is {}. Each {{address}} in it becomes a free loopback address with
	// its port.
	Payload string
	// Name is the workload's name; empty is tenant.
	Name string
	// Env is added to the program's environment, NAME=value each.
	Env []string
}

// Program returns the suite for supervised programs against a command (CNF-2).
// Each case starts it anew, with nothing but the variables of SUP-1 telling it
// what to do, and in directories of its own. Cases share nothing and may run at
// once.
func Program(command []string, o ProgramOptions) ([]Case, error) {
	payload := cmp.Or(o.Payload, "{}")
	if !json.Valid([]byte(strings.ReplaceAll(payload, host.Placeholder, "127.0.0.1:1"))) {
		return nil, fmt.Errorf("the payload is no JSON text: %s", payload)
	}
	command, err := anchored(command)
	if err != nil {
		return nil, err
	}
	p := host.Program{Argv: command, Env: o.Env, Name: cmp.Or(o.Name, "tenant"), Payload: payload}
	var cases []Case
	arrivals := &trial.Arrivals{}
	for _, c := range programsuite.Cases() {
		cases = append(cases, programCase(c, p, arrivals))
	}
	return cases, nil
}

// programCase gives a case a place of its own. What a program must have built for
// it is the first part of its name.
func programCase(c programsuite.Case, p host.Program, arrivals *trial.Arrivals) Case {
	feature, _, _ := strings.Cut(c.Name, "/")
	return Case{
		Suite: ProgramSuite, Name: c.Name, Title: c.Title, Feature: feature, Requirements: strings.Fields(c.Rules),
		Check: func(ctx context.Context) error {
			return trial.Run(ctx, arrivals, func(t *trial.T) { c.Check(host.New(t, p)) })
		},
	}
}
