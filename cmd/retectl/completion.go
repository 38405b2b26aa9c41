package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope/schema"
)

// offerCompletion makes the command tree complete commands, flags and, from the
// YAML of the repository, names. The scripts for the shells come from the
// command line library; they ask this program for candidates.
func (c *console) offerCompletion(root *cli.Command) *cli.Command {
	root.EnableShellCompletion = true
	root.ConfigureShellCompletionCommand = func(completion *cli.Command) {
		completion.Hidden = false
		completion.Usage = "print a completion script for bash, zsh, fish or pwsh"
		settle(completion)
		if fish := completion.Command("fish"); fish != nil {
			offerFiles(fish, filesWanted(root))
		}
	}
	c.completeBelow(root)
	return root
}

func (c *console) completeBelow(cmd *cli.Command) {
	cmd.ShellComplete = c.complete
	for _, sub := range cmd.Commands {
		c.completeBelow(sub)
	}
}

// offerFiles lets fish offer files where a file is wanted, which the library's
// script does for the other shells only.
func offerFiles(fish *cli.Command, behind []string) {
	script := fish.Action
	fish.Action = func(ctx context.Context, cmd *cli.Command) error {
		if err := script(ctx, cmd); err != nil {
			return err
		}
		_, err := fmt.Fprintf(cmd.Root().Writer, fishFiles, strings.Join(behind, " "))
		return err
	}
}

const fishFiles = `
# Offer files behind the flags and commands that want one.
function __retectl_wants_file
    set -l before (commandline -opc)
    contains -- $before[-1] %s
end
complete -c retectl -n __retectl_wants_file -F
`

// filesWanted are the words behind which the name of a file is due: flags of
// all commands, and the command that takes a file as its argument.
func filesWanted(cmd *cli.Command) []string {
	words := []string{"sign"}
	for _, flag := range cmd.Flags {
		if takesFile(flag) {
			for _, name := range flag.Names() {
				words = append(words, dashes(name)+name)
			}
		}
	}
	for _, sub := range cmd.Commands {
		words = append(words, filesWanted(sub)...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func takesFile(flag cli.Flag) bool {
	switch f := flag.(type) {
	case *cli.StringFlag:
		return f.TakesFile
	case *cli.StringSliceFlag:
		return f.TakesFile
	}
	return false
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-"
	}
	return "--"
}

// complete prints the candidates for the word at the cursor, a line each. The
// shell drops those that do not start with what is typed already; where there
// are none it offers files.
func (c *console) complete(ctx context.Context, cmd *cli.Command) {
	before := ""
	if n := cmd.Args().Len(); n > 0 {
		before = cmd.Args().Get(n - 1)
	}
	flag := valueFlag(cmd, before)
	switch {
	case flag != "":
		c.offer(c.valuesOf(cmd, flag))
	case strings.HasPrefix(before, "-"):
		cli.DefaultCompleteWithFlags(ctx, cmd)
	case cmd.Name == "explain":
		c.offer(slices.Sorted(maps.Keys(allCodes())))
	case cmd.Name == "revoke":
		c.offer(everyName(c.written(cmd)))
	case cmd.Name == string(compiler.StepSwitch), cmd.Name == string(compiler.StepRetire):
		c.offer(signerNames(c.written(cmd)))
	default:
		cli.DefaultCompleteWithFlags(ctx, cmd)
	}
}

func (c *console) offer(candidates []string) {
	for _, candidate := range candidates {
		c.tell("%s", candidate)
	}
}

// valueFlag is the flag that the word before the cursor is, if it wants a value.
func valueFlag(cmd *cli.Command, word string) string {
	name := strings.TrimLeft(word, "-")
	if name == word {
		return ""
	}
	for _, flag := range cmd.Flags {
		_, isSwitch := flag.(*cli.BoolFlag)
		if slices.Contains(flag.Names(), name) && !isSwitch {
			return flag.Names()[0]
		}
	}
	return ""
}

// valuesOf are the values that a flag can take, as far as they can be known.
func (c *console) valuesOf(cmd *cli.Command, flag string) []string {
	switch flag {
	case "format":
		return formats[cmd.Name]
	case "kind":
		return []string{string(schema.KindUser), string(schema.KindService), string(schema.KindNode), string(schema.KindVertex), string(schema.KindManagementPlane)}
	}
	if pick, known := namesForFlag[flag]; known {
		return pick(c.written(cmd))
	}
	return nil
}

// namesForFlag picks, for each flag that wants a name, names from the YAML.
var namesForFlag = map[string]func(*facade.Source) []string{
	"node":   nodeNames,
	"as":     userNames,
	"to":     writtenServices,
	"signer": signerNames,
	"resign": signerNames,
	"who":    everyName,
}

// everyName are the names of all principals.
func everyName(s *facade.Source) []string {
	return slices.Concat(nodeNames(s), writtenServices(s), userNames(s))
}

// written reads the YAML without judging it: names can be completed while it
// has faults, and where there is no repository there are none.
func (c *console) written(cmd *cli.Command) *facade.Source {
	from, err := source(cmd)
	if err != nil {
		return &facade.Source{}
	}
	src, _ := facade.Load(facade.Options{Root: from.Dir, Files: from.Files})
	return src
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
