package relay

import (
	"context"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute // longer than the client's, so that the client closes first
	maxHeaderBytes = 16 << 10
)

// NewServer makes an HTTP/1.1 server that is fit for one of the handlers
// (CRD-8): header and idle connections are timed here, bodies by progress in the
// handler. What net/http has to say goes to this logger, at debug level where it is
// about what clients do; nil discards.
func NewServer(handler http.Handler, to *slog.Logger) *http.Server {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(lineLog{to}, "", 0),
	}
}

// A held answer has nothing to send, so that only a question that the system asks
// by itself shows that nobody is there any more. It is asked after probeIdle of
// silence, and probeCount of them that stay without an answer end the connection.
const (
	probeIdle     = 15 * time.Second
	probeInterval = 5 * time.Second
	probeCount    = 3
)

// Listen takes a TCP address for [NewServer] (CRD-6). A client that is held and has
// gone without a word, because its link is down, costs nothing any more 30 s after
// that; one that was sent an answer which nobody takes, after the two minutes that
// every idle connection has. With a listener of one's own the system's times hold,
// which may be hours.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: probeIdle, Interval: probeInterval, Count: probeCount,
	}}
	return config.Listen(ctx, "tcp", address)
}

// lineLog turns net/http's lines into records of constant text (OBS-2).
type lineLog struct{ to *slog.Logger }

// Write tells apart by how a line begins what clients do, and what somebody must do
// something about: a client that is not accepted is told nothing, and waits.
func (l lineLog) Write(line []byte) (int, error) {
	detail := strings.TrimSuffix(string(line), "\n")
	switch {
	case strings.HasPrefix(detail, "http: Accept error"):
		l.to.Warn("no connection is accepted now; where files are too many, raise the limit of open files: each held answer takes one", "detail", detail)
	case strings.HasPrefix(detail, "http: panic serving"):
		l.to.Error("an answer broke off by a fault of this program, please report it", "detail", detail)
	default:
		l.to.Debug("http server", "detail", detail)
	}
	return len(line), nil
}
