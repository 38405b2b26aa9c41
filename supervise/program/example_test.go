package program_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/supervise/program"
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
