package program_test

import (
	"context"
	"log/slog"
	"net"

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
