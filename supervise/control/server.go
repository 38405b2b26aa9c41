package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"time"

	"github.com/florete/flor/supervise/internal/unixhttp"
)

// MaxSetBody limits the set document in the body of POST /v1/sync, in bytes.
const MaxSetBody = 64 << 20

// Limits on clients, so that a stuck one holds nothing for long (AGT-9).
const (
	// bodyTimeout limits how long a client may take to send a body.
	bodyTimeout = time.Minute
	// writeTimeout limits how long a client may take to read what it is sent.
	writeTimeout = 10 * time.Second
)

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
	// not errors. When ctx is done nobody waits for the result any more.
	Sync(ctx context.Context, r SyncRequest) (SyncResult, error)
	// Inbounds maps each principal to its inbound.
	Inbounds() map[string]Inbound
	// Restart restarts a workload without waiting for it.
	Restart(name string) error
	// Metrics serves GET /metrics.
	Metrics() http.Handler
}

// Server answers calls on the control socket. Each call has a goroutine of
// its own, so a slow client delays nobody.
type Server struct {
	backend Backend
	log     *slog.Logger
	http    *http.Server
	// stop ends watches and syncs that are waited for.
	stop context.CancelFunc
}

// NewServer returns a server of b. A nil log discards.
func NewServer(b Backend, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{backend: b, log: log, stop: stop}
	s.http = unixhttp.NewServer(s.handler())
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	s.http.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	return s
}

// Serve answers on l until Close, which makes it return nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the control socket: %w", err)
	}
	return nil
}

// closePatience is how long Close waits for calls that are being answered.
const closePatience = 2 * time.Second

// Close ends watches, gives every other call a moment to be answered, closes
// the listener, and waits for all that was served.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

// Listen listens on a unix socket at path with the given permissions, never
// wider ones in between (SET-1). It refuses a path that exists; whoever holds
// the scope's lock unlinks a stale one first (AGT-1).
func Listen(path string, perm fs.FileMode) (net.Listener, error) {
	l, err := unixhttp.Listen(path, perm)
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	return l, nil
}

// ServedBy tells whether a process listens at the socket of this path, and which:
// pid is 0 where that is hidden from us. It asks the kernel and not the process,
// so it also finds one that hangs.
func ServedBy(path string) (pid int, served bool) { return unixhttp.Listener(path) }

func (s *Server) handler() http.Handler {
	return unixhttp.Routes([]unixhttp.Route{
		{Method: "GET", Path: "/v1/status", Handle: s.status},
		{Method: "POST", Path: "/v1/sync", Handle: s.sync},
		{Method: "GET", Path: "/v1/inbounds", Handle: s.inbounds},
		{Method: "POST", Path: "/v1/workloads/{name}/restart", Handle: s.restart},
		{Method: "GET", Path: "/metrics", Handle: s.metrics},
	}, "FL3301", "FL3302")
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	watch, err := flag(r, "watch")
	switch {
	case err != nil:
		badRequest(w, err)
	case watch:
		s.watch(w, r)
	default:
		writeSoon(w)
		unixhttp.WriteJSON(w, http.StatusOK, s.backend.Status())
	}
}

// watch writes a line for each change. A client that does not read is cut off
// after writeTimeout; in between it only misses states. That the agent has grown
// older is no change.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	var last *StatusDoc
	for doc := range s.backend.WatchStatus(r.Context()) {
		if last != nil && sameButForAge(*last, doc) {
			continue
		}
		last = &doc
		writeSoon(w)
		if err := json.NewEncoder(w).Encode(doc); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

// sameButForAge tells whether nothing but the time differs between documents.
func sameButForAge(a, b StatusDoc) bool {
	a.Agent.UptimeMS = b.Agent.UptimeMS
	return reflect.DeepEqual(a, b)
}

func (s *Server) sync(w http.ResponseWriter, r *http.Request) {
	dryRun, err := flag(r, "dry_run")
	if err != nil {
		badRequest(w, err)
		return
	}
	set, err := readSet(w, r)
	switch {
	case unixhttp.TooLarge(err):
		over := tooLarge()
		unixhttp.WriteError(w, over.Status, over.FL, over.Message)
	case err != nil:
		badRequest(w, err)
	default:
		s.answerSync(w, r, SyncRequest{DryRun: dryRun, Set: set})
	}
}

func tooLarge() *Error {
	return &Error{
		FL: "FL3304", Status: http.StatusRequestEntityTooLarge,
		Message: fmt.Sprintf("a set document has at most %d bytes, this one has more", MaxSetBody),
	}
}

// readSet reads the body; an empty one is nil. One that says itself that it is
// too large is not read.
func readSet(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > MaxSetBody {
		return nil, &http.MaxBytesError{Limit: MaxSetBody}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	set, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxSetBody))
	if err != nil || len(set) == 0 {
		return nil, err
	}
	return set, http.NewResponseController(w).SetReadDeadline(time.Time{})
}

func (s *Server) answerSync(w http.ResponseWriter, r *http.Request, req SyncRequest) {
	result, err := s.backend.Sync(r.Context(), req)
	writeSoon(w)
	if err != nil {
		s.fail(w, err)
		return
	}
	unixhttp.WriteJSON(w, http.StatusOK, result)
}

func (s *Server) inbounds(w http.ResponseWriter, _ *http.Request) {
	writeSoon(w)
	inbounds := s.backend.Inbounds()
	if inbounds == nil {
		inbounds = map[string]Inbound{}
	}
	unixhttp.WriteJSON(w, http.StatusOK, inbounds)
}

func (s *Server) restart(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if err := s.backend.Restart(name); err != nil {
		s.fail(w, err)
		return
	}
	unixhttp.WriteJSON(w, http.StatusAccepted, accepted{Result: "accepted", Workload: name})
}

type accepted struct {
	Result   string `json:"result"`
	Workload string `json:"workload"`
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	writeSoon(w)
	s.backend.Metrics().ServeHTTP(w, r)
}

// fail answers with the code that err has, else with FL3308.
func (s *Server) fail(w http.ResponseWriter, err error) {
	status, code := http.StatusInternalServerError, "FL3308"
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		code = coded.Code()
	}
	if errors.Is(err, ErrUnknownWorkload) {
		status = http.StatusNotFound
	} else {
		s.log.Warn("a call on the control socket failed", "err", err)
	}
	unixhttp.WriteError(w, status, code, err.Error())
}

func badRequest(w http.ResponseWriter, err error) {
	unixhttp.WriteError(w, http.StatusBadRequest, "FL3303", err.Error())
}

// writeSoon starts the time that a client has for reading what comes next.
func writeSoon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// flag reads a query parameter that is 1 or absent (or 0).
func flag(r *http.Request, name string) (bool, error) {
	switch v := r.URL.Query().Get(name); v {
	case "1", "true":
		return true, nil
	case "", "0", "false":
		return false, nil
	default:
		return false, fmt.Errorf("%s=%s: want 1 or nothing", name, v)
	}
}
