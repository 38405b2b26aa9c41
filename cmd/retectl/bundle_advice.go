package main

import (
	"time"

	"github.com/florete/flor/compiler"
)

// noteBundles says which nodes need a new bundle: compiling and publishing
// brings no keys to a machine. The command has done its work by then, so that a
// log of certificates that cannot be read is told and no fault of the command.
func (c *console) noteBundles(dir string, v *compiler.View, now time.Time) {
	due, err := compiler.DueBundles(dir, v, now)
	if err != nil {
		c.say("warning: which nodes need a new bundle is not known: %v", err)
		return
	}
	for i, d := range due {
		if i == maxNamed {
			c.say("next: %d more nodes need a bundle as well", len(due)-i)
			return
		}
		c.say("next: node %s needs %s: \"retectl issue-bundle --node %s\", then \"flor enroll\" there", d.Node, wantedBundle(d), d.Node)
	}
}

func wantedBundle(d compiler.DueBundle) string {
	if d.First {
		return "its first bundle"
	}
	return "a new bundle for " + enumerated(d.Principals)
}
