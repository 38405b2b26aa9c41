package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/florete/flor/conformance/lab/loopback"
	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/config"
	"github.com/florete/flor/supervise/program"
)

// CRD-8: ten thousand clients that hold back: some say nothing, some stop in a
// header, on either listener, some in a body. Each costs little memory, and
// readers and publishers are served beside them.
func TestClientsThatHoldBackHarmNobody(t *testing.T) {
	const each, limit = 2_500, 32 << 10
	enough(t, 4*each)
	p, older, newer := newPlace(t), tree(3), tree(4)
	r := p.start()
	r.publish(older)
	before := r.memory()
	for _, c := range []struct{ address, request string }{
		{p.listen.Sync, ""},
		{p.listen.Sync, "GET /artifact/mgmt/{n} HTTP/1.1\r\nHost: x\r\nX-Slow: "},
		{p.listen.Publish, "POST /publish/mgmt HTTP/1.1\r\nX-Slow: "},
		{p.listen.Publish, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: 268435456\r\n\r\n{\"artifacts\":["},
	} {
		gather(t, c.address, each, c.request)
	}
	r.serves(older)
	r.publish(newer)
	r.serves(newer)
	cost := (r.memory() - before) / (4 * each)
	t.Logf("%d clients that hold back cost %d bytes each", 4*each, cost)
	if cost > limit && !raceDetector {
		t.Errorf("each costs %d bytes, want at most %d", cost, limit)
	}
}

// CRD-8: whoever holds back is ended by either listener of the program, and not
// only by those that package relay is tested with.
func TestBothListenersEndWhoHoldsBack(t *testing.T) {
	t.Parallel()
	r, err := relay.New(t.Context(), new(relay.Memory), relay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listen := config.Listen{Sync: loopback.Address(t), Publish: loopback.Address(t)}
	listeners, err := bind(t.Context(), r, &config.Config{Listen: listen}, new(program.Context))
	if err != nil {
		t.Fatal(err)
	}
	bounds := func(s *http.Server) [3]any { return [3]any{s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes} }
	want := bounds(relay.NewServer(nil, nil))
	for _, b := range listeners {
		if got := bounds(b.server); got != want {
			t.Errorf("%s: header and idle time and the size of a header are bounded by %v, want %v", b.socket.Addr(), got, want)
		}
		if err := b.socket.Close(); err != nil {
			t.Error(err)
		}
	}
}

// CRD-8: a body that never ends is stopped at the limit, and nothing of it is kept.
func TestABodyThatNeverEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sends 256 MiB")
	}
	p, text := newPlace(t), tree(3)
	r := p.start()
	r.publish(text)
	before := r.memory()
	conn, err := net.Dial("tcp", p.listen.Publish)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sent := make(chan int, 1)
	go func() { sent <- pour(conn) }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s, %v", resp.StatusCode, body, err)
	}
	if mib := <-sent; mib > 300 {
		t.Errorf("%d MiB were taken", mib)
	}
	r.serves(text)
	if kept := r.memory() - before; kept > 8<<20 && !raceDetector {
		t.Errorf("%d bytes are kept of it", kept)
	}
}

// pour sends a body without an end and tells how many MiB were taken.
func pour(conn net.Conn) int {
	piece := append(fmt.Appendf(nil, "%x\r\n", 1<<20), bytes.Repeat([]byte(" "), 1<<20)...)
	piece = append(piece, "\r\n"...)
	_, err := io.WriteString(conn, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
	for n := 0; ; n++ {
		if err != nil {
			return n
		}
		_, err = conn.Write(piece)
	}
}
