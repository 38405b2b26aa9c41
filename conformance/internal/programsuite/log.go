package programsuite

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/florete/flor/conformance/internal/host"
)

// logCases are about fds 1 and 2. What is not about the form of records
// holds for every program (feature sink); the form is feature log.
func logCases() []Case {
	return []Case{
		{"sink/stuck-daemon", "a log daemon that takes nothing delays neither start nor stop", "OBS-1 SUP-4", checkStuckDaemon},
		{"sink/daemon-gone", "a log daemon that has gone ends nobody", "OBS-1 SUP-3", checkDaemonGone},
		{"log/plain", "without FLORWL_LOG_SINK records are lines of time, level, component and message", "OBS-1 OBS-2", checkPlainForm},
		{"log/shared", "in a shared sink the workload's name stands before the component", "OBS-1 OBS-2", checkSharedForm},
		{"log/syslog", "in syslog a record is one datagram, with priority and name before it", "OBS-1 OBS-2", checkSyslogForm},
		{"log/one-write", "a record is one write and one line", "OBS-2", checkOneWrite},
		{"log/no-forgery", "a line feed in a value cannot forge a record", "OBS-2", checkNoForgery},
		{"log/level", "FLOR_LOG=error leaves out what is less", "OBS-3", checkLevel},
		{"log/level-of-a-component", "FLOR_LOG can name one component", "OBS-3", checkLevelOfAComponent},
		{"log/start", "a line at the start tells program, version and sink", "OBS-5", checkStartLine},
		{"log/daemon-restarted", "records reach a log daemon that was restarted", "OBS-1", checkDaemonRestarted},
	}
}

func checkStuckDaemon(h *host.Host) {
	daemon := h.SilentSyslog()
	daemon.Fill()
	h.Stop(h.Serve())
}

func checkDaemonGone(h *host.Host) {
	daemon := h.Syslog()
	p := h.Serve()
	daemon.Close()
	h.Stop(p)
}

// record is the form of one record (OBS-2).
var record = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (DEBUG|INFO|WARN|ERROR) (?:(\S+) )?(\S+): (.*)$`)

// parsed is a record in its parts.
type parsed struct{ level, owner, component, rest string }

// parseRecord reads a record without its line feed, and ends the case where it has
// not the form.
func parseRecord(h *host.Host, line string) parsed {
	parts := record.FindStringSubmatch(line)
	if parts == nil {
		h.Fatalf("it logged %q, which is not of the form `2026-04-20T12:00:00.123Z INFO component: message key=value`; a program that writes another form leaves log out of --features", line)
	}
	return parsed{level: parts[2], owner: parts[3], component: parts[4], rest: parts[5]}
}

// logged runs the program from start to stop and returns its lines.
func logged(h *host.Host) []string {
	p := h.Serve()
	h.Stop(p)
	said := p.Said()
	if said == "" {
		h.Fatalf("it logged nothing from its start to its stop; there must be a line at the start (OBS-5)")
	}
	if !strings.HasSuffix(said, "\n") {
		h.Fatalf("its last record does not end with a line feed: %q", said)
	}
	return strings.Split(strings.TrimSuffix(said, "\n"), "\n")
}

func checkPlainForm(h *host.Host) {
	h.Vars["FLORWL_LOG_SINK"] = ""
	for _, line := range logged(h) {
		if r := parseRecord(h, line); r.owner != "" {
			h.Fatalf("it logged %q: a workload's name stands before the component in a shared sink alone", line)
		}
	}
}

func checkSharedForm(h *host.Host) {
	for _, line := range logged(h) {
		if r := parseRecord(h, line); r.owner != h.Program.Name && r.component != h.Program.Name {
			h.Fatalf("it logged %q: in a shared sink the workload's name, %s, stands before the component", line, h.Program.Name)
		}
	}
}

// datagram is what stands before a record in syslog.
var datagram = regexp.MustCompile(`^<(27|28|30|31)>([^:]+): `)

var priorities = map[string]string{"ERROR": "27", "WARN": "28", "INFO": "30", "DEBUG": "31"}

func checkSyslogForm(h *host.Host) {
	daemon := h.Syslog()
	h.Stop(h.Serve())
	h.Await("the log daemon must get a record of the start and of the stop", func() bool { return len(daemon.Records()) > 1 })
	for _, text := range daemon.Records() {
		head := datagram.FindStringSubmatch(text)
		if head == nil || head[2] != h.Program.Name {
			h.Fatalf("the log daemon got %q: a record begins with <N>%s: , N being 27, 28, 30 or 31", text, h.Program.Name)
		}
		r := parseRecord(h, strings.TrimSuffix(text[len(head[0]):], "\n"))
		if priorities[r.level] != head[1] {
			h.Fatalf("the log daemon got %q: the priority of %s is %s", text, r.level, priorities[r.level])
		}
	}
}

func checkOneWrite(h *host.Host) {
	writes := h.Writes()
	if writes == nil {
		checkSharedForm(h) // no pipe here keeps writes apart: the lines have to do
		return
	}
	h.Stop(h.Serve())
	for _, text := range writes() {
		if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
			h.Fatalf("it wrote %q at once: a record is one write of one line, else the records of two programs in one sink run into each other", text)
		}
	}
}

// checkNoForgery has the program report a path with a line feed in it.
func checkNoForgery(h *host.Host) {
	const forged = "2026-04-20T12:00:00.123Z ERROR forged: record"
	h.Vars["FLORWL_MGMT_ARTIFACT"] = filepath.Join(h.Dir, "no\n"+forged)
	p := h.Start()
	h.Refused(p, "an artifact that is not there")
	for line := range strings.Lines(p.Said()) {
		if strings.HasPrefix(line, forged) {
			h.Fatalf("a line feed in the path of its artifact made a record of its own, %q: escape control characters in values", line)
		}
	}
}

func checkLevel(h *host.Host) {
	h.Vars["FLOR_LOG"] = "error"
	p := h.Serve()
	h.Stop(p)
	for line := range strings.Lines(p.Said()) {
		if r := parseRecord(h, strings.TrimSuffix(line, "\n")); r.level != "ERROR" {
			h.Fatalf("with FLOR_LOG=error it logged %q", line)
		}
	}
}

// checkLevelOfAComponent learns the name of a component from a first run.
func checkLevelOfAComponent(h *host.Host) {
	component := parseRecord(h, logged(h)[0]).component
	h.Vars["FLOR_LOG"] = "error," + component + "=info"
	of := func(line string) bool { return parseRecord(h, line).component == component }
	for _, line := range logged(h) {
		if r := parseRecord(h, line); !of(line) && r.level != "ERROR" {
			h.Fatalf("with FLOR_LOG=%s it logged %q", h.Vars["FLOR_LOG"], line)
		}
	}
	h.Vars["FLOR_LOG"] = component + "=error"
	p := h.Serve()
	h.Stop(p)
	for line := range strings.Lines(p.Said()) {
		if r := parseRecord(h, strings.TrimSuffix(line, "\n")); of(strings.TrimSuffix(line, "\n")) && r.level != "ERROR" {
			h.Fatalf("with FLOR_LOG=%s it logged %q", h.Vars["FLOR_LOG"], line)
		}
	}
}

func checkStartLine(h *host.Host) {
	line := logged(h)[0]
	rest := parseRecord(h, line).rest
	for _, field := range []string{" program=", " version=", " sink=shared"} {
		if !strings.Contains(rest, field) {
			h.Fatalf("its first record is %q; it must tell program, version and sink: %q is missing", line, strings.TrimSpace(field))
		}
	}
}

func checkDaemonRestarted(h *host.Host) {
	daemon := h.Syslog()
	p := h.Serve()
	daemon.Restart()
	h.Stop(p)
	h.Await("a record of the stop must reach the log daemon, which was restarted before: connect again to the name that fd 2 has", func() bool {
		return len(daemon.Records()) > 0
	})
}
