package control

import (
	"context"
	"io/fs"
	"iter"
	"log/slog"
	"net"
	"net/http"
)

// MaxSetBody limits the set document in the body of POST /v1/sync, in bytes.
const MaxSetBody = 64 << 20

// SyncRequest is one POST /v1/sync.
type SyncRequest struct {
	// DryRun asks for the verdict only; nothing is staged.
	DryRun bool
	// Set is a set document to admit instead of fetching; nil to fetch.
	Set []byte
}

// Backend is what a Server serves. Its methods are called from many
// goroutines. An error that wraps [ErrUnknownWorkload] answers 404, any other
// 500 with its code, if it has a Code() string method.
type Backend interface {
	Status() StatusDoc
	// WatchStatus yields a document at once and after each change, the newest
	// one only, until ctx is done or the agent stops.
	WatchStatus(ctx context.Context) iter.Seq[StatusDoc]
	// Sync runs a sync and returns when it has ended. Refusals are results,
	// not errors.
	Sync(ctx context.Context, r SyncRequest) (SyncResult, error)
	// Inbounds maps each principal to its inbound.
	Inbounds() map[string]Inbound
	// Restart restarts a workload without waiting for it.
	Restart(name string) error
	// Metrics serves GET /metrics.
	Metrics() http.Handler
}

// Server answers calls on the control socket.
type Server struct{}

// NewServer returns a server of b. A nil log discards.
func NewServer(b Backend, log *slog.Logger) *Server { return &Server{} }

// Serve answers on l until Close, which makes it return nil.
func (s *Server) Serve(l net.Listener) error { return nil }

// Close ends every call, closes the listener and waits for what it served.
func (s *Server) Close() error { return nil }

// Listen listens on a unix socket at path with the given permissions, never
// wider ones in between (SET-1). It refuses a path that exists; whoever holds
// the scope's lock unlinks a stale one first (AGT-1).
func Listen(path string, perm fs.FileMode) (net.Listener, error) { return nil, nil }
