package program

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/supervise/internal/unixhttp"
)

// Readiness is what GET /v1/ready answers (SUP-11).
type Readiness struct {
	Ready bool `json:"ready"`
	// Listening are the addresses it serves, Waiting those it still tries
	// to get.
	Listening []string `json:"listening"`
	Waiting   []string `json:"waiting"`
}

// ApplyFunc is offered a newer artifact of this workload. True means that the
// program runs on it from now on; false, or an error, that it has to be
// restarted for it. With dryRun it only tells which (SUP-11). It has
// [AnswerTimeout] to answer.
type ApplyFunc func(ctx context.Context, next envelope.Artifact, dryRun bool) (swapped bool, err error)

// The documents of the control channel (SUP-11, SUP-4).
type (
	applyRequest struct {
		MgmtArtifact string `json:"mgmt_artifact"`
		DryRun       bool   `json:"dry_run,omitzero"`
	}
	drainRequest struct {
		WithinMS int64 `json:"within_ms"`
	}
	resultAnswer struct {
		Result string `json:"result"`
	}
)

// The results of the control channel.
const (
	resultSwapped = "swapped"
	resultRestart = "restart"
	resultDrained = "drained"
)

const (
	// maxRequest limits the body of a request, in bytes.
	maxRequest = 64 << 10
	// maxDrain limits the time that a drain may be given.
	maxDrain = time.Minute
	// socketPerm lets only the workload's own user in.
	socketPerm fs.FileMode = 0o600
)

// handlers are what the program has registered.
type handlers struct {
	apply   ApplyFunc
	ready   func() Readiness
	drain   func(context.Context) error
	metrics http.Handler
}

// controlServer serves the control channel from the first registration on
// (SUP-11). The agent takes a workload without one, or one that does not
// answer, for one that has to be restarted, so nothing here is fatal.
type controlServer struct {
	socket, workload string
	log              *slog.Logger

	// applying lets one offer in at a time.
	applying sync.Mutex

	mu       sync.Mutex
	handlers handlers
	artifact string
	server   *http.Server
	served   chan struct{}
}

func (s *controlServer) register(set func(*handlers)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set(&s.handlers)
	if s.server != nil || s.socket == "" {
		return
	}
	if err := s.start(); err != nil {
		s.log.Warn("no control channel: changes will restart this workload", "err", refuse("FL2507", "control-failed", "%w", err))
		s.socket = "" // said once
	}
}

func (s *controlServer) start() error {
	if err := clearStale(s.socket); err != nil {
		return err
	}
	l, err := unixhttp.Listen(s.socket, socketPerm)
	if err != nil {
		return err
	}
	s.server, s.served = unixhttp.NewServer(s.routes()), make(chan struct{})
	s.server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelError)
	go func(server *http.Server) {
		defer close(s.served)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the control channel ended", "err", err)
		}
	}(s.server)
	return nil
}

// clearStale removes the socket of an earlier process of this workload. One
// that somebody serves is left alone.
func clearStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return &fs.PathError{Op: "listen", Path: path, Err: fs.ErrExist}
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return &fs.PathError{Op: "listen", Path: path, Err: syscall.EADDRINUSE}
	}
	return os.Remove(path)
}

// close stops serving, after a moment for what is being answered.
func (s *controlServer) close() {
	s.mu.Lock()
	server, served := s.server, s.served
	s.server, s.socket = nil, ""
	s.mu.Unlock()
	if server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), AnswerTimeout)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	<-served
}

func (s *controlServer) registered() handlers {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handlers
}

// current is the path of the artifact that the program runs on.
func (s *controlServer) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.artifact
}

func (s *controlServer) swappedTo(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.artifact = path
}

func (s *controlServer) routes() http.Handler {
	return unixhttp.Routes([]unixhttp.Route{
		{Method: "POST", Path: "/v1/apply", Handle: s.serveApply},
		{Method: "GET", Path: "/v1/ready", Handle: s.serveReady},
		{Method: "POST", Path: "/v1/drain", Handle: s.serveDrain},
		{Method: "GET", Path: "/metrics", Handle: s.serveMetrics},
	}, "FL2508", "FL2508")
}

func (s *controlServer) serveApply(w http.ResponseWriter, r *http.Request) {
	req, err := decodeRequest[applyRequest](w, r)
	if err != nil {
		badRequest(w, err)
		return
	}
	next, err := s.offered(req)
	if err != nil {
		badRequest(w, err)
		return
	}
	swapped, err := s.offer(r.Context(), next, req)
	if err != nil {
		s.log.Warn("cannot take the change over", "artifact", req.MgmtArtifact, "err", err)
		unixhttp.WriteError(w, http.StatusInternalServerError, "FL2511", err.Error())
		return
	}
	unixhttp.WriteJSON(w, http.StatusOK, resultAnswer{Result: map[bool]string{true: resultSwapped, false: resultRestart}[swapped]})
}

// offered reads the artifact of a request, which has to be this workload's.
func (s *controlServer) offered(req applyRequest) (envelope.Artifact, error) {
	if !filepath.IsAbs(req.MgmtArtifact) {
		return envelope.Artifact{}, refuse("FL2508", "bad-request", "mgmt_artifact %q: want an absolute path", req.MgmtArtifact)
	}
	next, err := ReadArtifact(req.MgmtArtifact)
	if err == nil && s.workload != "" && next.Name != s.workload {
		err = refuse("FL2508", "bad-request", "artifact %s is not for workload %q", next.Ref(), s.workload)
	}
	return next, err
}

func (s *controlServer) offer(ctx context.Context, next envelope.Artifact, req applyRequest) (swapped bool, err error) {
	s.applying.Lock()
	defer s.applying.Unlock()
	apply := s.registered().apply
	if apply == nil {
		return false, nil
	}
	swapped, err = apply(ctx, next, req.DryRun)
	if err == nil && swapped && !req.DryRun {
		s.swappedTo(req.MgmtArtifact)
	}
	return swapped, err
}

func (s *controlServer) serveReady(w http.ResponseWriter, _ *http.Request) {
	ready := s.registered().ready
	if ready == nil {
		notHandled(w, "ready")
		return
	}
	answer := ready()
	answer.Listening = append([]string{}, answer.Listening...)
	answer.Waiting = append([]string{}, answer.Waiting...)
	unixhttp.WriteJSON(w, http.StatusOK, answer)
}

func (s *controlServer) serveDrain(w http.ResponseWriter, r *http.Request) {
	req, err := decodeRequest[drainRequest](w, r)
	within := time.Duration(req.WithinMS) * time.Millisecond
	if err == nil && (req.WithinMS <= 0 || req.WithinMS > maxDrain.Milliseconds()) {
		err = refuse("FL2508", "bad-request", "within_ms %d: want 1 to %d", req.WithinMS, maxDrain.Milliseconds())
	}
	if err != nil {
		badRequest(w, err)
		return
	}
	drain := s.registered().drain
	if drain == nil {
		notHandled(w, "drain")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	if err := drain(ctx); err != nil {
		unixhttp.WriteError(w, http.StatusInternalServerError, "FL2511", err.Error())
		return
	}
	unixhttp.WriteJSON(w, http.StatusOK, resultAnswer{Result: resultDrained})
}

func (s *controlServer) serveMetrics(w http.ResponseWriter, r *http.Request) {
	metrics := s.registered().metrics
	if metrics == nil {
		notHandled(w, "metrics")
		return
	}
	metrics.ServeHTTP(w, r)
}

// decodeRequest reads a closed JSON object.
func decodeRequest[T any](w http.ResponseWriter, r *http.Request) (T, error) {
	var req T
	err := json.UnmarshalRead(http.MaxBytesReader(w, r.Body, maxRequest), &req, json.RejectUnknownMembers(true))
	return req, err
}

func badRequest(w http.ResponseWriter, err error) {
	unixhttp.WriteError(w, http.StatusBadRequest, "FL2508", err.Error())
}

func notHandled(w http.ResponseWriter, what string) {
	unixhttp.WriteError(w, http.StatusNotFound, "FL2509", "this workload does not serve "+what)
}
