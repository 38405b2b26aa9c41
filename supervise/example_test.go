package supervise_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/florete/flor/supervise"
)

// A program that has nothing to do with Florete keeps a web server and a
// worker running until it is interrupted, and logs when one is started again.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := supervise.New(supervise.Options{
		OnRestart: func(name string, why supervise.Cause) { fmt.Println(name, "is started again:", why) },
	})
	err := s.Apply(ctx, []supervise.Spec{
		{Name: "web", Path: "/usr/bin/python3", Args: []string{"-m", "http.server"}, Dir: "/srv", Out: os.Stderr},
		{Name: "worker", Path: "/usr/local/bin/worker", Env: []string{"QUEUE=mail"}, Out: os.Stderr},
	})
	if err == nil {
		err = s.Run(ctx)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// The state of a child is followed with Watch.
func ExampleSupervisor_Watch() {
	ctx, cancel := context.WithCancel(context.Background())
	s := supervise.New(supervise.Options{})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	_ = s.Apply(ctx, []supervise.Spec{{Name: "picky", Path: "/bin/sh", Args: []string{"-c", "exit 78"}}})
	for all := range s.Watch(ctx) {
		if len(all) > 0 && all[0].State == supervise.Rejected {
			fmt.Println(all[0].Name, "is", all[0].State, "with", all[0].LastExit.Reason)
			break
		}
	}
	cancel()
	<-ended
	// Output: picky is rejected with exit code 78
}
