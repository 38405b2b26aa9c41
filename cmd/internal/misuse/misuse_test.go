package misuse_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/cmd/internal/misuse"
)

// wrong is what the program of these tests makes of wrong usage.
type wrong struct{ error }

// run runs a command line of a program with each sort of flag and command.
func run(args ...string) error {
	r := misuse.Refusal(func(err error) error { return wrong{err} })
	app := r.Settle(&cli.Command{
		Name: "garden", Writer: io.Discard, ErrWriter: io.Discard,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Flags:          []cli.Flag{&cli.StringFlag{Name: "place"}},
		Commands: []*cli.Command{
			{
				Name: "plant", Flags: []cli.Flag{
					&cli.Uint64Flag{Name: "rows"}, &cli.IntFlag{Name: "deep"}, &cli.BoolFlag{Name: "dry"},
					&cli.DurationFlag{Name: "for", Aliases: []string{"f"}}, &cli.Float64Flag{Name: "acid"},
				},
				Action: func(_ context.Context, cmd *cli.Command) error { return r.NoArguments(cmd) },
			},
			{
				Name: "pick", Flags: []cli.Flag{&cli.StringFlag{Name: "what", Required: true}, &cli.StringFlag{Name: "where", Required: true}},
			},
			{
				Name:   "water",
				Action: func(_ context.Context, cmd *cli.Command) error { _, err := r.OneArgument(cmd, "the bed"); return err },
			},
			{Name: "tools", Commands: []*cli.Command{{Name: "sharpen"}, {Name: "hide", Hidden: true}}},
		},
	})
	return app.Run(context.Background(), append([]string{"garden"}, args...))
}

// CLI-5: what people type by mistake has one clear error, which says what was meant.
func TestMisuseInWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"plnt":                 `garden has no command "plnt"; did you mean "plant"?`,
		"frobnicate":           `garden has no command "frobnicate"; try "garden --help"`,
		"":                     `say which command`,
		"tools":                `say which command`,
		"tools sharpn":         `garden tools has no command "sharpn"; did you mean "sharpen"?`,
		"tools hid":            `garden tools has no command "hid"; try "garden tools --help"`,
		"tools sharpen --xyz":  `garden tools sharpen has no flag --xyz; try "garden tools sharpen --help"`,
		"plant --row 3":        `garden plant has no flag --row; did you mean "--rows"?`,
		"plant --plac x":       `garden plant has no flag --plac; did you mean "--place"?`,
		"--plac x plant":       `garden has no flag --plac; did you mean "--place"?`,
		"plant -z":             `garden plant has no flag -z; try "garden plant --help"`,
		"plant --rows":         `--rows needs a value`,
		"plant --rows -3":      `--rows takes a whole number, and was given "-3"`,
		"plant --deep much":    `--deep takes a whole number, and was given "much"`,
		"plant --dry=maybe":    `--dry takes true or false, or no value, and was given "maybe"`,
		"plant -f soon":        `-f takes a period such as 90s or 5m, and was given "soon"`,
		"plant --acid very":    `--acid takes another value, and was given "very"`,
		"plant roses":          `garden plant takes no argument, and was given "roses"`,
		"pick":                 `garden pick needs --what and --where`,
		"pick --what x":        `garden pick needs --where`,
		"water":                `garden water takes one argument, the bed`,
		"water one two":        `garden water takes one argument, the bed`,
		"plant --rows 3 --dry": ``,
		"water one":            ``,
	} {
		err := run(strings.Fields(line)...)
		if (err == nil) != (want == "") || want != "" && err.Error() != want {
			t.Errorf("garden %s: %v, want %s", line, err, want)
		}
		if ours := new(wrong); err != nil && !errors.As(err, ours) {
			t.Errorf("garden %s: %T is not the program's error", line, err)
		}
	}
}

// What is not the library's finding is passed on.
func TestOtherFaultsAreTold(t *testing.T) {
	t.Parallel()
	r := misuse.Refusal(func(err error) error { return wrong{err} })
	cmd := r.Settle(&cli.Command{Name: "garden"})
	given := errors.New("the hose is frozen")
	if err := cmd.OnUsageError(t.Context(), cmd, given, false); !errors.Is(err, given) || err.Error() != given.Error() {
		t.Errorf("%v, want %v", err, given)
	}
}

func (w wrong) Unwrap() error { return w.error }
