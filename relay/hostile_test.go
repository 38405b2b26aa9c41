package relay_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/relay"
)

// exchange sends text on a connection of its own, whatever becomes of the writes,
// says that no more will come, and gives the statuses of what comes back until the
// server closes.
func exchange(t *testing.T, address, text string) (statuses []int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
	})
	in := bufio.NewReader(conn)
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return statuses
		}
		statuses = append(statuses, resp.StatusCode)
	}
}

// CRD-8: what is no request, or too much of one, is refused and its connection
// closed; what stands before it on the connection is answered.
func TestHostileRequestsAreRefused(t *testing.T) {
	t.Parallel()
	const fetch = "GET /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\n"
	cases := map[string]struct {
		text string
		want []int
	}{
		"100,000 headers":               {fetch + strings.Repeat("X-Many: 1\r\n", 100_000) + "\r\n", []int{431}},
		"a header of 1 MiB":             {fetch + "X-Long: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", []int{431}},
		"a path of 1 MiB":               {"GET /artifact/mgmt/" + strings.Repeat("x", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{431}},
		"garbage behind a request":      {fetch + "\r\n" + strings.Repeat("\x00\xff\r\n", 1000), []int{200, 400}},
		"garbage alone":                 {strings.Repeat("\x16\x03\x01", 1000) + "\r\n\r\n", []int{400}},
		"a hundred requests and an end": {strings.Repeat(fetch+"\r\n", 100) + fetch + "Connection: close\r\n\r\n", repeated(200, 101)},
		"two lengths":                   {fetch + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", []int{400}},
		"an HTTP of the future":         {"GET /artifact/mgmt/alpha HTTP/7.3\r\nHost: x\r\n\r\n", []int{505}},
	}
	h := newHarness(t, new(relay.Memory))
	h.mustPost(document(nodeSet("alpha", 1, "a")))
	address, _ := h.listen()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, exchange(t, address, c.text)); diff != "" {
				t.Error(diff)
			}
			if got := request(t, "GET", address+"/artifact/mgmt/alpha", nil); got.Status != 200 {
				t.Errorf("another reader got %d", got.Status)
			}
		})
	}
}

func repeated(status, times int) []int {
	all := make([]int, times)
	for i := range all {
		all[i] = status
	}
	return all
}

// CRD-6, CRD-8: a thousand watchers vanish without a word, as when a link is taken
// down: their connections take nothing and never end. They are let go when their
// time is over and what is written to them is not taken.
func TestWatchersThatVanishAreLetGo(t *testing.T) {
	t.Parallel()
	const watchers = 1000
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, new(relay.Memory))
		h.mustPost(document(nodeSet("alpha", 1, "a")))
		server, listener := relay.NewServer(h.sync, nil), newPipes()
		var open sync.Map
		server.ConnState = func(conn net.Conn, state http.ConnState) {
			if open.Store(conn, true); state == http.StateClosed {
				open.Delete(conn)
			}
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		for range watchers {
			conn := listener.dial()
			defer conn.Close()
			fmt.Fprint(conn, "GET /artifact/mgmt/alpha?have=1&wait=60 HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		synctest.Wait()
		if held := relay.Watching(h.Relay); held != watchers {
			t.Errorf("%d are held", held)
		}
		begun := time.Now()
		h.mustPost(document(nodeSet("alpha", 2, "a")))
		if status, _ := h.get(t.Context(), "/artifact/mgmt/alpha?have=1&wait=60"); status != 200 || time.Since(begun) != 0 {
			t.Errorf("one who is there got %d after %s", status, time.Since(begun))
		}
		time.Sleep(3 * time.Minute) // the bubble's time
		synctest.Wait()
		left := 0
		open.Range(func(any, any) bool { left++; return true })
		if held := relay.Watching(h.Relay); held != 0 || left != 0 {
			t.Errorf("after three minutes %d are held and %d connections are open", held, left)
		}
		_ = server.Close()
		<-served
	})
}
