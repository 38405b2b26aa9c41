package completion

import (
	"context"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
)

// Names lists what a word may be, given the command line in front of it. It has
// no way to complain: where nothing is known it lists nothing.
type Names func(*cli.Command) []string

// Words has what only the program knows.
type Words struct {
	// Values has, by the name of a flag, what its value may be, whichever
	// command has the flag.
	Values map[string]Names
	// Arguments has, by the path of a command below the program, such as
	// "ca revoke", what its first argument may be.
	Arguments map[string]Names
}

// Offer makes root, and every command below it, complete commands, flags and
// words, and gives it the command "completion". The command line library makes
// that one late: adopt is called with it, for what the program does to each of
// its commands.
func Offer(root *cli.Command, words Words, adopt func(*cli.Command)) {
	root.EnableShellCompletion = true
	root.ConfigureShellCompletionCommand = func(completion *cli.Command) {
		completion.Hidden = false
		completion.Usage = "print a completion script for bash, zsh, fish or pwsh"
		for _, shell := range []string{"bash", "zsh", "fish"} {
			completion.Command(shell).Action = printScript(shell)
		}
		adopt(completion)
	}
	words.completeBelow(root)
}

func (w Words) completeBelow(cmd *cli.Command) {
	cmd.ShellComplete = w.complete
	for _, sub := range cmd.Commands {
		w.completeBelow(sub)
	}
}

// complete prints the candidates for the word at the cursor, a line each. The
// shell drops those that do not start with what is typed already; where there
// are none it offers files.
func (w Words) complete(ctx context.Context, cmd *cli.Command) {
	typed := cmd.Args().Slice()
	before := ""
	if len(typed) > 0 {
		before = typed[len(typed)-1]
	}
	argument, named := w.Arguments[pathOf(cmd)]
	flag := valueFlag(cmd, before)
	switch {
	case flag != "":
		w.Values[flag].offer(cmd)
	case strings.HasPrefix(before, "-"), hasCommands(cmd):
		cli.DefaultCompleteWithFlags(ctx, cmd)
	case named && before == "":
		argument.offer(cmd)
	}
}

// hasCommands tells whether a command has others below it, beside the "help"
// that the library gives to all.
func hasCommands(cmd *cli.Command) bool {
	return slices.ContainsFunc(cmd.Commands, func(sub *cli.Command) bool { return !sub.Hidden && sub.Name != "help" })
}

// pathOf is a command's name with those of the commands above it, but for the
// program's.
func pathOf(cmd *cli.Command) string {
	_, path, _ := strings.Cut(cmd.FullName(), " ")
	return path
}

// valueFlag is the name of the flag that the word before the cursor is, when it
// is one that takes a value.
func valueFlag(cmd *cli.Command, word string) string {
	name := strings.TrimLeft(word, "-")
	if name == word {
		return ""
	}
	for _, above := range cmd.Lineage() {
		for _, flag := range above.Flags {
			if slices.Contains(flag.Names(), name) && takesValue(flag) {
				return flag.Names()[0]
			}
		}
	}
	return ""
}

func takesValue(flag cli.Flag) bool {
	described, ok := flag.(cli.DocGenerationFlag)
	return ok && described.TakesValue()
}

func (n Names) offer(cmd *cli.Command) {
	if n == nil {
		return
	}
	for _, name := range n(cmd) {
		if isWord(name) {
			fmt.Fprintln(cmd.Root().Writer, name)
		}
	}
}

// isWord reports whether a shell takes a name as it stands. Names may come out
// of files that nobody has judged yet: what a shell would act upon, or take for
// a flag or a description, is nothing that a person wants to be typed for them.
func isWord(name string) bool {
	return name != "" && name[0] != '-' && strings.IndexFunc(name, isSpecial) < 0
}

func isSpecial(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	}
	return !strings.ContainsRune("._/-", c)
}

//go:embed scripts
var scripts embed.FS

// placeholder stands for the program in the scripts.
const placeholder = "PROGRAM"

func printScript(shell string) cli.ActionFunc {
	return func(_ context.Context, cmd *cli.Command) error {
		text, err := scripts.ReadFile("scripts/" + shell)
		if err != nil {
			return err
		}
		_, err = io.WriteString(cmd.Root().Writer, strings.ReplaceAll(string(text), placeholder, cmd.Root().Name))
		return err
	}
}
