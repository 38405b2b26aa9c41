package main

import (
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
	out    io.Writer
	err    io.Writer
	getenv func(string) string
}

func newConsole(in io.Reader, out, err io.Writer, getenv func(string) string) *console {
	return &console{in: in, out: out, err: err, getenv: getenv}
}

// say writes a line of prose.
func (c *console) say(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// tell writes a line of data.
func (c *console) tell(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// exit reports err and returns the exit code (CLI-5).
func (c *console) exit(err error) int {
	var faults *compiler.SourceError
	switch {
	case err == nil || errors.As(err, new(reportedFaults)):
	case errors.As(err, &faults):
		c.diagnose(faults.Diagnostics, faults.Texts)
	default:
		c.say("retectl: %v", err)
	}
	return exitCode(err)
}

// diagnose shows findings with their excerpts, in colour on a terminal only.
func (c *console) diagnose(found diag.List, texts diag.Sources) {
	if len(found) == 0 {
		return
	}
	if err := diag.Render(c.err, found, texts, isTerminal(c.err)); err != nil {
		c.say("retectl: %v", err)
	}
}

// isTerminal reports whether f is a terminal, by what it is and not by a name.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
