package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/florete/flor/supervise/control"
)

// SUP-4: a stop that is asked for again and again is the same stop. Workloads
// are ended and the runtime directory is gone, and it is a clean end.
func TestMoreSignalsDoNotCutTheStop(t *testing.T) {
	t.Parallel()
	i := newStation(t)
	i.enrol(newRete("demo").bundle())
	i.start()
	doc := i.until("the workload", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 1 && doc.Workloads[0].State == "up"
	})
	workload := doc.Workloads[0].PID
	syscall.Kill(workload, syscall.SIGSTOP) // so that the stop takes a while
	i.agent.Process.Signal(syscall.SIGTERM)
	for range 3 {
		i.until("a stop", func(doc control.StatusDoc) bool { return doc.Workloads[0].State == "stopping" })
		i.agent.Process.Signal(syscall.SIGTERM)
		i.agent.Process.Signal(syscall.SIGINT)
	}
	i.until("a stop that goes on", func(doc control.StatusDoc) bool { return doc.Workloads[0].State == "stopping" })
	syscall.Kill(workload, syscall.SIGCONT)
	if err := i.agent.Wait(); err != nil {
		t.Errorf("a clean stop: %v", err)
	}
	if err := syscall.Kill(workload, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the workload's process %d: %v", workload, err)
	}
	if _, err := os.Stat(filepath.Join(i.dir, "run/demo")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the runtime directory: %v", err)
	}
}
