package relay

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// newRequests makes the counter of OBS-6. Both labels come from closed lists.
func newRequests() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flor_coordinator_requests_total",
		Help: "Requests answered, by operation and result.",
	}, []string{"operation", "result"})
}

// tally counts the answers of one operation by result. Each result is looked up
// in the vector once, because that takes a lock which all readers share (CRD-5).
type tally struct {
	operation string
	all       *prometheus.CounterVec

	learning sync.Mutex // held by whoever adds a result
	known    atomic.Pointer[map[string]prometheus.Counter]
}

func (t *tally) count(result string) {
	if known := t.known.Load(); known != nil {
		if counter, ok := (*known)[result]; ok {
			counter.Inc()
			return
		}
	}
	t.learn(result).Inc()
}

func (t *tally) learn(result string) prometheus.Counter {
	t.learning.Lock()
	defer t.learning.Unlock()
	known := map[string]prometheus.Counter{result: t.all.WithLabelValues(t.operation, result)}
	if before := t.known.Load(); before != nil {
		maps.Copy(known, *before)
	}
	t.known.Store(&known)
	return known[result]
}
