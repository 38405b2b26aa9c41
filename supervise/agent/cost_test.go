package agent

import (
	"bytes"
	"net"
	"runtime"
	"testing"

	"github.com/florete/flor/supervise/control"
)

// notModified runs a SOCKS5 proxy and coordinator in one that answers everything
// with 304 and allocates nothing while it does, so that what is measured beside
// it is the agent's.
func notModified(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serveNotModified(conn)
		}
	}()
	t.Cleanup(func() { l.Close(); <-served })
	return l.Addr().String()
}

func serveNotModified(conn net.Conn) {
	defer conn.Close()
	buffer := make([]byte, 4<<10)
	answers := [][]byte{{5, 0}, {5, 0, 0, 1, 0, 0, 0, 0, 0, 0}, []byte("HTTP/1.1 304 Not Modified\r\n\r\n")}
	for i := 0; ; i++ {
		if _, err := conn.Read(buffer); err != nil {
			return
		}
		if _, err := conn.Write(answers[min(i, len(answers)-1)]); err != nil {
			return
		}
	}
}

// quietAgent is an agent with one workload whose coordinator has nothing new.
func quietAgent(t *testing.T) *Agent {
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.socks = notModified(t)
	c := w.start()
	w.until(c, "all up", settled)
	if got := w.sync(c, false, bytes.NewReader(document(w.setOf("alpha", 2, slowPoll, workloadOf("flor", behaviour{}))))); got.Result != control.Applied {
		t.Fatalf("sync: %+v", got)
	}
	return w.agent
}

// A sync that changes nothing allocates under 64 KiB.
func TestANoChangeSyncAllocatesLittle(t *testing.T) {
	agent := quietAgent(t)
	again := func() {
		wish := agent.sync.queue.add(byRequest, false, nil)
		<-wish.done
		if wish.result.Result != control.Unchanged {
			t.Fatalf("sync: %+v", wish.result)
		}
	}
	again()
	const syncs = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range syncs {
		again()
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / syncs
	t.Logf("a no-change sync allocates %d bytes", each)
	if each >= 64<<10 {
		t.Errorf("a no-change sync allocates %d bytes, want under %d", each, 64<<10)
	}
}
