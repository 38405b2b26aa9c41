package relay

import (
	"log"
	"log/slog"
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
// handler. What net/http has to say goes to this logger at debug level, because it is
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

// lineLog turns net/http's lines into records of constant text (OBS-2).
type lineLog struct{ to *slog.Logger }

func (l lineLog) Write(line []byte) (int, error) {
	l.to.Debug("http server", "detail", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
