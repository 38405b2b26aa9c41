package durable_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/florete/flor/store/durable"
)

// TestSyncDirAsksTheDisk: that a directory is really synced shows only where the
// file system cannot do it, as that of /proc, which says so (SET-2).
func TestSyncDirAsksTheDisk(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot("/proc/self")
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	defer root.Close()
	if err := durable.OS(root).SyncDir("fd"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v, want EINVAL: /proc has no fsync", err)
	}
}
