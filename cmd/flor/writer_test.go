package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/supervise/program"
)

// writer is a workload that writes all the time: numbers, each one more than
// the last, to a file that no second instance may have open. It leaves a process
// behind, and where its artifact says so another one that shows nothing of where
// it comes from.
var writer = program.Program{
	Name: "writer", Version: "test",
	Run: func(ctx context.Context, c *program.Context) error {
		file, err := os.OpenFile(filepath.Join(c.StateDir, "numbers"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return errors.Join(os.WriteFile(filepath.Join(c.StateDir, "second"), nil, 0o600), err)
		}
		if err := leaveBehind(c); err != nil {
			return err
		}
		c.OnApply(func(_ context.Context, next envelope.Artifact, _ bool) (bool, error) { return next.Version%3 != 0, nil })
		return count(ctx, file)
	},
}

func leaveBehind(c *program.Context) error {
	artifact, err := c.Artifact()
	if err != nil {
		return err
	}
	var payload struct{ Hides bool }
	if err := json.Unmarshal(artifact.Payload(), &payload); err != nil {
		return err
	}
	if payload.Hides {
		err = leave([]string{})
	}
	return errors.Join(err, leave(os.Environ()))
}

// leave starts a process that outlives its parent and is in no group of its.
func leave(environ []string) error {
	left := exec.Command("sleep", "600")
	left.Env = environ
	left.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return left.Start()
}

// count goes on counting where the file ends.
func count(ctx context.Context, file *os.File) error {
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return err
	}
	beat := time.NewTicker(2 * time.Millisecond)
	defer beat.Stop()
	for n := bytes.Count(text, []byte("\n")); ; n++ {
		if _, err := fmt.Fprintf(file, "%d\n", n); err != nil {
			return err
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
			return nil
		}
	}
}
