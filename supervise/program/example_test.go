package program_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/supervise/program"
	"github.com/florete/flor/supervise/program/metrics"
)

// A program that listens, and takes a change of its artifact over as long as
// it listens on the same address.
func Example() {
	type config struct {
		Listen string `json:"listen"`
	}
	program.Main(func(ctx context.Context, c *program.Context) error {
		var now config
		if err := c.Decode(&now); err != nil {
			return err
		}
		l, err := net.Listen("tcp", now.Listen)
		if err != nil {
			return program.Unavailable(err)
		}
		c.OnApply(func(_ context.Context, next envelope.Artifact, _ bool) (swapped bool, err error) {
			var then config
			err = program.DecodePayload(next, &then)
			return then == now, err
		})
		c.Ready(l.Addr().String())
		c.Log.Info("listening", slog.String("addr", now.Listen))
		<-ctx.Done()
		return l.Close()
	})
}

// A warning that peers can cause at will is logged once in 10 s for each reason.
func ExampleLimit() {
	now := time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)
	lines := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	log := slog.New(program.Limit(lines, program.LimitOptions{
		Keys: []string{"reason"}, Now: func() time.Time { return now },
	}))
	for range 3 {
		log.Warn("handshake refused", "peer", "192.0.2.7", "reason", "expired")
		now = now.Add(6 * time.Second)
	}
	// Output:
	// level=WARN msg="handshake refused" peer=192.0.2.7 reason=expired
	// level=WARN msg="handshake refused" peer=192.0.2.7 reason=expired suppressed=1
}

// A service over HTTP with all that a control channel offers: readiness, a swap
// of the payload while it serves, counters, and a drain before a restart.
func Example_service() {
	program.Main(func(ctx context.Context, c *program.Context) error {
		now, err := readGreeting(c)
		if err != nil {
			return err // exit 78: not tried again with this artifact
		}
		l, err := net.Listen("tcp", now.Listen)
		if err != nil {
			return program.Unavailable(err) // exit 69: tried again
		}
		counters := metrics.New()
		served := prometheus.NewCounter(prometheus.CounterOpts{Name: "greetings_total", Help: "Greetings served."})
		counters.Registerer().MustRegister(served)
		var current atomic.Pointer[greeting]
		current.Store(now)
		server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			served.Inc()
			fmt.Fprintln(w, current.Load().Text)
		})}

		c.ServeMetrics(counters.Handler())
		c.OnDrain(server.Shutdown) // answers what is open; SIGTERM comes next
		c.OnApply(func(_ context.Context, next envelope.Artifact, dryRun bool) (swapped bool, err error) {
			then := new(greeting)
			if err := program.DecodePayload(next, then); err != nil || then.Listen != current.Load().Listen {
				return false, err // restarted for it
			}
			if !dryRun {
				current.Store(then)
			}
			return true, nil
		})
		broken := make(chan error, 1)
		go func() { broken <- server.Serve(l) }()
		c.Ready(l.Addr().String())
		go counters.Report(ctx, c.Log)
		select {
		case err := <-broken:
			if !errors.Is(err, http.ErrServerClosed) {
				return err // a crash
			}
			<-ctx.Done() // drained
		case <-ctx.Done():
		}
		return server.Shutdown(context.WithoutCancel(ctx)) // bounded by the agent's grace
	})
}

type greeting struct {
	Listen string `json:"listen"`
	Text   string `json:"text"`
}

func readGreeting(c *program.Context) (*greeting, error) {
	g := new(greeting)
	if err := c.Decode(g); err != nil {
		return nil, err
	}
	if g.Text == "" {
		return nil, program.Reject(errors.New("the payload has no text to greet with"))
	}
	return g, nil
}

// A test of one's own program makes a context out of fields, and an artifact with
// package envelopetest. Package conformance has a suite for the whole program.
func ExampleContext() {
	dir, err := os.MkdirTemp("", "greeter")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "greeter.json")
	signer := envelopetest.NewAuthority("demo").Signer("me")
	if err := os.WriteFile(file, signer.Sign("here", "greeter", 1, greeting{Listen: "127.0.0.1:0"}), 0o600); err != nil {
		panic(err)
	}
	c := &program.Context{Name: "greeter", MgmtArtifact: file, StateDir: dir, Log: slog.New(slog.DiscardHandler)}
	defer c.Close()
	_, err = readGreeting(c)
	fmt.Println(program.ExitCode(err), err)
	// Output: 78 the payload has no text to greet with
}
