package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/relay"
)

// unsynced is a storage whose disk fails after the rename.
type unsynced struct{ relay.Memory }

func (*unsynced) Swap(context.Context, relay.Revision, relay.State) (relay.Revision, error) {
	return 0, &relay.UnknownOutcome{Err: errors.New("sync: input/output error")}
}

// SET-2: a program that no longer knows what is stored answers the publish that
// found it out, and ends with that as its fault, to read the truth at its next start.
func TestAnUnknownOutcomeEndsTheProgram(t *testing.T) {
	t.Parallel()
	r, err := relay.New(t.Context(), new(unsynced), relay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := relay.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // one that does not end by itself is told to
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, r, []bound{{relay.NewServer(r.PublishHandler(), nil), socket}}, func(ctx context.Context) { <-ctx.Done() })
	}()
	resp, err := http.Post("http://"+socket.Addr().String()+"/publish/mgmt", "application/json", strings.NewReader(set(member("alpha", "agent", 1, "{}"))))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("the publish: %d, want 500", resp.StatusCode)
	}
	var unknown *relay.UnknownOutcome
	if err := <-ended; !errors.As(err, &unknown) || ctx.Err() != nil {
		t.Errorf("the program ended with %v, told to: %v", err, ctx.Err())
	}
}
