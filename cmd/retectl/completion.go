package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/completion"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope/schema"
)

// offerCompletion makes the command tree complete commands, flags and, from the
// YAML of the repository, names.
func offerCompletion(root *cli.Command) *cli.Command {
	completion.Offer(root, completion.Words{
		Values: map[string]completion.Names{
			"format": func(cmd *cli.Command) []string { return formats[cmd.Name] },
			"kind":   func(*cli.Command) []string { return issuedKinds },
			"node":   written(nodeNames),
			"as":     written(userNames),
			"to":     written(writtenServices),
			"who":    written(everyName),
			"signer": written(signerNames),
			"resign": written(signerNames),
		},
		Arguments: map[string]completion.Names{
			"explain":                 func(*cli.Command) []string { return slices.Sorted(maps.Keys(allCodes())) },
			"ca revoke":               written(everyName),
			"ca rotate-signer switch": written(signerNames),
			"ca rotate-signer retire": written(signerNames),
		},
	}, func(cmd *cli.Command) { misused.Settle(cmd) })
	return root
}

// issuedKinds are the kinds of principals that "ca issue" knows.
var issuedKinds = []string{
	string(schema.KindUser), string(schema.KindService), string(schema.KindNode), string(schema.KindVertex), string(schema.KindManagementPlane),
}

// written picks names from the YAML without judging it: names can be completed
// while it has faults, and where there is no repository there are none.
func written(pick func(*facade.Source) []string) completion.Names {
	return func(cmd *cli.Command) []string {
		from, err := source(cmd)
		if err != nil {
			return nil
		}
		src, _ := facade.Load(facade.Options{Root: from.Dir, Files: from.Files})
		return pick(src)
	}
}

// everyName are the names of all principals.
func everyName(s *facade.Source) []string {
	return slices.Concat(nodeNames(s), writtenServices(s), userNames(s))
}

func nodeNames(s *facade.Source) []string {
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name.V)
	}
	return names
}

func userNames(s *facade.Source) []string {
	var names []string
	for _, u := range s.Users {
		names = append(names, u.Name.V)
	}
	return names
}

// writtenServices are services by the names that validation gives them.
func writtenServices(s *facade.Source) []string {
	var names []string
	for _, service := range s.Services {
		name := service.Key.V
		if service.Scope.V == "node" && !strings.Contains(name, "/") {
			name = service.Node.V + "/" + name
		}
		names = append(names, name)
	}
	return names
}

func signerNames(s *facade.Source) []string {
	if s.Rete == nil {
		return nil
	}
	var names []string
	for _, signer := range s.Rete.MgmtSigners {
		names = append(names, signer.Name.V)
	}
	return names
}
