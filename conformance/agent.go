package conformance

import (
	"context"
	"slices"
	"strings"

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
	rows := slices.Concat(agentStoreCases(), agentSyncCases(), agentActivationCases(), agentSupervisionCases(), agentControlCases())
	cases := make([]Case, 0, len(rows))
	for _, r := range rows {
		cases = append(cases, r.asCase(command))
	}
	return cases, nil
}

// agentRow is a case of the suite for agents.
type agentRow struct {
	name, title string
	rules       string // separated by spaces
	check       func(*trial.T, *node.Node)
}

// asCase gives the check a machine of its own. What one must have built is the
// first part of the name.
func (r agentRow) asCase(command []string) Case {
	feature, _, _ := strings.Cut(r.name, "/")
	return Case{
		Suite: AgentSuite, Name: r.name, Title: r.title, Feature: feature, Requirements: strings.Fields(r.rules),
		Check: func(ctx context.Context) error {
			return trial.Run(ctx, func(t *trial.T) { r.check(t, node.New(t, command)) })
		},
	}
}
