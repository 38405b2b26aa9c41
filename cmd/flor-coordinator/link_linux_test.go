package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/conformance/lab/netns"
	"github.com/florete/flor/relay/config"
)

// network is three hosts on one switch.
type network struct{ coordinator, near, far *netns.Host }

func newNetwork(t *testing.T) network {
	t.Helper()
	if err := netns.Unavailable(); err != nil {
		t.Skip(err)
	}
	s, err := netns.NewSwitch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	host := func(name, at string) *netns.Host {
		h, err := s.Host(name, netip.MustParsePrefix(at))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	return network{host("coordinator", "10.9.0.1/24"), host("near", "10.9.0.2/24"), host("far", "10.9.0.3/24")}
}

// place is a coordinator on its host.
func (n network) place(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	address := func(port uint16) string { return netip.AddrPortFrom(n.coordinator.Addr, port).String() }
	p.listen = config.Listen{Sync: address(9000), Publish: address(9001)}
	p.give(config.Config{SchemaVersion: config.SchemaVersion, Listen: p.listen})
	p.launch = n.coordinator.Start
	return p
}

// ask sends a request from a host and gives the status and the body.
func ask(t *testing.T, from *netns.Host, method, address, path, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		return from.DialContext(ctx, network, to)
	}}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// keptLimit is what may be left of a watcher that is gone, in bytes: goroutines and
// descriptors that the runtime keeps for the next ones.
const keptLimit = 4 << 10

// CRD-6, CRD-8: thousands of watchers whose link is taken down say nothing, and
// cost nothing any more half a minute later, long before their answers are due.
// Watchers beside them are held on, and publishes and fetches are served all the
// while.
func TestWatchersBehindALinkThatIsTakenDown(t *testing.T) {
	t.Parallel()
	const gone, staying = 4_000, 100
	enough(t, gone+staying)
	n := newNetwork(t)
	p := n.place(t)
	r := p.start()
	publish := func(few int, version uint64) {
		t.Helper()
		if status, body := ask(t, n.near, "POST", p.listen.Publish, "/publish/mgmt", manyNodes(gone+staying+1, few, version)); status != http.StatusOK {
			t.Fatalf("publish: %d %s", status, body)
		}
	}
	publish(0, 1)
	const watch = "GET /artifact/mgmt/{n}?have=1&wait=60 HTTP/1.1\r\nHost: x\r\n\r\n"
	stay := gatherAt(t, n.near.Start, p.listen.Sync, 0, staying, watch)
	r.awaitHeld(staying)
	before := r.memory()
	gatherAt(t, n.far.Start, p.listen.Sync, staying, gone, watch)
	r.awaitHeld(staying + gone)
	held := r.memory()

	begun := time.Now()
	if err := n.far.Cable.Cut(); err != nil {
		t.Fatal(err)
	}
	one := fmt.Sprintf("/artifact/mgmt/%s", nodeName(0))
	if status, body := ask(t, n.near, "GET", p.listen.Sync, one, ""); status != http.StatusOK || !strings.Contains(body, `"version":1,`) {
		t.Errorf("a reader beside them: %d %s", status, body)
	}
	publish(1, 2)
	if e := stay.answers(1)[0]; e.Client != 0 || e.Status != http.StatusOK {
		t.Errorf("the publish woke %+v", e)
	}
	r.awaitHeld(staying - 1)
	took := time.Since(begun)
	kept := 0 // once what net/http keeps for its next connections is let go, too
	r.poll("end of what they cost", func(context.Context) bool {
		kept = (r.memory() - before) / gone
		return kept <= keptLimit || raceDetector
	})
	t.Logf("%d watchers of %d bytes each were gone %s after their link, %d bytes each are kept",
		gone, (held-before)/gone, took.Round(time.Millisecond), kept)
	if took > 45*time.Second {
		t.Errorf("it took %s, as long as their answers", took)
	}
}
