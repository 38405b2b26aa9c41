package program

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rsyslog is a real daemon in the foreground, on a socket and files of the
// test's own.
type rsyslog struct {
	t                      *testing.T
	program                string
	dir, socket, out, conf string
	cmd                    *exec.Cmd
}

const rsyslogConf = `global(workDirectory="%[1]s" maxMessageSize="64k")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="%[1]s/log" RateLimit.Interval="0")
template(name="fields" type="string" string="%%syslogfacility-text%%.%%syslogseverity-text%%|%%programname%%|%%msg%%\n")
action(type="omfile" file="%[1]s/out" template="fields")
`

func newRsyslog(t *testing.T) *rsyslog {
	t.Helper()
	program := "/usr/sbin/rsyslogd"
	if found, err := exec.LookPath("rsyslogd"); err == nil {
		program = found
	} else if _, err := os.Stat(program); err != nil {
		t.Skipf("rsyslogd is not installed: %v", err)
	}
	// A socket's path is short, and t.TempDir's is not.
	dir, err := os.MkdirTemp("", "flr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rsyslog{t: t, program: program, dir: dir, socket: dir + "/log", out: dir + "/out", conf: dir + "/conf"}
	if err := os.WriteFile(r.conf, fmt.Appendf(nil, rsyslogConf, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// start returns when the daemon takes messages.
func (r *rsyslog) start() {
	r.t.Helper()
	r.cmd = exec.Command(r.program, "-n", "-f", r.conf, "-i", r.dir+"/pid")
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.stop)
	r.until("the daemon listens", func() bool {
		f, err := OpenSink("unix:" + r.socket)
		if err != nil {
			return false
		}
		f.Close()
		return true
	})
}

// stop ends the daemon as its service manager does.
func (r *rsyslog) stop() {
	if r.cmd.ProcessState == nil && r.cmd.Process.Signal(syscall.SIGTERM) == nil {
		r.cmd.Wait()
	}
}

func (r *rsyslog) until(what string, is func() bool) {
	r.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(r.out)
			r.t.Fatalf("not seen: %s; the daemon wrote:\n%s", what, text)
		}
	}
}

var recordTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// lines are what the daemon has written, as soon as there are that many, with
// each time replaced.
func (r *rsyslog) lines(n int) []string {
	r.t.Helper()
	var lines []string
	r.until(strconv.Itoa(n)+" records", func() bool {
		text, err := os.ReadFile(r.out)
		lines = nil
		for line := range strings.Lines(string(text)) {
			lines = append(lines, recordTime.ReplaceAllString(strings.TrimSuffix(line, "\n"), "TIME"))
		}
		return err == nil && len(lines) >= n
	})
	return lines
}

func (r *rsyslog) logger(workload string) *slog.Logger {
	r.t.Helper()
	levels, err := ParseLevels("debug")
	if err != nil {
		r.t.Fatal(err)
	}
	return NewLogger(LogOptions{Sink: SinkSyslog, Out: sinkTo(r.t, r.socket), Workload: workload, Component: "gate", Levels: levels})
}

// OBS-2: what a real daemon makes of our records: facility and severity, the
// workload as the program's name, one line each whatever is in a value.
func TestRsyslogReadsOurFraming(t *testing.T) {
	t.Parallel()
	r := newRsyslog(t)
	r.start()
	log := r.logger("my-vertex.1")
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
	if diff := cmp.Diff(want, r.lines(len(want))); diff != "" {
		t.Errorf("what the daemon wrote (-want +got):\n%s", diff)
	}
}

// OBS-2: what a peer chooses stays in its field: nothing that it can send becomes
// a record, a severity, a component or another field.
func TestAPeerCannotForgeARecord(t *testing.T) {
	t.Parallel()
	r := newRsyslog(t)
	r.start()
	log := r.logger("flor")
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
	lines := r.lines(len(forgeries) + 1)
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
	r := newRsyslog(t)
	r.start()
	log := r.logger("flor")
	log.Info("before")
	r.lines(1)
	r.stop()
	log.Info("lost")
	log.Info("lost")
	r.start()
	log.Info("after")
	want := []string{
		"daemon.info|flor| TIME INFO gate: before",
		"daemon.warning|flor| TIME WARN log: records were dropped because the log daemon did not take them count=2",
		"daemon.info|flor| TIME INFO gate: after",
	}
	if diff := cmp.Diff(want, r.lines(len(want))); diff != "" {
		t.Errorf("what the daemon wrote (-want +got):\n%s", diff)
	}
}

// OBS-1: an absent daemon is 69, a socket of another type 78.
func TestADaemonThatIsAbsentOrAnotherIsToldApart(t *testing.T) {
	t.Parallel()
	r := newRsyslog(t)
	_, err := OpenSink("unix:" + r.socket)
	if code := ExitCode(err); code != ExitUnavailable {
		t.Errorf("an absent daemon: exit code %d: %v", code, err)
	}
	r.start()
	r.stop()
	_, err = OpenSink("unix:" + r.socket)
	if code := ExitCode(err); code != ExitUnavailable {
		t.Errorf("a daemon that has ended: exit code %d: %v", code, err)
	}
	_, err = OpenSink("unix:" + streamSocket(t, r.dir))
	if code := ExitCode(err); code != ExitRejected {
		t.Errorf("a socket of another type: exit code %d: %v", code, err)
	}
}

// OBS-4: what is repeated reaches the daemon once in 10 s, with the number that
// was suppressed.
func TestARepeatedWarningReachesTheDaemonOnce(t *testing.T) {
	t.Parallel()
	r := newRsyslog(t)
	r.start()
	now := time.Now()
	log := slog.New(Limit(r.logger("flor").Handler(), LimitOptions{Keys: []string{"peer"}, Now: func() time.Time { return now }}))
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
	if diff := cmp.Diff(want, r.lines(len(want))); diff != "" {
		t.Errorf("what the daemon wrote (-want +got):\n%s", diff)
	}
}

// streamSocket is where something listens that is no log daemon.
func streamSocket(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "stream")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}
