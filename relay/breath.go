package relay

import (
	"sync/atomic"
	"time"
)

// While somebody reads, a publish works for workTime at a time and rests for
// restTime, so that a reader gets a processor between two spells of work, and not
// when the system takes it away from a publish that is long at it. Readers count
// as present for readerTime after a read.
const (
	workTime   = 200 * time.Microsecond
	restTime   = 600 * time.Microsecond
	readerTime = 100 * time.Millisecond
)

// breather makes way for readers while something long is done. A nil one does not.
type breather struct {
	reads   *atomic.Uint64 // that were begun
	seen    uint64         // how many there were at the time present
	present time.Time      // when there was a new one
	since   time.Time      // when this spell of work began
}

func newBreather(reads *atomic.Uint64) *breather {
	return &breather{reads: reads, seen: reads.Load(), since: time.Now()}
}

// pause is called between small pieces of work, and rests when there has been
// enough of it for those who read.
func (b *breather) pause() {
	if b == nil {
		return
	}
	now := time.Now()
	if now.Sub(b.since) < workTime {
		return
	}
	if reads := b.reads.Load(); reads != b.seen {
		b.seen, b.present = reads, now
	}
	b.since = now
	if now.Sub(b.present) < readerTime {
		time.Sleep(restTime)
		b.since = time.Now()
	}
}
