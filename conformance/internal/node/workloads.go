package node

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/internal/trial"
)

// Event is what a workload reports: that it was started, told to stop, or asked
// to check an artifact.
type Event struct {
	What     string // "start", "stop", "check", or what the case has it say
	Name     string // FLORWL_NAME
	PID      int
	Artifact string // what it runs on, or checks
}

// Workloads are the executables of the lib directory and what they report.
type Workloads struct {
	t     *trial.T
	dir   string
	agent func() *trial.Process // who starts them; nil before it was started

	mu     sync.Mutex
	events []Event
}

// script is every workload. Its variable parts are files that a case writes. One
// that is told to stop before it reported its start reports both.
const script = `#!/bin/sh
bed='%[1]s'
told=
say() { echo "$1 ${FLORWL_NAME:--} $$ ${2:--}" > "$bed/events"; }
if [ "$1" = --check ]; then
	say check "$2"
	if [ -r "$bed/checks" ]; then . "$bed/checks"; fi
	exit 0
fi
trap 'told=1' TERM
env > "$bed/env.$$"
say start "$FLORWL_MGMT_ARTIFACT"
trap 'say stop; exit 0' TERM
if [ -n "$told" ]; then say stop; exit 0; fi
if [ -r "$bed/does.$FLORWL_NAME" ]; then . "$bed/does.$FLORWL_NAME"; fi
while [ -e "$bed/events" ]; do sleep 1 & wait $!; done
`

// newWorkloads makes a lib directory with these executables.
func newWorkloads(t *trial.T, dir, lib string, executables ...string) *Workloads {
	w := &Workloads{t: t, dir: dir}
	fifo := filepath.Join(dir, "events")
	t.Check(syscall.Mkfifo(fifo, 0o600), "make a FIFO")
	// Opened for both, so that neither side waits for the other.
	reports, err := os.OpenFile(fifo, os.O_RDWR, 0)
	t.Check(err, "open a FIFO")
	t.Check(os.MkdirAll(lib, 0o755), "make the lib directory")
	for _, name := range executables {
		writeExecutable(t, filepath.Join(lib, name), fmt.Sprintf(script, dir))
	}
	var reading sync.WaitGroup
	reading.Go(func() { w.read(reports) })
	t.Cleanup(func() {
		_ = os.Remove(fifo) // which ends the workloads that are left
		_ = reports.Close()
		reading.Wait()
	})
	return w
}

// writeExecutable writes a file under its name only when it is whole.
func writeExecutable(t *trial.T, path, text string) {
	temporary := path + ".tmp"
	t.Check(os.WriteFile(temporary, []byte(text), 0o755), "write a workload")
	t.Check(os.Rename(temporary, path), "write a workload")
}

func (w *Workloads) read(reports *os.File) {
	lines := bufio.NewScanner(reports)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 3 {
			continue
		}
		pid, _ := strconv.Atoi(words[2])
		e := Event{What: words[0], Name: words[1], PID: pid}
		if len(words) > 3 {
			e.Artifact = words[3]
		}
		w.mu.Lock()
		w.events = append(w.events, e)
		w.mu.Unlock()
	}
}

// Does has a workload run these shell commands after its start.
func (w *Workloads) Does(name, commands string) { w.write("does."+name, commands) }

// Checks has every --check run these shell commands, such as "exit 78".
func (w *Workloads) Checks(commands string) { w.write("checks", commands) }

func (w *Workloads) write(name, text string) {
	path := filepath.Join(w.dir, name)
	w.t.Check(os.WriteFile(path+".tmp", []byte(text+"\n"), 0o600), "write what a workload does")
	w.t.Check(os.Rename(path+".tmp", path), "write what a workload does")
}

// Events are the reports so far of one kind and workload; an empty word stands
// for any.
func (w *Workloads) Events(what, name string) []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.events), func(e Event) bool {
		return what != "" && e.What != what || name != "" && e.Name != name
	})
}

// onItsWay is how long a report may take that was made before the agent ended.
const onItsWay = 300 * time.Millisecond

// Await waits for the nth report of one kind and workload, counted from 1. Where
// the agent has ended nobody reports any more, but what is already on its way.
func (w *Workloads) Await(what, name string, n int) Event {
	words := fmt.Sprintf("workload %s must report %q %d times", name, what, n)
	if what == "start" {
		words = fmt.Sprintf("workload %s of the active set must be started from FLOR_LIB_DIR, with its FLORWL variables, %d times", name, n)
	}
	var ended time.Time
	w.t.Await(words, func() bool {
		agent := w.agent()
		switch {
		case len(w.Events(what, name)) >= n:
			w.t.Served()
			return true
		case agent == nil || !agent.Ended():
		case ended.IsZero():
			ended = time.Now()
		case time.Since(ended) > onItsWay:
			agent.Gone(words)
		}
		return false
	})
	return w.Events(what, name)[n-1]
}

// Environment is the environment that a started process found.
func (w *Workloads) Environment(e Event) map[string]string {
	text, err := os.ReadFile(filepath.Join(w.dir, fmt.Sprintf("env.%d", e.PID)))
	w.t.Check(err, "read a workload's environment")
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			env[name] = value
		}
	}
	return env
}

// Alive tells whether a process is there and not a zombie's remains.
func Alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

// zombie tells whether a process has ended and waits only to be reaped; where
// that cannot be told it is false.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}
