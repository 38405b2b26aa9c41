package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals tell a command to come to its end.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

func main() { os.Exit(flor()) }

// flor runs the command line of this process and returns its exit code. A
// second signal ends the process at once, except of a command that calls [outlast].
func flor() int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals...)
	context.AfterFunc(ctx, stop)
	defer stop()
	c := &console{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}
	return c.exit(newApp(c).Run(ctx, os.Args))
}

// outlast has signals after the first not end the process until the returned
// function is called: what must be cleaned up is, however often "timeout" or a
// service manager asks. SIGKILL remains for who will not wait.
func outlast() (enough func()) {
	more := make(chan os.Signal, 1) // nobody reads it: the first has said all
	signal.Notify(more, stopSignals...)
	return func() { signal.Stop(more) }
}
