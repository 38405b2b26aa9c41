package vertex

import "sync"

// ender is whatever the guard may have to end: a QUIC connection, or a flow
// inside this process.
type ender interface {
	bounds() bound
	end(Reason)
}

// registry knows every live connection, for the guard, the limits and drain.
type registry struct {
	mu      sync.Mutex
	live    map[ender]struct{}
	came    int           // accepted QUIC connections
	cameOf  map[pair]int  // the same of one pair
	removed chan struct{} // has an element after a removal
}

func newRegistry() *registry {
	return &registry{live: map[ender]struct{}{}, cameOf: map[pair]int{}, removed: make(chan struct{}, 1)}
}

func (r *registry) add(e ender) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[e] = struct{}{}
	if p, ok := acceptedPair(e); ok {
		r.came++
		r.cameOf[p]++
	}
}

func (r *registry) remove(e ender) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, have := r.live[e]; !have {
		return
	}
	delete(r.live, e)
	if p, ok := acceptedPair(e); ok {
		r.came--
		if r.cameOf[p]--; r.cameOf[p] == 0 {
			delete(r.cameOf, p)
		}
	}
	select {
	case r.removed <- struct{}{}:
	default:
	}
}

// all is a snapshot.
func (r *registry) all() []ender {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := make([]ender, 0, len(r.live))
	for e := range r.live {
		live = append(live, e)
	}
	return live
}

// sessions is a snapshot of the QUIC connections.
func (r *registry) sessions() []*session {
	var sessions []*session
	for _, e := range r.all() {
		if s, ok := e.(*session); ok {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// accepted counts accepted connections: all, and those of one pair. It is asked
// for each new one, so it does not go through them.
func (r *registry) accepted(p pair) (all, ofPair int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.came, r.cameOf[p]
}

// acceptedPair tells whose QUIC connection it is, if it is one that was accepted.
func acceptedPair(e ender) (p pair, ok bool) {
	s, ok := e.(*session)
	if !ok || s.limits.side != accepting {
		return pair{}, false
	}
	return s.limits.pair, true
}

// flows knows every connection that is being carried, for the guard.
type flows struct {
	mu   sync.Mutex
	live map[*flow]struct{}
}

func newFlows() *flows { return &flows{live: map[*flow]struct{}{}} }

func (s *flows) add(f *flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[f] = struct{}{}
}

func (s *flows) remove(f *flow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, f)
}

// look lets every flow look for ends that nothing else brings to light.
func (s *flows) look() {
	s.mu.Lock()
	live := make([]*flow, 0, len(s.live))
	for f := range s.live {
		live = append(live, f)
	}
	s.mu.Unlock()
	for _, f := range live {
		f.look()
	}
}
