package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/vertex"
)

func main() {
	if err := demo(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// demo raises both vertices, lets alice and bob ask, and takes them down.
func demo(ctx context.Context, out io.Writer) error {
	r, err := newRete()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	gateway, err := raise(ctx, &running, r.gatewayPayload(), r)
	if err != nil {
		return err
	}
	people, err := raise(ctx, &running, r.peoplePayload(), r)
	if err != nil {
		return err
	}
	server, err := serve(&running, gateway, r.web)
	if err != nil {
		return err
	}
	defer server.Close()
	for _, who := range []spiffeid.ID{r.alice, r.bob} {
		ask(ctx, out, people, who, r.web)
	}
	return nil
}

// serve answers HTTP as the principal, and greets each caller by the SPIFFE ID
// that it has proven.
func serve(running *sync.WaitGroup, v *vertex.Vertex, as spiffeid.ID) (*http.Server, error) {
	l, err := v.Listen(as)
	if err != nil {
		return nil, err
	}
	type peerKey struct{}
	server := &http.Server{
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, c.(*vertex.Conn).Peer())
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "hello %s", r.Context().Value(peerKey{}))
		}),
	}
	running.Go(func() { _ = server.Serve(l) })
	return server, nil
}

// ask makes one HTTP request as a principal, and prints what came of it.
func ask(ctx context.Context, out io.Writer, v *vertex.Vertex, who, target spiffeid.ID) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return v.Dial(ctx, who, target)
	}}
	defer transport.CloseIdleConnections()
	answer, err := get(ctx, transport)
	if err != nil {
		fmt.Fprintln(out, who, "was refused:", err)
		return
	}
	fmt.Fprintln(out, who, "was answered:", answer)
}

func get(ctx context.Context, transport *http.Transport) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://web/", nil)
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}
