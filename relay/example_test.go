package relay_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/client"
)

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

	tree := `{"artifacts":[{"schema_version":"1.0","plane":"mgmt","version":1,"node":"alpha","name":"agent"}]}`
	publisher, err := client.New(client.Options{BaseURL: publish.URL})
	if err != nil {
		panic(err)
	}
	defer publisher.Close()
	result, err := publisher.Publish(ctx, strings.NewReader(tree), int64(len(tree)))
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
