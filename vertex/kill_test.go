package vertex

import (
	"io"
	"net"
	"testing"
	"time"
)

// VTX-7: kill -9 of a vertex resets the programs that it serves, whatever they
// were doing: a death must not look like a clean end to any of them.
func TestKilledVertexResetsItsPrograms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		who  outsider
		own  func(client, service *net.TCPConn) *net.TCPConn
	}{
		{"the initiator's vertex and the client", theNear, func(client, _ *net.TCPConn) *net.TCPConn { return client }},
		{"the target's vertex and the service", theFar, func(_, service *net.TCPConn) *net.TCPConn { return service }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream, conns := parked(t)
			d := newDuo(t, upstream, func(d *duo) { d.outside = tt.who })
			ends := map[string]func() error{}
			for doing, begin := range occupations {
				client := d.dial(t)
				service := <-conns
				own := tt.own(client, service)
				other := client
				if own == client {
					other = service
				}
				ends[doing] = begin(t, own, other)
			}
			d.process.kill()
			begun := time.Now()
			for doing, end := range ends {
				if err := end(); !isReset(err) {
					t.Errorf("a program %s saw %v, want a reset", doing, err)
				}
			}
			if took := time.Since(begun); took > idleTimeout/3 {
				t.Errorf("took %v, want at once", took)
			}
		})
	}
}

// occupations are what a program does while its vertex is killed, and how it
// learns of its connection's end; other is the program at the far end.
var occupations = map[string]func(t *testing.T, own, other *net.TCPConn) (end func() error){
	"that waits": func(_ *testing.T, own, _ *net.TCPConn) func() error {
		return readToEnd(own)
	},
	"that downloads": func(t *testing.T, own, other *net.TCPConn) func() error {
		pour(other)
		expectMuch(t, own)
		return readToEnd(own)
	},
	"that uploads": func(t *testing.T, own, other *net.TCPConn) func() error {
		failed := pour(own)
		expectMuch(t, other)
		go func() { _, _ = io.Copy(io.Discard, other) }()
		return func() error { return <-failed }
	},
	"that ended its direction and waits for the rest of its answer": func(t *testing.T, own, other *net.TCPConn) func() error {
		_ = own.CloseWrite()
		expectEOF(t, other)
		send(t, other, "the first half of the ans")
		expect(t, own, "the first half of the ans")
		return readToEnd(own)
	},
}

func readToEnd(c io.Reader) func() error {
	return func() error {
		_, err := io.Copy(io.Discard, c)
		return err
	}
}

func expectMuch(t *testing.T, c io.Reader) {
	t.Helper()
	if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
		t.Fatal(err)
	}
}

// pour writes without end, until the connection ends, and tells how.
func pour(c net.Conn) (failed chan error) {
	failed = make(chan error, 1)
	go func() {
		for block := make([]byte, 64<<10); ; {
			if _, err := c.Write(block); err != nil {
				failed <- err
				return
			}
		}
	}()
	return failed
}

// VTX-7: what makes a death a reset harms no clean end: a service that wrote
// its last bytes and ended does not wait until a slow client has read them, and
// nor do the two vertices.
func TestLastBytesReachAClientThatReadsLater(t *testing.T) {
	t.Parallel()
	upstream, conns := parked(t)
	d := newDuo(t, upstream)
	client := d.dial(t)
	service := <-conns
	last := make([]byte, 256<<10)
	_ = client.CloseWrite()
	expectEOF(t, service)
	writeAndEnd(t, service, last)
	service.Close()
	expectReason(t, d.near, d, Completed)
	expectReason(t, d.far, d, Completed)
	if got, err := io.ReadAll(client); err != nil || len(got) != len(last) {
		t.Errorf("read %d bytes (%v), want %d and the end", len(got), err, len(last))
	}
}
