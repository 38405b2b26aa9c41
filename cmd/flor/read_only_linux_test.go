package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/florete/flor/supervise/control"
)

// TestAStateDirectoryThatIsReadOnly has the disk of a node become read-only, as
// after an error of it. An agent that starts there serves what it has, says what
// is wrong, keeps a second agent out, and takes the newest set by itself once the
// disk can be written again (AGT-1, AGT-3, AGT-10).
func TestAStateDirectoryThatIsReadOnly(t *testing.T) {
	if os.Getenv(aloneEnv) != "" {
		onReadOnlyDisk(t)
		return
	}
	t.Parallel()
	runAlone(t, "TestAStateDirectoryThatIsReadOnly", "state")
}

func onReadOnlyDisk(t *testing.T) {
	f := newFilled(t, newStation(t))
	disk := filepath.Join(f.dir, "state")
	mountSmall(t, disk)
	f.enrol(f.rete.bundleOf(f.set(1, false)))
	f.publish(1, false)
	f.start()
	f.until("all well", func(doc control.StatusDoc) bool { return len(doc.Health) == 0 && !doc.LastContact.IsZero() })
	f.stop()

	remount(t, disk, syscall.MS_RDONLY)
	f.start()
	wrong := func(doc control.StatusDoc) bool {
		return strings.Contains(strings.Join(doc.Health, "\n"), "FL2019 read-only")
	}
	f.until("what is there runs, and status says what is wrong", func(doc control.StatusDoc) bool {
		return len(doc.Workloads) == 2 && !slices.ContainsFunc(doc.Workloads, func(w control.Workload) bool { return w.State != "up" }) && !doc.LastContact.IsZero() && wrong(doc)
	})
	f.says(exitNo, "mounted read-only", "agent", "status")
	f.says(1, "FL2007 scope-held", "agent", "run", "--log-stderr")
	f.publish(2, false)
	f.until("a newer set cannot be staged", func(doc control.StatusDoc) bool {
		return doc.Set.Active == 1 && strings.Contains(strings.Join(doc.Health, "\n"), "FL1406 not-staged") && wrong(doc)
	})
	f.stop()

	f.start()
	f.until("it starts again", wrong)
	remount(t, disk, 0)
	f.says(1, "FL2007 scope-held", "agent", "run", "--log-stderr")
	f.until("a disk that can be written again", func(doc control.StatusDoc) bool { return len(doc.Health) == 0 && doc.Set.Mark == 2 })
	f.stop()
	remount(t, disk, syscall.MS_RDONLY)
	f.says(exitCould, "", "agent", "status")
}

func remount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, ""); err != nil {
		t.Fatal(err)
	}
}
