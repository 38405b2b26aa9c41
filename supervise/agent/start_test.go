package agent

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

// reserved is an address of this machine on which nobody listens until open is
// called, and which nobody else can have.
func reserved(t *testing.T) (addr string, open func() net.Listener) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "reserved")
	t.Cleanup(func() { file.Close() })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: bound.(*syscall.SockaddrInet4).Port}
	return at.String(), func() net.Listener {
		t.Helper()
		err := syscall.Listen(fd, 16)
		l, errFile := net.FileListener(file)
		if err := errors.Join(err, errFile); err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// AGT-3, OBS-4: what carries sync takes a moment to come up at a start; that is no
// trouble of sync, and the coordinator is reached as soon as it is there.
func TestAStartHasNoWarning(t *testing.T) {
	t.Parallel()
	w := unenrolledWorld(t)
	addr, open := reserved(t)
	w.socks, w.liveness = addr, patience // it is starting for as long as it takes
	w.enrol(w.setOf("alpha", 1, slowPoll, workloadOf("flor", behaviour{})))
	w.relay.publish(1, nil)
	c := w.start()
	w.until(c, "a process", func(doc control.StatusDoc) bool { return len(doc.Workloads) == 1 && doc.Workloads[0].PID != 0 })
	for range 50 { // while it fetches in vain
		if doc := w.status(c); doc.LastSync != nil || slices.ContainsFunc(doc.Health, isOfSync) {
			t.Fatalf("while it starts: last sync %+v, health %q", doc.LastSync, doc.Health)
		}
	}
	serveSOCKSOn(t, open(), w.relay.addr())
	w.until(c, "contact", func(doc control.StatusDoc) bool { return !doc.LastContact.IsZero() })
	for line := range strings.Lines(w.log.text()) {
		if strings.Contains(line, " WARN ") || strings.Contains(line, " ERROR ") {
			t.Errorf("logged at a start: %s", line)
		}
	}
}

// isOfSync tells that a problem is sync's.
func isOfSync(problem string) bool { return strings.HasPrefix(problem, "sync:") }

// A start is over when its workloads are up: then nobody there is trouble.
func TestAfterTheStartNobodyThereIsTrouble(t *testing.T) {
	t.Parallel()
	w := unenrolledWorld(t)
	w.socks, _ = reserved(t)
	w.enrol(w.setOf("alpha", 1, slowPoll, workloadOf("flor", behaviour{})))
	c := w.start()
	w.until(c, "the trouble", func(doc control.StatusDoc) bool {
		return doc.LastSync != nil && doc.LastSync.Result == control.Unreachable && len(doc.Health) == 1
	})
	w.log.await(t, "coordinator gives no set")
}

// AGT-4.6, OBS-4: an address of the vertex that another process has is told as
// such, by whom where that can be seen, and nothing that answers there is taken
// for the way to the coordinator.
func TestAnInboundThatIsSomebodyElses(t *testing.T) {
	t.Parallel()
	w := unenrolledWorld(t)
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	go turnDown(stranger)
	w.socks, w.liveness = stranger.Addr().String(), patience
	w.enrol(w.setOf("alpha", 1, slowPoll, workloadOf("flor", behaviour{Waits: w.socks})))
	c := w.start()
	doc := w.until(c, "the trouble", func(doc control.StatusDoc) bool { return doc.LastSync != nil && len(doc.Health) > 0 })
	if doc.LastSync.Code != "FL1413" || len(doc.Health) != 1 || !strings.HasPrefix(doc.Health[0], "flor: waits for "+w.socks) {
		t.Errorf("last sync %+v, health %q", doc.LastSync, doc.Health)
	}
	if by := occupant(w.socks); by != "" {
		in := w.socks + " (the address is in use by " + by + ", and sync goes through it)"
		if !strings.Contains(doc.Health[0], in) {
			t.Errorf("health %q, want %q", doc.Health, in)
		}
		w.log.await(t, "a workload cannot listen, the address is in use")
	}
	if n := w.log.lines("FL3202"); n > 0 {
		t.Errorf("what answers there was taken for the way: %d times", n)
	}
}

// turnDown answers as a SOCKS5 proxy that reaches nobody.
func turnDown(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		buffer := make([]byte, 512)
		for _, answer := range [][]byte{{5, 0}, {5, 5, 0, 1, 0, 0, 0, 0, 0, 0}} {
			if _, err := conn.Read(buffer); err == nil {
				_, _ = conn.Write(answer)
			}
		}
		conn.Close()
	}
}

// AGT-1: two state directories may give their scopes of one name one runtime
// directory. Whoever comes second is told by whom it is used, and harms nobody.
func TestTwoAgentsOnOneRuntimeDirectory(t *testing.T) {
	t.Parallel()
	first := newWorld(t, workloadOf("flor", behaviour{}))
	c := first.start()
	before := first.until(c, "all up", settled)
	second := newWorld(t, workloadOf("flor", behaviour{}))
	second.layout.RuntimeBase = first.layout.RuntimeBase
	agent, err := New(second.options())
	if err != nil {
		t.Fatal(err)
	}
	err = agent.Run(t.Context())
	held, ok := errors.AsType[*store.HeldError](err)
	if !ok || held.Code() != "FL2020" || held.PID != os.Getpid() || program.ExitCode(err) != 1 {
		t.Errorf("the second: %v, exit code %d", err, program.ExitCode(err))
	}
	after := first.until(c, "all up", settled)
	if pids(before)["flor"] != pids(after)["flor"] {
		t.Errorf("the first one's workload was %d, is %d", pids(before)["flor"], pids(after)["flor"])
	}
}

// The same where the first one is of a release that does not hold the directory.
func TestARuntimeDirectoryThatIsServedFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	root, err := w.layout.MakeRuntimeRoot(w.scope)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(root, "agent.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	agent, err := New(w.options())
	if err != nil {
		t.Fatal(err)
	}
	err = agent.Run(t.Context())
	if held, ok := errors.AsType[*store.HeldError](err); !ok || held.Code() != "FL2020" || held.PID != os.Getpid() {
		t.Errorf("the agent: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(root, "agent.sock")); err != nil {
		t.Errorf("its socket: %v", err)
	}
}
