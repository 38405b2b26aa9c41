package store

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func modeAndOwner(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s %d:%d", info.Mode(), stat.Uid, stat.Gid)
}

// TestModesAreExact is SET-1: whatever the umask, the whole tree has the modes
// that it is meant to have.
func TestModesAreExact(t *testing.T) {
	t.Parallel()
	for _, mask := range []string{"000", "022", "077", "277"} {
		t.Run("umask "+mask, func(t *testing.T) {
			t.Parallel()
			if mask == "277" && os.Getuid() != 0 {
				t.Skip("under umask 277 only root can write below what it makes")
			}
			stateDir := filepath.Join(t.TempDir(), "state")
			if out, err := role("enrol", stateDir, mask).Output(); err != nil {
				t.Fatalf("enrol: %v\n%s", err, out)
			}
			for name, want := range map[string]fs.FileMode{
				"": 0o700, "retes": 0o700, "retes/lovers.lock": 0o600, "run": 0o700, "run/lovers": 0o750,
			} {
				wantMode(t, filepath.Join(stateDir, name), want)
			}
			for name := range snapshot(t, filepath.Join(stateDir, "retes", testScope)) {
				want := dirPerm
				if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".crt") || name == currentPath {
					want = filePerm
				}
				wantMode(t, filepath.Join(stateDir, "retes", testScope, name), want)
			}
		})
	}
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Error(err)
		return
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %04o, want %04o", path, got, want)
	}
}
