package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/florete/flor/supervise/program"
)

// full is what the filler says that it serves when there is no room left.
const full = "full"

// filler is a workload that fills the disk, if its artifact says so, and then
// serves on.
var filler = program.Program{
	Name: "filler", Version: "test",
	Run: func(ctx context.Context, c *program.Context) error {
		artifact, err := c.Artifact()
		if err != nil {
			return err
		}
		var payload struct{ Fill bool }
		if err := json.Unmarshal(artifact.Payload(), &payload); err != nil {
			return err
		}
		if !payload.Fill {
			c.Ready()
		} else if err := fill(filepath.Join(c.StateDir, "fill")); errors.Is(err, syscall.ENOSPC) {
			c.Ready(full)
		} else {
			return err
		}
		<-ctx.Done()
		return nil
	},
}

// fill writes until it cannot.
func fill(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = file.Write(page)
	}
	return err
}
