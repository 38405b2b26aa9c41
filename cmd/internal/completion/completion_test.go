package completion_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/completion"
	"github.com/florete/flor/cmd/internal/completion/completiontest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toy": func() {
		if err := toy().Run(context.Background(), os.Args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}})
}

// toy has a command of each kind.
func toy() *cli.Command {
	nothing := func(context.Context, *cli.Command) error { return nil }
	root := &cli.Command{
		Name:  "toy",
		Flags: []cli.Flag{&cli.StringFlag{Name: "at"}},
		Commands: []*cli.Command{
			{Name: "pick", Usage: "take one", Action: nothing, Flags: []cli.Flag{
				&cli.StringFlag{Name: "color", Aliases: []string{"c"}, Usage: "its `COLOR`"},
				&cli.StringSliceFlag{Name: "from", TakesFile: true},
				&cli.BoolFlag{Name: "loud"},
			}},
			{Name: "box", Commands: []*cli.Command{{Name: "pick", Action: nothing}}},
		},
	}
	completion.Offer(root, completion.Words{
		Values: map[string]completion.Names{
			"color": func(*cli.Command) []string { return []string{"red", "green"} },
			"at":    func(*cli.Command) []string { return []string{"attic"} },
		},
		Arguments: map[string]completion.Names{
			"pick": func(*cli.Command) []string {
				return []string{"toybox", "alpha/ssh", "", "$(touch hacked)", "`touch hacked`", "a b", "a;b", "--loud", "spiffe://x", "é", "новый", "a\nb"}
			},
			"box pick": func(cmd *cli.Command) []string { return []string{"of-" + cmd.String("at")} },
		},
	}, func(*cli.Command) {})
	return root
}

func TestCandidates(t *testing.T) {
	tests := map[string]struct {
		typed []string
		want  string
	}{
		"the value of a flag":                         {[]string{"pick", "--color"}, "red\ngreen\n"},
		"the value of a flag's other name":            {[]string{"pick", "-c"}, "red\ngreen\n"},
		"the value of a flag of a command above":      {[]string{"pick", "--at"}, "attic\n"},
		"behind a switch stands an argument":          {[]string{"pick", "--loud"}, "toybox\nalpha/ssh\n"},
		"a value that nobody knows is a file":         {[]string{"pick", "--from"}, ""},
		"an argument, without what a shell acts upon": {[]string{"pick"}, "toybox\nalpha/ssh\n"},
		"an argument behind a flag with its value":    {[]string{"pick", "--color", "red"}, "toybox\nalpha/ssh\n"},
		"one argument is enough":                      {[]string{"pick", "toybox"}, ""},
		"of two commands of a name, the one meant":    {[]string{"--at", "attic", "box", "pick"}, "of-attic\n"},
		"commands":                          {[]string{"box"}, "pick\nhelp:Shows a list of commands or help for one command\n"},
		"nothing below a command but files": {[]string{"box", "pick", "x"}, ""},
		"flags, with what they are":         {[]string{"pick", "--co"}, "--color:its `COLOR`\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := toy()
			var out bytes.Buffer
			root.Writer = &out
			args := append(append([]string{"toy"}, test.typed...), "--generate-shell-completion")
			if err := root.Run(t.Context(), args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Tab completes in each shell, with nothing of the user's loaded, and runs
// nothing but the program.
func TestTab(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("in", func(t *testing.T) {
		completiontest.Program{Name: "toy", Dir: dir}.Run(t, []completiontest.Case{
			{Line: "toy pi", Want: "pick"},
			{Line: "toy pick toyb", Want: "toybox"}, // begins with the program's name
			{Line: "toy pick al", Want: "alpha/ssh"},
			{Line: "toy pick --color r", Want: "red"},
			{Line: "toy pick --color=g", Want: "--color=green"},
			{Line: "toy pick --lo", Want: "--loud"},
			{Line: "toy pick --loud toyb", Want: "toybox"},
			{Line: "toy --at at", Want: "attic"},
			{Line: "toy --at loft box pick of", Want: "of-loft"},
			{Line: "toy pick --from no", Want: "notes.txt"},
			{Line: "toy completion ba", Want: "bash"},
		})
	})
	if _, err := os.Stat(filepath.Join(dir, "hacked")); err == nil {
		t.Error("a candidate was run as a command")
	}
}

// A second press in bash lists what the candidates mean.
func TestListingInBashDescribes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "-c", `source <(toy completion bash)
COMP_LINE="toy " COMP_POINT=4 COMP_TYPE=63; _toy_complete; printf '%s\n' "${COMPREPLY[0]}"`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "pick        -- take one\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
