package relay_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/client"
)

const published = `{"artifacts":[{"schema_version":"1.0","plane":"mgmt","version":1,"node":"alpha","name":"agent"}]}`

// A coordinator in a program of one's own, with a storage that lasts as long as
// it does, and the client that publishes to it and fetches from it.
func Example() {
	ctx := context.Background()
	r, err := relay.New(ctx, new(relay.Memory), relay.Options{})
	if err != nil {
		panic(err)
	}
	publish := httptest.NewServer(r.PublishHandler())
	defer publish.Close()
	sync := httptest.NewServer(r.SyncHandler())
	defer sync.Close()

	publisher, err := client.New(client.Options{BaseURL: publish.URL})
	if err != nil {
		panic(err)
	}
	defer publisher.Close()
	result, err := publisher.Publish(ctx, strings.NewReader(published), int64(len(published)))
	fmt.Println(result.Result, result.Changed, err)

	reader, err := client.New(client.Options{BaseURL: sync.URL})
	if err != nil {
		panic(err)
	}
	defer reader.Close()
	reply, err := reader.Fetch(ctx, "alpha", 0, 0)
	fmt.Println(reply.Status, reply.Version, err)
	reply, err = reader.Fetch(ctx, "alpha", 1, 0)
	fmt.Println(reply.Status, err)
	// Output:
	// accepted [alpha] <nil>
	// set 1 <nil>
	// not-modified <nil>
}

// Both handlers in one http.Server of a program that serves other things too, with
// its own idea of who may publish. A server that is not made by NewServer must
// bring ReadHeaderTimeout and IdleTimeout; ReadTimeout and WriteTimeout stay 0,
// because the handlers time bodies by progress and hold answers for a minute.
func Example_inAServerOfOnesOwn() {
	r, err := relay.New(context.Background(), new(relay.Memory), relay.Options{})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/artifact/", r.SyncHandler())
	mux.Handle("/publish/", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer of-my-own" {
			http.Error(w, "publishing is not for you", http.StatusForbidden)
			return
		}
		r.PublishHandler().ServeHTTP(w, req)
	}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "well") })
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, token := range []string{"", "Bearer of-my-own"} {
		req, err := http.NewRequest(http.MethodPost, server.URL+"/publish/mgmt", strings.NewReader(published))
		if err != nil {
			panic(err)
		}
		req.Header.Set("Authorization", token)
		resp, err := server.Client().Do(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	resp, err := server.Client().Get(server.URL + "/artifact/mgmt/alpha")
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Flor-Set-Version"))
	// Output:
	// 403 Forbidden
	// 200 OK
	// 200 OK 1
}

// A storage in a directory: what was published is there after a start.
func ExampleOpenFileStore() {
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		storage, err := relay.OpenFileStore(dir)
		if err != nil {
			panic(err)
		}
		r, err := relay.New(context.Background(), storage, relay.Options{})
		if err != nil {
			panic(err)
		}
		fmt.Println(r.Published().Nodes())
		req := httptest.NewRequest(http.MethodPost, "/publish/mgmt", strings.NewReader(published))
		r.PublishHandler().ServeHTTP(httptest.NewRecorder(), req)
		if err := storage.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// []
	// [alpha]
}
