package supervise_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/florete/flor/supervise"
)

// swapping is a child that has one process up and is then given a change, which
// says in dir by which spec each process was started.
func swapping(t *testing.T, offer func(s *supervise.Supervisor, before supervise.Status)) (s *supervise.Supervisor, dir string, before supervise.Status) {
	t.Helper()
	dir = t.TempDir()
	spec := sh("a", `echo >`+dir+`/$V-$$; `+sleeper)
	spec.Revision, spec.Tag, spec.Env = "1", "v1", []string{"V=v1", "PATH=/usr/bin:/bin"}
	s = run(t, supervise.Options{}, spec)
	before = await(t, s, "a", is(supervise.Up))
	spec.Revision, spec.Tag, spec.Env = "2", "v2", []string{"V=v2", "PATH=/usr/bin:/bin"}
	spec.Offer = func(context.Context) (bool, error) {
		offer(s, before)
		return true, nil
	}
	if err := s.Apply(t.Context(), []supervise.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	return s, dir, before
}

// another is up, by another process than before.
func another(before supervise.Status) func(supervise.Status) bool {
	return func(st supervise.Status) bool {
		return st.State == supervise.Up && st.PID != 0 && st.PID != before.PID
	}
}

// SUP-11: a process that says it has taken a change over and ends has taken nothing
// over: the one that was started meanwhile runs on the old spec, and is restarted.
func TestAProcessThatSaysSwappedAndDies(t *testing.T) {
	t.Parallel()
	s, dir, _ := swapping(t, func(s *supervise.Supervisor, before supervise.Status) {
		_ = syscall.Kill(before.PID, syscall.SIGKILL)
		await(t, s, "a", another(before))
	})
	st := await(t, s, "a", func(st supervise.Status) bool { return st.State == supervise.Up && st.Tag == "v2" })
	if st.Swapped {
		t.Errorf("it runs as %+v, and nothing was swapped", st)
	}
	if of, _ := filepath.Glob(filepath.Join(dir, "v2-*")); len(of) != 1 {
		t.Errorf("started by the new spec: %v", of)
	}
}

// SUP-11, AGT-9: what comes after a process that had swapped was spawned.
func TestTheSuccessorOfASwappedProcessWasSpawned(t *testing.T) {
	t.Parallel()
	s, _, before := swapping(t, func(*supervise.Supervisor, supervise.Status) {})
	if st := await(t, s, "a", func(st supervise.Status) bool { return st.Tag == "v2" }); !st.Swapped || st.PID != before.PID {
		t.Errorf("after the swap: %+v", st)
	}
	_ = syscall.Kill(before.PID, syscall.SIGKILL)
	if st := await(t, s, "a", another(before)); st.Swapped || st.Tag != "v2" {
		t.Errorf("its successor: %+v", st)
	}
}
