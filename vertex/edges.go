package vertex

import (
	"log/slog"
	"sync"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// edges logs when a peer stops and starts answering dials, and not each
// attempt (OBS-4).
type edges struct {
	log  *slog.Logger
	mu   sync.Mutex
	down map[spiffeid.ID]int // failed attempts since the peer last answered
}

func newEdges(log *slog.Logger) *edges { return &edges{log: log, down: map[spiffeid.ID]int{}} }

func (e *edges) failed(peer spiffeid.ID, addr any, reason Reason, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down[peer]++; e.down[peer] == 1 {
		e.log.Warn("peer unreachable", "peer", peer, "address", addr, "reason", reason, "code", reason.Code(), "error", err)
	}
}

func (e *edges) answered(peer spiffeid.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if attempts := e.down[peer]; attempts > 0 {
		e.log.Info("peer reachable again", "peer", peer, "attempts", attempts)
		delete(e.down, peer)
	}
}
