package relaytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/florete/flor/relay"
)

// Storage runs the contract of relay.Storage (CRD-10) against what open gives:
// an empty storage each time it is called, which open closes by t.Cleanup.
func Storage(t *testing.T, open func(t *testing.T) relay.Storage) {
	tests := map[string]func(*testing.T, relay.Storage){
		"an empty storage has no tree and no floor":         emptyHasNothing,
		"what was swapped in is loaded":                     swappedIsLoaded,
		"a swap against an old revision is refused":         staleIsRefused,
		"of swaps against one revision one wins":            oneSwapWins,
		"a watch ends when something is stored":             watchEnds,
		"a watch of an old revision ends at once":           oldWatchEnds,
		"a watch ends with its context":                     watchEndsWithContext,
		"floors of departed nodes are kept beside the tree": floorsAreKept,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func emptyHasNothing(t *testing.T, s relay.Storage) {
	state, _ := load(t, s)
	if state.Tree != nil || state.Floors.Of("alpha") != 0 || state.Damage != nil {
		t.Errorf("an empty storage holds %+v", state)
	}
}

func swappedIsLoaded(t *testing.T, s relay.Storage) {
	_, old := load(t, s)
	want := state(t, 5)
	revision, err := s.Swap(context.Background(), old, want)
	if err != nil {
		t.Fatal(err)
	}
	got, loaded := load(t, s)
	if loaded != revision || loaded == old {
		t.Errorf("revisions: before %d, swapped %d, loaded %d", old, revision, loaded)
	}
	if g, w := string(got.Tree.Document()), string(want.Tree.Document()); g != w {
		t.Errorf("loaded %s, stored %s", g, w)
	}
	if got.Floors.Of("alpha") != 5 {
		t.Errorf("floor %d, want 5", got.Floors.Of("alpha"))
	}
}

func staleIsRefused(t *testing.T, s relay.Storage) {
	_, old := load(t, s)
	if _, err := s.Swap(context.Background(), old, state(t, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(context.Background(), old, state(t, 2)); !errors.Is(err, relay.ErrConflict) {
		t.Errorf("a swap against an old revision: %v", err)
	}
	if got, _ := load(t, s); got.Tree.Version("alpha") != 1 {
		t.Errorf("version %d is stored, want 1", got.Tree.Version("alpha"))
	}
}

func oneSwapWins(t *testing.T, s relay.Storage) {
	_, old := load(t, s)
	var wins atomic.Int32
	var group sync.WaitGroup
	for version := range 8 {
		next := state(t, uint64(version+1))
		group.Go(func() {
			_, err := s.Swap(context.Background(), old, next)
			switch {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, relay.ErrConflict):
				t.Errorf("a swap that lost: %v", err)
			}
		})
	}
	group.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d swaps won", wins.Load())
	}
}

func watchEnds(t *testing.T, s relay.Storage) {
	_, seen := load(t, s)
	done := make(chan error, 1)
	go func() { done <- s.Watch(context.Background(), seen) }()
	if _, err := s.Swap(context.Background(), seen, state(t, 1)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func oldWatchEnds(t *testing.T, s relay.Storage) {
	_, old := load(t, s)
	if _, err := s.Swap(context.Background(), old, state(t, 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Watch(context.Background(), old); err != nil {
		t.Error(err)
	}
}

func watchEndsWithContext(t *testing.T, s relay.Storage) {
	_, seen := load(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Watch(ctx, seen); !errors.Is(err, context.Canceled) {
		t.Errorf("a watch whose context ended: %v", err)
	}
}

func floorsAreKept(t *testing.T, s relay.Storage) {
	_, old := load(t, s)
	next := state(t, 1)
	next.Floors = next.Floors.Raise(tree(t, "departed", 9))
	if _, err := s.Swap(context.Background(), old, next); err != nil {
		t.Fatal(err)
	}
	if got, _ := load(t, s); got.Floors.Of("departed") != 9 || got.Floors.Of("alpha") != 1 {
		t.Errorf("floors %d and %d, want 9 and 1", got.Floors.Of("departed"), got.Floors.Of("alpha"))
	}
}

func load(t *testing.T, s relay.Storage) (relay.State, relay.Revision) {
	t.Helper()
	state, revision, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return state, revision
}

func state(t *testing.T, version uint64) relay.State {
	t.Helper()
	published := tree(t, "alpha", version)
	return relay.State{Tree: published, Floors: relay.Floors{}.Raise(published)}
}

func tree(t *testing.T, node string, version uint64) *relay.Tree {
	t.Helper()
	published, err := relay.ParseTree(fmt.Appendf(nil,
		`{"artifacts":[{"schema_version":"1.0","plane":"mgmt","version":%d,"node":%q,"name":"agent"}]}`, version, node))
	if err != nil {
		t.Fatal(err)
	}
	return published
}
