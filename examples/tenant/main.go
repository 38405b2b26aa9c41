package main

import (
	"context"
	"net"
	"net/http"

	"github.com/florete/flor/supervise/program"
)

func main() { program.Main(run) }

func run(ctx context.Context, c *program.Context) error {
	var config struct {
		Listen string `json:"listen"`
	}
	if err := c.Decode(&config); err != nil {
		return err // exit 78: not tried again with this artifact
	}
	l, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return program.Unavailable(err) // exit 69: tried again
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(c.StateDir))}
	go server.Serve(l)
	c.Ready(l.Addr().String())
	<-ctx.Done()
	return server.Shutdown(context.WithoutCancel(ctx))
}
