package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/relaytest"
)

// texts is a storage as somebody else writes one, on anything that keeps two texts
// and a number and can compare and swap them, such as a replicated store.
type texts struct {
	mu           sync.Mutex
	tree, floors []byte
	revision     relay.Revision
	moved        chan struct{} // closed when the revision moves
}

func newTexts(*testing.T) relay.Storage { return &texts{moved: make(chan struct{})} }

func (s *texts) Load(context.Context) (state relay.State, revision relay.Revision, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision == 0 {
		return relay.State{}, 0, nil
	}
	tree, treeErr := relay.ParseTree(s.tree)
	floors, floorsErr := relay.ParseFloors(s.floors)
	return relay.State{Tree: tree, Floors: floors}, s.revision, errors.Join(treeErr, floorsErr)
}

func (s *texts) Swap(_ context.Context, old relay.Revision, next relay.State) (relay.Revision, error) {
	floors, err := next.Floors.Document()
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision != old {
		return 0, relay.ErrConflict
	}
	s.tree, s.floors, s.revision = next.Tree.Document(), floors, old+1
	close(s.moved)
	s.moved = make(chan struct{})
	return s.revision, nil
}

func (s *texts) Watch(ctx context.Context, seen relay.Revision) error {
	s.mu.Lock()
	moved, current := s.moved, s.revision
	s.mu.Unlock()
	if current != seen {
		return nil
	}
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// CRD-10: both storages keep the contract that any other has to keep, and one from
// outside of the package can.
func TestStoragesKeepTheContract(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		relaytest.Storage(t, func(*testing.T) relay.Storage { return new(relay.Memory) })
	})
	t.Run("somebody else's", func(t *testing.T) { relaytest.Storage(t, newTexts) })
	t.Run("files", func(t *testing.T) {
		relaytest.Storage(t, func(t *testing.T) relay.Storage { return openFiles(t, t.TempDir()) })
	})
}

func openFiles(t *testing.T, dir string) *relay.FileStore {
	t.Helper()
	s, err := relay.OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// CRD-10: of two relays over one storage each sees what the other published, and
// judges against it.
func TestTwoRelaysShareAStorage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		storage := new(relay.Memory)
		one, two := newHarness(t, storage), newHarness(t, storage)
		ctx, stop := context.WithCancel(t.Context())
		var follower sync.WaitGroup
		follower.Go(func() {
			if err := two.Follow(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		watch := two.ask(t.Context(), "/artifact/mgmt/alpha?wait=60")
		one.mustPost(document(nodeSet("alpha", 5, "a")))
		if !watch.answered() || watch.status != 200 {
			t.Errorf("the other relay's watcher: %v, %d", watch.answered(), watch.status)
		}
		// one does not follow, and finds out when it loses the swap.
		two.mustPost(document(nodeSet("alpha", 6, "a")))
		if status, body := one.post(document(nodeSet("alpha", 5, "a"))); status != 409 && status != 200 {
			t.Errorf("%d %s", status, body)
		}
		if status, body := one.post(document(nodeSet("alpha", 6, "other"))); status != 409 {
			t.Errorf("%d %s", status, body)
		}
		stop()
		follower.Wait()
	})
}

// loaded is a storage that counts its loads.
type loaded struct {
	relay.Memory
	loads atomic.Int32
}

func (l *loaded) Load(ctx context.Context) (relay.State, relay.Revision, error) {
	l.loads.Add(1)
	return l.Memory.Load(ctx)
}

// CRD-10: a relay that follows its storage does not read back what it has itself
// put there: that may be 256 MiB.
func TestARelayDoesNotFollowItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		storage := new(loaded)
		one, two := newHarness(t, storage), newHarness(t, &storage.Memory)
		ctx, stop := context.WithCancel(t.Context())
		var follower sync.WaitGroup
		follower.Go(func() { _ = one.Follow(ctx) })
		publish := func(by *harness, version uint64, loads int32) {
			t.Helper()
			synctest.Wait()
			by.mustPost(document(nodeSet("alpha", version, "a")))
			synctest.Wait()
			if got := storage.loads.Load(); got != loads || one.Published().Version("alpha") != version {
				t.Errorf("at version %d it has loaded %d times, want %d, and serves %d", version, got, loads, one.Published().Version("alpha"))
			}
		}
		publish(one, 1, 1) // its start
		publish(one, 2, 1)
		publish(two, 3, 2) // another's
		publish(one, 4, 2)
		stop()
		follower.Wait()
	})
}

// crowded is a storage that notes how many swaps are under way at once.
type crowded struct {
	relay.Memory
	inside, most atomic.Int32
}

func (c *crowded) Swap(ctx context.Context, old relay.Revision, next relay.State) (relay.Revision, error) {
	c.most.Store(max(c.most.Load(), c.inside.Add(1)))
	defer c.inside.Add(-1)
	for range 1000 {
		runtime.Gosched() // room for whoever does not wait for his turn
	}
	return c.Memory.Swap(ctx, old, next)
}

// CRD-4: publishes take turns; each is judged against what the one before left.
func TestPublishesTakeTurns(t *testing.T) {
	t.Parallel()
	const publishers = 8
	storage := new(crowded)
	h := newHarness(t, storage)
	var group sync.WaitGroup
	var accepted atomic.Int32
	for p := range publishers {
		group.Go(func() {
			if status, _ := h.post(document(nodeSet("alpha", 1, fmt.Sprint(p)))); status == 200 {
				accepted.Add(1)
			}
		})
	}
	group.Wait()
	if accepted.Load() != 1 || storage.most.Load() != 1 {
		t.Errorf("%d publishes of one version were accepted, %d swaps were under way at once", accepted.Load(), storage.most.Load())
	}
}

// CRD-4, CRD-5: 8 publishers against 64 readers. Each publisher offers whole
// trees in which every node carries one mark; each answer must be of one
// published tree, byte for byte, and no reader may see a version fall.
func TestEachAnswerIsOneWholePublishedTree(t *testing.T) {
	t.Parallel()
	const publishers, readers, rounds, nodes = 8, 64, 5, 4
	h := newHarness(t, openFiles(t, t.TempDir()))
	tree := func(version uint64, mark string) []byte {
		var sets [][][]byte
		for n := range nodes {
			sets = append(sets, nodeSet(fmt.Sprintf("n%d", n), version, mark))
		}
		return document(sets...)
	}
	h.mustPost(tree(1, "start"))
	var reading, publishing sync.WaitGroup
	over := make(chan struct{})
	for i := range readers {
		node := fmt.Sprintf("n%d", i%nodes)
		reading.Go(func() { readUntil(t, h, node, over) })
	}
	var accepted sync.Map // version → mark
	for p := range publishers {
		publishing.Go(func() {
			for round := range rounds {
				version, mark := uint64(round+2), fmt.Sprintf("p%dr%d", p, round)
				status, body := h.post(tree(version, mark))
				if status == 200 {
					if other, taken := accepted.LoadOrStore(version, mark); taken {
						t.Errorf("version %d was accepted of %s and of %s", version, other, mark)
					}
				} else if status != 409 {
					t.Errorf("%d %s", status, body)
				}
			}
		})
	}
	publishing.Wait()
	close(over)
	reading.Wait()
	if h.Published().Version("n0") != rounds+1 {
		t.Errorf("the last version is %d", h.Published().Version("n0"))
	}
}

func readUntil(t *testing.T, h *harness, node string, over <-chan struct{}) {
	var newest uint64
	for {
		select {
		case <-over:
			return
		default:
		}
		_, body := h.get(t.Context(), "/artifact/mgmt/"+node)
		tree, err := relay.ParseTree([]byte(body))
		if err != nil {
			t.Errorf("an answer is no tree: %v", err)
			return
		}
		if version := tree.Version(node); version < newest {
			t.Errorf("%s fell from %d to %d", node, newest, version)
			return
		} else {
			newest = version
		}
		if marks := marksOf([]byte(body)); len(marks) != 1 {
			t.Errorf("an answer mixes the trees %v", marks)
			return
		}
	}
}

func marksOf(doc []byte) map[string]bool {
	marks := map[string]bool{}
	for _, part := range bytes.Split(doc, []byte(`"mark":"`))[1:] {
		mark, _, _ := bytes.Cut(part, []byte(`"`))
		marks[string(mark)] = true
	}
	return marks
}

func TestARelayWithoutAStorageIsRefused(t *testing.T) {
	t.Parallel()
	if r, err := relay.New(t.Context(), nil, relay.Options{}); err == nil || r != nil {
		t.Errorf("made %v, %v", r, err)
	}
}
