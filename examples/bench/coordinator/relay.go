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

func nodeURL(base string, have int) string {
	url := base + "/artifact/mgmt/" + nodeName(0)
	if have > 0 {
		url += fmt.Sprintf("?have=%d", have)
	}
	return url
}

func nodeName(n int) string { return fmt.Sprintf("node%06d", n) }

// tree is a set document of so many nodes, each with a set of about size bytes in
// two artifacts.
func tree(nodes, size, version int) []byte {
	const core = 100 // bytes of an artifact beside its filler
	filler := strings.Repeat("x", max(0, size/2-core))
	var doc bytes.Buffer
	doc.Grow(nodes * (size + core))
	doc.WriteString("{\"artifacts\":[\n")
	for n := range nodes {
		if n > 0 {
			doc.WriteString(",\n")
		}
		fmt.Fprintf(&doc, "%s,\n%s", artifact(n, "agent", version, filler), artifact(n, "flor", version, filler))
	}
	doc.WriteString("\n]}\n")
	return doc.Bytes()
}

func artifact(n int, name string, version int, filler string) string {
	return fmt.Sprintf(`{"schema_version":"1.0","plane":"mgmt","version":%d,"node":"%s","name":"%s","payload":"%s"}`,
		version, nodeName(n), name, filler)
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
