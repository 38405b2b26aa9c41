package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(retectl()) }

// retectl runs the command line of this process and returns its exit code.
func retectl() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // whoever asks twice does not wait
	c := newConsole(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	return c.exit(newApp(c).Run(ctx, os.Args))
}
