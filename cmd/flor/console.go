package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// console is where the command meets its user: data goes to out, prose to err.
type console struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	getenv func(string) string
}

// say writes a line of prose.
func (c *console) say(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// tell writes a line of data.
func (c *console) tell(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// tellJSON writes a document, indented for a person who looks at it.
func (c *console) tellJSON(doc any) error {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = c.out.Write(append(text, '\n'))
	return err
}

// exit reports err, unless it has been told already, and gives the exit code.
func (c *console) exit(err error) int {
	if said, message := spoken(err); !said {
		c.say("flor: %s", message)
	}
	return exitCode(err)
}
