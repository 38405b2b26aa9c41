package store

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store/durable"
)

func lockPath(stateDir string) string {
	return filepath.Join(stateDir, "retes", testScope+".lock")
}

// TestLockOfAnotherProcess is AGT-1: the holder is named, and its end frees the
// lock although the file stays.
func TestLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	pid, end := startHolder(t, stateDir)
	for _, take := range []func() (*Lock, error){
		func() (*Lock, error) { return LockScope(stateDir, testScope) },
		func() (*Lock, error) { return LockForEnrolment(stateDir, testScope, nil) },
	} {
		_, err := take()
		var held *HeldError
		if !errors.As(err, &held) || held.PID != pid {
			t.Errorf("got %v, want a HeldError that names process %d", err, pid)
		}
		if err != nil && !strings.Contains(err.Error(), strconv.Itoa(pid)) {
			t.Errorf("%q does not name process %d", err, pid)
		}
	}
	end()
	lock, err := LockScope(stateDir, testScope)
	if err != nil {
		t.Fatalf("after the holder's end: %v", err)
	}
	if got := read(t, filepath.Dir(lockPath(stateDir)), testScope+".lock"); got != strconv.Itoa(os.Getpid())+"\n" {
		t.Errorf("the lock names %q", got)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(lockPath(stateDir)); err != nil {
		t.Errorf("the lock file must stay: %v", err)
	}
}

// Who asks for the holder of a lock neither takes it for good nor writes anything.
func TestTheHolderOfALockIsTold(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	layout := Layout{State: stateDir}
	pid, end := startHolder(t, stateDir)
	if got := layout.Holder(testScope); got != pid {
		t.Errorf("process %d holds the lock, told was %d", pid, got)
	}
	end()
	for what, text := range map[string]string{
		"what has ended":            strconv.Itoa(pid) + "\n",
		"one that does not hold it": strconv.Itoa(os.Getpid()) + "\n",
		"nobody":                    "",
		"no number":                 "x\n",
	} {
		if err := os.WriteFile(lockPath(stateDir), []byte(text), lockPerm); err != nil {
			t.Fatal(err)
		}
		if got := layout.Holder(testScope); got != 0 {
			t.Errorf("the lock names %s: told was %d", what, got)
		}
		if got := read(t, filepath.Dir(lockPath(stateDir)), testScope+".lock"); got != text {
			t.Errorf("the lock names %s: left was %q", what, got)
		}
	}
	if got := layout.Holder("other"); got != 0 {
		t.Errorf("of a scope that is not enrolled: %d", got)
	}
	if _, err := os.Stat(filepath.Join(stateDir, "retes", "other.lock")); err == nil {
		t.Error("a lock was made for a scope that is not enrolled")
	}
}

func TestLockTwiceInOneProcess(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	lock, err := LockScope(stateDir, testScope)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if _, err := LockScope(stateDir, testScope); !errors.As(err, new(*HeldError)) {
		t.Errorf("got %v, want a HeldError", err)
	}
}

func TestLockRefuses(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	_, err := LockScope(stateDir, "other")
	wantReason(t, err, NotEnrolled)
	if _, err := os.Stat(filepath.Join(stateDir, "retes", "other.lock")); err == nil {
		t.Error("a lock was made for a scope that is not enrolled")
	}
	_, err = LockScope(filepath.Join(stateDir, "elsewhere"), testScope)
	wantReason(t, err, NotEnrolled)
	for _, name := range []string{"", "../x", "a/b", ".", "x.lock", "x.PARTIAL", "x.tmp", "con"} {
		_, err := LockForEnrolment(stateDir, name, nil)
		wantReason(t, err, BadScope)
	}
}

// TestLockBelongsToTheAgent: enrolment as root makes the lock for the service
// user (AGT-1). Only root can try.
func TestLockBelongsToTheAgent(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	network, stateDir, owner := newRete(), filepath.Join(t.TempDir(), "state"), &durable.Owner{UID: 4711, GID: 4712}
	lock, err := LockForEnrolment(stateDir, testScope, owner)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	e, err := network.enrolment()
	if err != nil {
		t.Fatal(err)
	}
	e.Owner = owner
	if err := Create(stateDir, testScope, e); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"", "retes", "retes/lovers.lock", "retes/lovers", "retes/lovers/agent/state.json"} {
		got[name] = modeAndOwner(t, filepath.Join(stateDir, name))
	}
	want := map[string]string{
		"": "drwxr-xr-x 0:0", "retes": "drwxr-xr-x 0:0",
		"retes/lovers.lock": "-rw------- 4711:4712", "retes/lovers": "drwx------ 4711:4712",
		"retes/lovers/agent/state.json": "-rw------- 4711:4712",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes and owners (-want +got):\n%s", diff)
	}
}
