package program

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise/program/rsyslogtest"
)

// loggerTo is a logger of a workload, as one has it that logs to a daemon.
func loggerTo(t *testing.T, d *rsyslogtest.Daemon, workload string) *slog.Logger {
	t.Helper()
	levels, err := ParseLevels("debug")
	if err != nil {
		t.Fatal(err)
	}
	return NewLogger(LogOptions{Sink: SinkSyslog, Out: sinkTo(t, d.Socket), Workload: workload, Component: "gate", Levels: levels})
}

// OBS-2: what a real daemon makes of our records: facility and severity, the
// workload as the program's name, one line each whatever is in a value.
func TestRsyslogReadsOurFraming(t *testing.T) {
	t.Parallel()
	d := rsyslogtest.New(t)
	d.Start()
	log := loggerTo(t, d, "my-vertex.1")
	log.Debug("at debug")
	log.Info("at info", "n", 1)
	log.Warn("at warn")
	log.Error("at error", "err", errors.New("line one\nline two"))
	log.Info("multi-line", "value", "a\r\n<0>kernel: panic\x00\x1b[2J")
	want := []string{
		"daemon.debug|my-vertex.1| TIME DEBUG gate: at debug",
		"daemon.info|my-vertex.1| TIME INFO gate: at info n=1",
		"daemon.warning|my-vertex.1| TIME WARN gate: at warn",
		`daemon.err|my-vertex.1| TIME ERROR gate: at error err="line one\nline two"`,
		`daemon.info|my-vertex.1| TIME INFO gate: multi-line value="a\r\n<0>kernel: panic\x00\x1b[2J"`,
	}
	if diff := cmp.Diff(want, d.Lines("the records", rsyslogtest.Count(len(want)))); diff != "" {
		t.Errorf("what the daemon wrote (-want +got):\n%s", diff)
	}
}

// OBS-2: what a peer chooses stays in its field: nothing that it can send becomes
// a record, a severity, a component or another field.
func TestAPeerCannotForgeARecord(t *testing.T) {
	t.Parallel()
	d := rsyslogtest.New(t)
	d.Start()
	log := loggerTo(t, d, "flor")
	forgeries := []string{
		"x\n<24>flor: 2026-04-20T12:00:00.123Z ERROR gate: all is lost",
		"x\r2026-04-20T12:00:00.123Z ERROR gate: all is lost",
		`x" reason=allowed peer="spiffe://demo/user/root`,
		"x reason=allowed",
		"x\u2028ERROR gate: all is lost",
		"x\u202eevil", "x\xff\xfe", "x\x85y", "x\u200by", strings.Repeat("x", 70_000),
	}
	for _, forgery := range forgeries {
		log.Info("denied", "name", forgery, "reason", "denied-ingress")
	}
	log.Info("the end")
	lines := d.Lines("the records", rsyslogtest.Count(len(forgeries)+1))
	if len(lines) != len(forgeries)+1 {
		t.Errorf("%d records were made of %d", len(lines), len(forgeries)+1)
	}
	whole := regexp.MustCompile(`^daemon\.info\|flor\| TIME INFO gate: denied name=("([^"\\]|\\.)*" reason=denied-ingress|"?x[^ ]* …)$`)
	for i, line := range lines[:len(forgeries)] {
		if !whole.MatchString(line) {
			t.Errorf("of %.60q the daemon wrote %.200q", forgeries[i], line)
		}
	}
}

// OBS-1: a logger that runs connects again to a daemon that was restarted.
func TestALoggerOutlivesItsDaemon(t *testing.T) {
	t.Parallel()
	d := rsyslogtest.New(t)
	d.Start()
	log := loggerTo(t, d, "flor")
	log.Info("before")
	d.Lines("the records", rsyslogtest.Count(1))
	d.Stop()
	log.Info("lost")
	log.Info("lost")
	d.Start()
	log.Info("after")
	want := []string{
		"daemon.info|flor| TIME INFO gate: before",
		"daemon.warning|flor| TIME WARN log: records were dropped because the log daemon did not take them count=2",
		"daemon.info|flor| TIME INFO gate: after",
	}
	if diff := cmp.Diff(want, d.Lines("the records", rsyslogtest.Count(len(want)))); diff != "" {
		t.Errorf("what the daemon wrote (-want +got):\n%s", diff)
	}
}

// OBS-1: an absent daemon is 69, a socket of another type 78.
func TestADaemonThatIsAbsentOrAnotherIsToldApart(t *testing.T) {
	t.Parallel()
	d := rsyslogtest.New(t)
	_, err := OpenSink("unix:" + d.Socket)
	if code := ExitCode(err); code != ExitUnavailable {
		t.Errorf("an absent daemon: exit code %d: %v", code, err)
	}
	d.Start()
	d.Stop()
	_, err = OpenSink("unix:" + d.Socket)
	if code := ExitCode(err); code != ExitUnavailable {
		t.Errorf("a daemon that has ended: exit code %d: %v", code, err)
	}
	_, err = OpenSink("unix:" + streamSocket(t))
	if code := ExitCode(err); code != ExitRejected {
		t.Errorf("a socket of another type: exit code %d: %v", code, err)
	}
}

// OBS-4: what is repeated reaches the daemon once in 10 s, with the number that
// was suppressed.
func TestARepeatedWarningReachesTheDaemonOnce(t *testing.T) {
	t.Parallel()
	d := rsyslogtest.New(t)
	d.Start()
	now := time.Now()
	log := slog.New(Limit(loggerTo(t, d, "flor").Handler(), LimitOptions{Keys: []string{"peer"}, Now: func() time.Time { return now }}))
	for i := range 1000 {
		log.Warn("publish refused", "attempt", i)
		log.Warn("peer unreachable", "peer", []string{"api", "db"}[i%2])
		if i == 998 {
			now = now.Add(LimitEvery)
		}
	}
	log.Info("the end")
	want := []string{
		"daemon.warning|flor| TIME WARN gate: publish refused attempt=0",
		"daemon.warning|flor| TIME WARN gate: peer unreachable peer=api",
		"daemon.warning|flor| TIME WARN gate: peer unreachable peer=db",
		"daemon.warning|flor| TIME WARN gate: publish refused attempt=999 suppressed=998",
		"daemon.warning|flor| TIME WARN gate: peer unreachable peer=db suppressed=498",
		"daemon.info|flor| TIME INFO gate: the end",
	}
	if diff := cmp.Diff(want, d.Lines("the records", rsyslogtest.Count(len(want)))); diff != "" {
		t.Errorf("what the daemon wrote (-want +got):\n%s", diff)
	}
}

// streamSocket is where something listens that is no log daemon.
func streamSocket(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stream")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}
