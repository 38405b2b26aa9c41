// Keep supervises the executables it is given, as the agent supervises
// workloads, but for a run of one second that forgives what was before: each
// kill of a child that the benchmarks make is the first one to the policy.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/florete/flor/supervise"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var specs []supervise.Spec
	for _, path := range os.Args[1:] {
		name := fmt.Sprint(len(specs))
		marker := "KEEP=" + path
		specs = append(specs, supervise.Spec{
			Name: name, Path: path, Env: append(os.Environ(), marker), Marker: marker,
			Policy: supervise.Policy{ResetAfter: time.Second},
		})
	}
	s := supervise.New(supervise.Options{Subreaper: true})
	err := s.Apply(ctx, specs)
	if err == nil {
		err = s.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
