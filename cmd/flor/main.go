package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(flor()) }

// flor runs the command line of this process and returns its exit code. A
// second signal ends the process at once.
func flor() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	defer stop()
	c := &console{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}
	return c.exit(newApp(c).Run(ctx, os.Args))
}
