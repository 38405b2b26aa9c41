package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/program"
)

// resetMeaning is what a person must know who has done it.
const resetMeaning = `This coordinator has forgotten the published tree and the highest version of
every node.

  - It answers "nothing is published" until the next publish. No node stops:
    each runs on what it has.
  - The next publish decides anew, whatever its versions are. An agent still
    refuses what is older than it has accepted, so publish the tree that was
    published last, or a newer one.
`

// reset forgets everything in a state directory that no coordinator holds
// (CRD-3). It is the only way round the monotonic gate, and only for somebody
// who is on the machine.
func reset(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("flor-coordinator reset", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rete := flags.String("rete", "", "the `SCOPE`; may be left out where one is enrolled, or FLORWL_STATE_DIR is set")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return program.ExitOK
		}
		return program.ExitUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "flor-coordinator reset takes no argument, got %q\n", flags.Arg(0))
		return program.ExitUsage
	}
	if err := forget(*rete, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "flor-coordinator reset:", err)
		return program.ExitCrash
	}
	return program.ExitOK
}

func forget(rete string, stdout, stderr io.Writer) error {
	dir, err := resetDir(rete)
	if err != nil {
		return err
	}
	storage, err := relay.OpenFileStore(dir)
	if err != nil {
		return err
	}
	defer storage.Close()
	removed, err := storage.Reset()
	for _, name := range removed {
		fmt.Fprintln(stdout, name)
	}
	if err != nil {
		return err
	}
	if len(removed) == 0 {
		fmt.Fprintf(stderr, "%s: nothing was stored\n", dir)
		return nil
	}
	fmt.Fprint(stderr, resetMeaning)
	return nil
}

// resetDir is the state directory that is meant: of the scope that is named, of
// the environment, or of the only scope.
func resetDir(rete string) (string, error) {
	if dir := os.Getenv("FLORWL_STATE_DIR"); rete == "" && dir != "" {
		return dir, nil
	}
	layout, err := store.ThisLayout()
	if err != nil {
		return "", err
	}
	return layout.LocateState(rete, workload)
}
