package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program/rsyslogtest"
)

// TestAgentAndWorkloadLogToARealDaemon has an agent and its workload log to
// rsyslog, each through its own connection, and go on after it was restarted
// (OBS-1, OBS-5).
func TestAgentAndWorkloadLogToARealDaemon(t *testing.T) {
	t.Parallel()
	d := rsyslogtest.New(t)
	d.Start()
	s := newStation(t)
	s.env = []string{"FLOR_LOG_DESTINATION=unix:" + d.Socket}
	s.enrol(newRete("demo").bundle())
	s.startWith("agent", "run")
	s.until("the workload runs", func(doc control.StatusDoc) bool { return len(doc.Workloads) > 0 && doc.Workloads[0].State == "up" })
	d.Lines("the start lines of both", has(
		"daemon.info|agent| TIME INFO run: agent starts ",
		"daemon.info|flor| TIME INFO flor-vertex: started program=flor-vertex version=test sink=syslog",
	))
	d.Stop()
	d.Start()
	if out, code := s.flor("agent", "restart", "flor"); code != 0 {
		t.Fatalf("restart: exit code %d\n%s", code, out)
	}
	d.Lines("the agent and the workload after the restart of the daemon", has(
		"daemon.info|flor| TIME INFO flor-vertex: told to stop signal=terminated",
		"daemon.info|agent| TIME INFO supervise: ended workload=flor ",
	))
	s.stop()
}

// has is enough when there are lines that begin so.
func has(beginnings ...string) func(lines []string) bool {
	return func(lines []string) bool {
		for _, beginning := range beginnings {
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, beginning) }) {
				return false
			}
		}
		return true
	}
}
