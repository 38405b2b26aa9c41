package relay

import (
	"sync"
	"sync/atomic"
)

// Small sets are put together in scratch memory, so that they take one write to
// the socket. How much of it may be in use is bounded, because a reader that takes
// nothing keeps it until its time is over; whoever finds none does without.
const (
	scratchSize = 64 << 10
	maxScratch  = 256
)

// scratches lends memory for bodies while they are written. The zero value is
// ready. It takes no lock (CRD-5).
type scratches struct {
	pool sync.Pool
	lent atomic.Int32
}

// scratch is memory for the body of one answer.
type scratch struct{ bytes []byte }

// borrow gives nil when all of it is in use.
func (s *scratches) borrow() *scratch {
	if s.lent.Add(1) > maxScratch {
		s.lent.Add(-1)
		return nil
	}
	if kept, ok := s.pool.Get().(*scratch); ok {
		return kept
	}
	return &scratch{bytes: make([]byte, 0, scratchSize)}
}

func (s *scratches) giveBack(used *scratch) {
	s.pool.Put(used)
	s.lent.Add(-1)
}
