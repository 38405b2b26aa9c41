package vertex

import (
	"os"
	"runtime"
	"sync"
	"testing"
)

// VTX-7: connecting and aborting leaves nothing behind. It runs alone, since
// it counts what the whole process holds.
func TestAbortCyclesLeaveNothingBehind(t *testing.T) {
	d := newDuo(t, backend(t, echo))
	cycle(t, d, 50)
	d.near.await("the first cycles to settle", func() bool { return idle(d) })
	descriptors, goroutines := count(t)
	cycle(t, d, 500)
	d.near.await("descriptors and goroutines to be back at the start", func() bool {
		nowDescriptors, nowGoroutines := count(t)
		return idle(d) && nowDescriptors <= descriptors && nowGoroutines <= goroutines
	})
}

func cycle(t *testing.T, d *duo, n int) {
	t.Helper()
	var work sync.WaitGroup
	for range 10 {
		work.Go(func() {
			for range n / 10 {
				c, err := d.try(t)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Write([]byte("x"))
				_ = c.SetLinger(0)
				_ = c.Close()
			}
		})
	}
	work.Wait()
}

func idle(d *duo) bool {
	for _, n := range []*node{d.near, d.far} {
		for _, s := range n.live.sessions() {
			if open, _ := s.streams(); open > 0 {
				return false
			}
		}
	}
	return true
}

func count(t *testing.T) (descriptors, goroutines int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds), runtime.NumGoroutine()
}
