package relay_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/florete/flor/relay"
)

// pipes is a listener whose connections live in memory, so that a test in a
// synctest bubble decides about time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

// inBubble serves a handler on pipes, with time under the test's control.
func inBubble(t *testing.T, handler func(*harness) http.Handler, test func(*testing.T, *pipes, *harness)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, new(relay.Memory))
		server, listener := relay.NewServer(handler(h), nil), newPipes()
		done := make(chan error, 1)
		go func() { done <- server.Serve(listener) }()
		test(t, listener, h)
		_ = server.Close()
		<-done
	})
}

func publishing(h *harness) http.Handler { return h.publish }
func syncing(h *harness) http.Handler    { return h.sync }

// CRD-8: a body that stands still is ended after 30 s, not sooner.
func TestABodyThatStandsStillIsEnded(t *testing.T) {
	inBubble(t, publishing, func(t *testing.T, listener *pipes, _ *harness) {
		conn := listener.dial()
		defer conn.Close()
		fmt.Fprintf(conn, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{\"artifacts\"")
		begun := time.Now()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"error":"too_slow","reason":"the body stood still: 64 KiB must come in 30s: publish again over a faster way"}`
		if resp.StatusCode != 408 || string(body) != want || time.Since(begun) != 30*time.Second {
			t.Errorf("%d %s after %s", resp.StatusCode, body, time.Since(begun))
		}
	})
}

// CRD-8: whoever sends a byte now and then makes no progress: a body, a header,
// and a body that nobody asked for are ended in 30 s at the latest.
func TestATrickleIsEnded(t *testing.T) {
	cases := map[string]struct {
		handler func(*harness) http.Handler
		start   string
		after   time.Duration
	}{
		"a header, to readers":         {syncing, "GET /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\nX-Slow: ", 10 * time.Second},
		"a header, to publishers":      {publishing, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nX-Slow: ", 10 * time.Second},
		"a published body":             {publishing, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", 30 * time.Second},
		"a body to an unknown path":    {publishing, "POST /else HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", 30 * time.Second},
		"a body behind a fetch":        {syncing, "GET /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", 30 * time.Second},
		"a body behind a wrong method": {syncing, "PUT /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", 30 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.handler, func(t *testing.T, listener *pipes, _ *harness) {
				conn := listener.dial()
				defer conn.Close()
				begun := time.Now()
				var writer sync.WaitGroup
				writer.Go(func() {
					for _, err := io.WriteString(conn, c.start); err == nil; _, err = io.WriteString(conn, "a") {
						time.Sleep(time.Second) // the bubble's time
					}
				})
				if _, err := io.ReadAll(conn); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took > c.after+time.Second {
					t.Errorf("it was ended after %s, want %s", took, c.after)
				}
				writer.Wait()
			})
		})
	}
}

// CRD-8: progress is what counts: a body may take an hour, while it moves.
func TestABodyThatMovesMayTakeAnHour(t *testing.T) {
	inBubble(t, publishing, func(t *testing.T, listener *pipes, h *harness) {
		conn := listener.dial()
		defer conn.Close()
		const piece = 64 << 10
		doc := document(nodeSet("alpha", 1, strings.Repeat("x", 30*piece)))
		fmt.Fprintf(conn, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(doc))
		begun := time.Now()
		var writer sync.WaitGroup
		defer writer.Wait()
		writer.Go(func() {
			for rest := doc; len(rest) > 0; {
				time.Sleep(29 * time.Second) // the bubble's time
				n := min(piece, len(rest))
				if _, err := conn.Write(rest[:n]); err != nil {
					t.Errorf("after %s: %v", time.Since(begun), err)
					return
				}
				rest = rest[n:]
			}
		})
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 || time.Since(begun) < 25*time.Minute {
			t.Errorf("%d after %s", resp.StatusCode, time.Since(begun))
		}
		if h.Published().Version("alpha") != 1 {
			t.Error("not published")
		}
	})
}

// CRD-8: who opens a connection and says nothing is ended, and so is who keeps
// one open that is idle.
func TestSilentConnectionsAreEnded(t *testing.T) {
	inBubble(t, syncing, func(t *testing.T, listener *pipes, _ *harness) {
		silent := listener.dial()
		defer silent.Close()
		begun := time.Now()
		if _, err := io.ReadAll(silent); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("the header was waited for %s", took)
		}
		idle := listener.dial()
		defer idle.Close()
		fmt.Fprintf(idle, "GET /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\n\r\n")
		begun = time.Now()
		if _, err := io.ReadAll(idle); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 2*time.Minute {
			t.Errorf("the idle connection was kept for %s", took)
		}
	})
}

// CRD-5, CRD-8: a reader that takes nothing is ended, and keeps neither a publish
// nor another reader waiting until then.
func TestASlowReaderDelaysNobody(t *testing.T) {
	inBubble(t, syncing, func(t *testing.T, listener *pipes, h *harness) {
		h.mustPost(document(nodeSet("alpha", 1, strings.Repeat("x", 1<<20))))
		slow := listener.dial()
		defer slow.Close()
		fmt.Fprintf(slow, "GET /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\n\r\n")
		synctest.Wait()
		begun := time.Now()
		h.mustPost(document(nodeSet("alpha", 2, "b")))
		if status, _ := h.get(t.Context(), "/artifact/mgmt/alpha"); status != 200 || time.Since(begun) != 0 {
			t.Errorf("%d after %s", status, time.Since(begun))
		}
		time.Sleep(31 * time.Second) // the bubble's time: the slow one is given up
		synctest.Wait()
		got, err := io.ReadAll(slow)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(got, []byte(`"b"`)) || len(got) > 200<<10 {
			t.Errorf("the slow reader got %d bytes after its time was over", len(got))
		}
	})
}

// CRD-8: progress is what counts for answers, too: one may take minutes, while
// it is taken.
func TestAnAnswerThatMovesMayTakeMinutes(t *testing.T) {
	inBubble(t, syncing, func(t *testing.T, listener *pipes, h *harness) {
		doc := document(nodeSet("alpha", 1, strings.Repeat("x", 512<<10)))
		h.mustPost(doc)
		conn := listener.dial()
		defer conn.Close()
		fmt.Fprintf(conn, "GET /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\n\r\n")
		begun := time.Now()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for err == nil {
			time.Sleep(14 * time.Second) // the bubble's time
			_, err = io.CopyN(&got, resp.Body, 64<<10)
		}
		if err != io.EOF || !bytes.Equal(got.Bytes(), doc) || time.Since(begun) < 3*time.Minute {
			t.Errorf("%d bytes of %d after %s: %v", got.Len(), len(doc), time.Since(begun), err)
		}
	})
}

// CRD-8: an answer without a body must be taken as well: who asks on and on and
// reads nothing is ended.
func TestAnAnswerThatNobodyTakesIsGivenUp(t *testing.T) {
	inBubble(t, syncing, func(t *testing.T, listener *pipes, h *harness) {
		h.mustPost(document(nodeSet("alpha", 1, "a")))
		conn := listener.dial()
		defer conn.Close()
		fmt.Fprintf(conn, "GET /artifact/mgmt/alpha?have=1 HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(31 * time.Second) // the bubble's time
		synctest.Wait()
		if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
			t.Errorf("after its time was over there came %q, %v", got, err)
		}
	})
}

// CRD-8: a watch over a real connection: answered when the tree changes, and its
// connection is good for the next question.
func TestAWatchKeepsItsConnection(t *testing.T) {
	inBubble(t, syncing, func(t *testing.T, listener *pipes, h *harness) {
		h.mustPost(document(nodeSet("alpha", 1, "a")))
		conn := listener.dial()
		defer conn.Close()
		r := bufio.NewReader(conn)
		questions := []struct {
			have, publish uint64 // publish 0: nothing
			want          int
		}{{have: 1, publish: 2, want: 200}, {have: 2, want: 304}, {have: 2, publish: 3, want: 200}}
		for i, q := range questions {
			fmt.Fprintf(conn, "GET /artifact/mgmt/alpha?have=%d&wait=59 HTTP/1.1\r\nHost: x\r\n\r\n", q.have)
			synctest.Wait()
			if q.publish > 0 {
				h.mustPost(document(nodeSet("alpha", q.publish, "a")))
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != q.want {
				t.Errorf("question %d: %d, want %d", i, resp.StatusCode, q.want)
			}
		}
	})
}

// OBS-2: what net/http reports comes as a record of constant text.
func TestTheServersOwnWordsAreFieldsOfARecord(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	relay.NewServer(http.NotFoundHandler(), log).ErrorLog.Print("http: superfluous\nresponse")
	if got := out.String(); !strings.Contains(got, `level=DEBUG msg="http server" detail="http: superfluous\nresponse"`) {
		t.Error(got)
	}
}

// withoutFiles is a listener of a process that has all the files open that it may.
type withoutFiles struct{ failed bool }

func (l *withoutFiles) Accept() (net.Conn, error) {
	if l.failed {
		return nil, io.EOF
	}
	l.failed = true
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
}

func (*withoutFiles) Close() error   { return nil }
func (*withoutFiles) Addr() net.Addr { return &net.TCPAddr{} }

// CRD-8: clients that cannot be accepted learn nothing, so that the log must say it
// at a level that is on, with what to do; so it is with a panic of a handler.
func TestWhatSomebodyMustMendIsLoud(t *testing.T) {
	t.Parallel()
	panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a fault") })
	cases := map[string]struct {
		serve func(*http.Server)
		want  []string
	}{
		"no more files": {
			func(s *http.Server) { _ = s.Serve(&withoutFiles{}) },
			[]string{"level=WARN", "raise the limit of open files", "too many open files"},
		},
		"a handler that panics": {
			func(s *http.Server) {
				there := httptest.NewUnstartedServer(nil)
				there.Config = s
				there.Start()
				if resp, err := http.Get(there.URL); err == nil {
					_ = resp.Body.Close()
				}
				there.Close() // waits for the connection, which writes the line before its end
			},
			[]string{"level=ERROR", "please report it", "a fault"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c.serve(relay.NewServer(panics, slog.New(slog.NewTextHandler(&out, nil))))
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %q in %s", want, out.String())
				}
			}
		})
	}
}
