package program

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// daemon is a syslog daemon on a real datagram socket.
func daemon(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// receive returns the next datagram, with its time replaced.
func receive(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	buf := make([]byte, 64<<10)
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`).ReplaceAllString(string(buf[:n]), "TIME")
}

// takeQueued takes the datagrams that are in the queue by now, without waiting for
// another, and tells how many they were.
func takeQueued(t *testing.T, conn *net.UnixConn) (taken int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var empty error
	err = raw.Control(func(fd uintptr) {
		buf := make([]byte, 1<<10)
		for _, empty = syscall.Read(int(fd), buf); empty == nil; _, empty = syscall.Read(int(fd), buf) {
			taken++
		}
	})
	if err != nil || !errors.Is(empty, syscall.EAGAIN) {
		t.Fatalf("after %d datagrams: %v, %v", taken, empty, err)
	}
	return taken
}

func sinkTo(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := OpenSink("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// OBS-2: priority with daemon facility, workload, then the record; no newline.
func TestSyslogRecordsAreDatagramsWithPriority(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	conn := daemon(t, path)
	levels, err := ParseLevels("debug")
	if err != nil {
		t.Fatal(err)
	}
	log := NewLogger(LogOptions{Sink: SinkSyslog, Out: sinkTo(t, path), Workload: "flor", Component: "vertex", Levels: levels})
	log.Error("e")
	log.Warn("w")
	log.Info("i", "k", "v")
	log.Debug("d")
	want := []string{
		"<27>flor: TIME ERROR vertex: e", "<28>flor: TIME WARN vertex: w",
		"<30>flor: TIME INFO vertex: i k=v", "<31>flor: TIME DEBUG vertex: d",
	}
	for _, w := range want {
		if diff := cmp.Diff(w, receive(t, conn)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// OBS-1: a stuck daemon blocks nobody, what it misses is counted and told.
func TestAStuckDaemonLosesRecordsAndIsToldHowMany(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	conn := daemon(t, path)
	log := NewLogger(LogOptions{Sink: SinkSyslog, Out: sinkTo(t, path), Workload: "flor"})
	const sent = 5000 // far more than any socket queue holds
	for i := range sent {
		log.Info("record", "n", i)
	}
	got := takeQueued(t, conn)
	if got == sent {
		t.Fatal("nothing was dropped: nothing is tested")
	}
	log.Info("after")
	want := fmt.Sprintf("<28>flor: TIME WARN log: records were dropped because the log daemon did not take them count=%d", sent-got)
	if diff := cmp.Diff(want, receive(t, conn)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if next := receive(t, conn); !strings.HasSuffix(next, "INFO flor: after") {
		t.Errorf("then came %q", next)
	}
}

// OBS-1: connected again to the name its descriptor had.
func TestADaemonThatWasRestartedIsFoundAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	first := daemon(t, path)
	log := NewLogger(LogOptions{Sink: SinkSyslog, Out: sinkTo(t, path), Workload: "flor"})
	log.Info("before")
	receive(t, first)
	first.Close()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	log.Info("lost")
	second := daemon(t, path)
	log.Info("again")
	if got := receive(t, second); !strings.HasSuffix(got, "count=1") {
		t.Errorf("first came %q", got)
	}
	if got := receive(t, second); got != "<30>flor: TIME INFO flor: again" {
		t.Errorf("then came %q", got)
	}
}

// OBS-1: what does not answer is 69, what is no datagram socket is 78.
func TestALogDestinationThatCannotBeUsedSaysWhichWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stream, err := net.Listen("unix", filepath.Join(dir, "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	tests := []struct {
		name, destination string
		exit              int
		code              string
	}{
		{"absent", "unix:" + dir + "/absent", ExitUnavailable, "FL2505"},
		{"a stream socket", "unix:" + dir + "/stream", ExitRejected, "FL2504"},
		{"another scheme", "udp:127.0.0.1:514", ExitRejected, "FL2504"},
		{"no path", "unix:", ExitRejected, "FL2504"},
		{"a path over the limit", "unix:/" + strings.Repeat("x", 200), ExitRejected, "FL2504"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := OpenSink(tt.destination)
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Code() != tt.code || ExitCode(err) != tt.exit {
				t.Errorf("exit %d, %v", ExitCode(err), err)
			}
		})
	}
}
