package conformance

import (
	"context"
	"strings"

	"github.com/florete/flor/conformance/internal/agentsuite"
	"github.com/florete/flor/conformance/internal/node"
	"github.com/florete/flor/conformance/internal/trial"
)

// AgentSuite is the name of the suite for agents.
const AgentSuite = "agent"

// Agent returns the suite for agents against the command that starts one
// (CNF-2). In each case the command finds an environment of its own: one
// enrolled scope, demo, below FLOR_STATE_HOME; FLOR_RUNTIME_DIR, FLOR_LIB_DIR,
// FLOR_CONFIG_HOME and FLOR_LOG_DESTINATION; FLOR_LOG=info; and what else this
// process has. In an argument, {scope} stands for the scope's name. The agent
// serves until SIGTERM.
//
// Cases share nothing and may run at once. They need /bin/sh.
func Agent(command []string) ([]Case, error) {
	command, err := anchored(command)
	if err != nil {
		return nil, err
	}
	var cases []Case
	arrivals := &trial.Arrivals{}
	for _, c := range agentsuite.Cases() {
		cases = append(cases, agentCase(c, command, arrivals))
	}
	return cases, nil
}

// agentCase gives a case a machine of its own.
func agentCase(c agentsuite.Case, command []string, arrivals *trial.Arrivals) Case {
	feature, _, _ := strings.Cut(c.Name, "/")
	return Case{
		Suite: AgentSuite, Name: c.Name, Title: c.Title, Feature: feature, Requirements: strings.Fields(c.Rules),
		Check: func(ctx context.Context) error {
			return trial.Run(ctx, arrivals, func(t *trial.T) { c.Check(t, node.New(t, command)) })
		},
	}
}
