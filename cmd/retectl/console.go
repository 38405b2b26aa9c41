package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
)

// console is where the command meets its user: data goes to out, prose to err.
type console struct {
	in     io.Reader
	out    *answer
	err    io.Writer
	getenv func(string) string
}

func newConsole(in io.Reader, out, err io.Writer, getenv func(string) string) *console {
	return &console{in: in, out: &answer{to: out}, err: err, getenv: getenv}
}

// answer is the data that a command writes. It remembers that some of it was
// lost, so that no command need look at each line to not report a success that
// was none.
type answer struct {
	to   io.Writer
	lost error
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.to.Write(p)
	if err != nil && a.lost == nil {
		a.lost = fmt.Errorf("write the answer: %w", err)
	}
	return n, err
}

// say writes a line of prose.
func (c *console) say(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// tell writes a line of data.
func (c *console) tell(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// exit reports err, or that the answer was lost, and returns the exit code
// (CLI-5).
func (c *console) exit(err error) int {
	if err == nil || errors.As(err, new(reportedFaults)) && c.out.lost != nil {
		err = c.out.lost
	}
	var faults *compiler.SourceError
	switch {
	case err == nil || errors.As(err, new(reportedFaults)):
	case errors.As(err, &faults):
		c.diagnose(faults.Diagnostics, faults.Texts)
	case errors.Is(err, context.Canceled):
		c.say("retectl: interrupted; nothing is left half done: run the same command again")
	default:
		c.say("retectl: %v", err)
		c.adviseHost(err)
	}
	return exitCode(err)
}

// diagnose shows findings with their excerpts.
func (c *console) diagnose(found diag.List, texts diag.Sources) {
	if len(found) == 0 {
		return
	}
	if err := diag.Render(c.err, found, texts, c.inColour()); err != nil {
		c.say("retectl: %v", err)
	}
}

// inColour tells whether prose is coloured: on such a terminal, for a user who
// has not said otherwise (https://no-color.org).
func (c *console) inColour() bool { return c.steered() && c.getenv("NO_COLOR") == "" }

// steered tells whether prose goes to a terminal that obeys control sequences.
func (c *console) steered() bool { return isTerminal(c.err) && c.getenv("TERM") != "dumb" }

// isTerminal reports whether f is a terminal, by what it is and not by a name.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
