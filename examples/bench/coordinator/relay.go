package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/client"
)

// served is a coordinator in this process, with its storage on the disk, its two
// listeners and its counters, as flor-coordinator has them.
type served struct {
	storage       *relay.FileStore
	servers       []*http.Server
	ended         chan error
	sync, publish string // base URLs
}

func serve(ctx context.Context, dir string) (*served, error) {
	state, err := os.MkdirTemp(dir, "state")
	if err != nil {
		return nil, err
	}
	storage, err := relay.OpenFileStore(state)
	if err != nil {
		return nil, err
	}
	r, err := relay.New(ctx, storage, relay.Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		return nil, errors.Join(err, storage.Close())
	}
	s := &served{storage: storage, ended: make(chan error, 2)}
	s.sync, err = s.listen(r.SyncHandler())
	if err == nil {
		s.publish, err = s.listen(r.PublishHandler())
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *served) listen(handler http.Handler) (base string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := relay.NewServer(handler, nil)
	s.servers = append(s.servers, server)
	go func() { s.ended <- server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

// close ends the listeners and waits for them.
func (s *served) close() error {
	var failures []error
	for _, server := range s.servers {
		failures = append(failures, server.Close())
		if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
			failures = append(failures, err)
		}
	}
	return errors.Join(append(failures, s.storage.Close())...)
}

// put publishes over HTTP, as retectl does.
func put(ctx context.Context, base string, doc []byte) error {
	c, err := client.New(client.Options{BaseURL: base})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Publish(ctx, bytes.NewReader(doc), int64(len(doc)))
	return err
}

// nodeURL is where the first node asks for its set.
func nodeURL(base string) string { return base + "/artifact/mgmt/" + nodeName(0) }

func nodeName(n int) string { return fmt.Sprintf("node%06d", n) }

// firstVersion has as many digits as all that are published, so that a document
// can be given another one in place.
const firstVersion = 1_000_000

// tree is a set document of so many nodes at firstVersion, each with a set of
// about size bytes in two artifacts.
func tree(nodes, size int) []byte {
	const core = 120 // bytes of an artifact beside its payload's links
	links := links(size/2 - core)
	var doc bytes.Buffer
	doc.Grow(nodes * (size + core))
	doc.WriteString("{\"artifacts\":[\n")
	for n := range nodes {
		if n > 0 {
			doc.WriteString(",\n")
		}
		fmt.Fprintf(&doc, "%s,\n%s", artifact(n, "agent", links), artifact(n, "flor", links))
	}
	doc.WriteString("\n]}\n")
	return doc.Bytes()
}

// versionName stands before each version in a tree, and nowhere else.
var versionName = []byte(`"version": `)

// stamp gives all nodes of a tree another version, this many after the first.
func stamp(doc []byte, after int) {
	digits := strconv.Itoa(firstVersion + after)
	for rest := doc; ; {
		at := bytes.Index(rest, versionName)
		if at < 0 {
			return
		}
		rest = rest[at+len(versionName):]
		copy(rest, digits)
	}
}

func artifact(n int, name, links string) string {
	return fmt.Sprintf(`{
  "schema_version": "1.0",
  "plane": "mgmt",
  "version": %d,
  "node": "%s",
  "name": "%s",
  "payload": {
    "links": [%s]
  }
}`, firstVersion, nodeName(n), name, links)
}

// links is about size bytes of what payloads are made of.
func links(size int) string {
	var text strings.Builder
	for n := 0; text.Len() < size; n++ {
		if n > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `
      {
        "name": "to-%d",
        "peer": "spiffe://rete-lovers/vertex/node%06d/flor",
        "via": {
          "type": "udp",
          "adapter": "udp",
          "addr": "192.0.2.%d:4433"
        }
      }`, n, n, n%250+1)
	}
	return text.String()
}

// writeSynced is what storing bytes durably costs at least.
func writeSynced(dir string, doc []byte) error {
	f, err := os.Create(filepath.Join(dir, "synced"))
	if err != nil {
		return err
	}
	_, err = f.Write(doc)
	return errors.Join(err, f.Sync(), f.Close())
}
