// Package rsyslogtest runs a real rsyslog in the foreground, on a socket and files
// of a test's own, for tests of what a log daemon makes of our records (OBS-1,
// OBS-2). Nothing of the host's logging is touched.
package rsyslogtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a daemon may take for what it was asked.
const patience = 30 * time.Second

// Daemon is an rsyslog that can be started and stopped as often as a test likes.
type Daemon struct {
	Socket string // where it takes datagrams

	t                  testing.TB
	program, conf, out string
	pid                string
	cmd                *exec.Cmd
}

const configuration = `global(workDirectory="%[1]s" maxMessageSize="64k")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="%[1]s/log" RateLimit.Interval="0")
template(name="fields" type="string" string="%%syslogfacility-text%%.%%syslogseverity-text%%|%%programname%%|%%msg%%\n")
action(type="omfile" file="%[1]s/out" template="fields")
`

// New makes a daemon that does not run yet. Where rsyslog is not installed, the
// test is skipped.
func New(t testing.TB) *Daemon {
	t.Helper()
	program := find(t)
	// A socket's path is short, and t.TempDir's is not.
	dir, err := os.MkdirTemp("", "flr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &Daemon{t: t, program: program, Socket: dir + "/log", conf: dir + "/conf", out: dir + "/out", pid: dir + "/pid"}
	if err := os.WriteFile(d.conf, fmt.Appendf(nil, configuration, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// find looks where ordinary users do not.
func find(t testing.TB) string {
	t.Helper()
	const usual = "/usr/sbin/rsyslogd"
	if program, err := exec.LookPath("rsyslogd"); err == nil {
		return program
	}
	if _, err := os.Stat(usual); err != nil {
		t.Skipf("rsyslogd is not installed: %v", err)
	}
	return usual
}

// Start returns when the daemon takes messages.
func (d *Daemon) Start() {
	d.t.Helper()
	d.cmd = exec.Command(d.program, "-n", "-f", d.conf, "-i", d.pid)
	d.cmd.Stderr = os.Stderr
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(d.Stop)
	d.until("the daemon listens", func() bool {
		conn, err := net.Dial("unixgram", d.Socket)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

// Stop ends the daemon as its service manager does, and waits for it.
func (d *Daemon) Stop() {
	if d.cmd.ProcessState == nil && d.cmd.Process.Signal(syscall.SIGTERM) == nil {
		_ = d.cmd.Wait() // how it ends is its own matter
	}
}

var recordTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// Lines returns what the daemon has written, as soon as enough says so: a line
// facility.severity|program|message for each record, its time replaced by TIME.
func (d *Daemon) Lines(what string, enough func(lines []string) bool) []string {
	d.t.Helper()
	var lines []string
	d.until(what, func() bool {
		lines = d.written()
		return enough(lines)
	})
	return lines
}

// Count is enough for [Daemon.Lines] when there are n lines.
func Count(n int) func([]string) bool {
	return func(lines []string) bool { return len(lines) >= n }
}

func (d *Daemon) written() []string {
	text, err := os.ReadFile(d.out)
	if err != nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, recordTime.ReplaceAllString(strings.TrimSuffix(line, "\n"), "TIME"))
	}
	return lines
}

func (d *Daemon) until(what string, is func() bool) {
	d.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(deadline) {
			d.t.Fatalf("not seen: %s; the daemon wrote:\n%s", what, strings.Join(d.written(), "\n"))
		}
	}
}
