package relay

import (
	"context"
	"errors"
	"sync"
)

// Storage keeps the one tree that is published (CRD-10). It is compare-and-swap,
// so that two relays over one replicated store may each judge a publish and only
// one of them wins. Implementations are safe for concurrent use;
// relaytest.Storage checks one. What it keeps is two texts: Tree.Document and
// Floors.Document, which ParseTree and ParseFloors read back.
type Storage interface {
	// Load gives what is stored and the revision it has. A store in which
	// nothing was ever put gives the zero State. What cannot be read is reported
	// as Damage and not as an error, because a publish is the cure (CRD-7).
	Load(ctx context.Context) (State, Revision, error)

	// Swap stores next, if what is stored still has the revision old, and gives
	// the new one; otherwise it returns ErrConflict. When it returns without an
	// error, next is durable. The floors are durable no later than the tree
	// (CRD-3). An *UnknownOutcome says that next may or may not be stored; any
	// other error that it is not.
	Swap(ctx context.Context, old Revision, next State) (Revision, error)

	// Watch returns nil once what is stored has another revision than seen, and
	// the context's error when that ends first.
	Watch(ctx context.Context, seen Revision) error
}

// Revision identifies what is stored at one time. Only equality means something.
type Revision uint64

// State is what a Storage keeps.
type State struct {
	Tree *Tree // nil: nothing is published
	// Floors may be behind the tree where a Load had to leave them out; the
	// relay raises them to it.
	Floors Floors
	// Damage tells what a Load could not read; a Swap ignores it.
	Damage []Damage
}

// Damage is one thing that was unreadable and was set aside.
type Damage struct {
	Reason  Reason
	Name    string // what was unreadable
	SetAs   string // under which name it is kept for a look, if it is
	Problem error
}

// ErrConflict says that somebody else stored something since the revision that a
// Swap was judged against.
var ErrConflict = errors.New("the stored tree has changed since it was read")

// UnknownOutcome is the error of a Swap that cannot tell whether it took place.
type UnknownOutcome struct{ Err error }

// Code is the registry code.
func (*UnknownOutcome) Code() string { return outcomeUnknown.Code() }

func (e *UnknownOutcome) Error() string {
	return outcomeUnknown.Code() + " " + string(outcomeUnknown) + ": " + e.Err.Error()
}

func (e *UnknownOutcome) Unwrap() error { return e.Err }

// revisions counts the revisions of a store that has one writer, and wakes who
// waits for the next.
type revisions struct {
	mu   sync.Mutex
	now  Revision
	next chan struct{} // closed when now moves
}

func (r *revisions) current() Revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *revisions) advance() Revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now++
	if r.next != nil {
		close(r.next)
		r.next = nil
	}
	return r.now
}

// await returns once the revision differs from seen.
func (r *revisions) await(ctx context.Context, seen Revision) error {
	for {
		next, moved := r.after(seen)
		if moved {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *revisions) after(seen Revision) (next <-chan struct{}, moved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != seen {
		return nil, true
	}
	if r.next == nil {
		r.next = make(chan struct{})
	}
	return r.next, false
}

// Memory is a Storage that lasts as long as its process: for tests, and for a
// program that publishes to itself at each start. The zero value is empty and
// ready. Several relays may share one.
type Memory struct {
	mu        sync.Mutex
	state     State
	revisions revisions
}

// Load implements Storage.
func (m *Memory) Load(context.Context) (State, Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.revisions.current(), nil
}

// Swap implements Storage.
func (m *Memory) Swap(_ context.Context, old Revision, next State) (Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.revisions.current() != old {
		return 0, ErrConflict
	}
	m.state = State{Tree: next.Tree, Floors: next.Floors}
	return m.revisions.advance(), nil
}

// Watch implements Storage.
func (m *Memory) Watch(ctx context.Context, seen Revision) error {
	return m.revisions.await(ctx, seen)
}
