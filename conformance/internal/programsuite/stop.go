package programsuite

import (
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/internal/host"
	"github.com/florete/flor/conformance/internal/trial"
)

// stopCases are about the end of a program and of what it started.
func stopCases() []Case {
	return []Case{
		{"stop/sigterm", "SIGTERM ends it with exit 0 within the grace", "SUP-3 SUP-4", checkStops},
		{"stop/during-its-start", "SIGTERM while it starts ends it within the grace", "SUP-4", checkStopsDuringStart},
		{"stop/nobody-reads-the-log", "it stops with exit 0 although nobody reads its log any more", "SUP-4 OBS-1", checkStopsWithoutReader},
		{"stop/takes-its-processes-along", "after a stop no process is left in its group", "SUP-4 SUP-5", checkLeavesNobody},
		{"stop/no-process-gets-away", "what it starts stays in its group, or keeps FLORWL_STATE_DIR in its environment", "SUP-2 SUP-5", checkNobodyGetsAway},
	}
}

func checkStops(h *host.Host) { h.Stop(h.Serve()) }

// checkStopsDuringStart sends SIGTERM at several moments of a start: some for every
// program, and some at parts of the time that a start of this one takes here. Whether
// the program had come far enough to end cleanly is its own affair; that it ends is
// not.
func checkStopsDuringStart(h *host.Host) {
	begun := time.Now()
	p := h.Serve()
	took := time.Since(begun)
	h.Stop(p)
	moments := []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond}
	for _, moment := range append(moments, took/4, took/2, took*3/4) {
		p := h.Start()
		p.EndsIn(moment)
		p.Signal(syscall.SIGTERM)
		ending, ended := p.EndsIn(host.Grace)
		if !ended {
			h.Fatalf("SIGTERM just after its start was lost: it still runs %s later; handle SIGTERM before anything else", host.Grace)
		}
		if ending.Code == 78 || ending.Code == 69 {
			h.Fatalf("it ended with %s when SIGTERM came while it started: that says something else than that it was told to stop", ending)
		}
	}
}

func checkStopsWithoutReader(h *host.Host) {
	r, w, err := os.Pipe()
	h.Check(err, "make a pipe for the log")
	h.Log = w
	p := h.Start()
	_ = w.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, r) // ends when r is closed
	}()
	leave := sync.OnceFunc(func() {
		_ = r.Close()
		<-read
	})
	h.Cleanup(leave)
	h.AwaitServing(p)
	leave()
	h.Stop(p)
}

func checkLeavesNobody(h *host.Host) {
	p := h.Serve()
	h.Stop(p)
	begun := time.Now()
	var left []int
	h.Await("its processes must end", func() bool {
		left = trial.Group(p.PID())
		return len(left) == 0 || time.Since(begun) > leftIn
	})
	if len(left) > 0 {
		h.Fatalf("after exit 0 processes %v of its group are still there: end what was started before; its agent kills it", left)
	}
}

// leftIn is how long processes that have been told to end may take for it.
const leftIn = 5 * time.Second

// checkNobodyGetsAway looks at every process that descends from the program.
func checkNobodyGetsAway(h *host.Host) {
	p := h.Serve()
	mark := "FLORWL_STATE_DIR=" + h.State()
	for _, child := range trial.Descendants(p.PID()) {
		if child.Group != p.PID() && !strings.Contains("\x00"+child.Environ, "\x00"+mark+"\x00") {
			_ = syscall.Kill(child.PID, syscall.SIGKILL)
			h.Fatalf("its process %d (%s) has left the process group and does not carry %s: its agent cannot find it to end it", child.PID, child.Name, mark)
		}
	}
}
