package metrics

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Interval is how often changed counters are written to the log (OBS-6).
const Interval = 5 * time.Minute

// Counters is a registry that can be served and logged. Its methods may be
// called from any goroutine.
type Counters struct {
	reg *prometheus.Registry
	own *prometheus.Registry // of the process; served and never logged
}

// New returns an empty set of counters. Beside them, go_goroutines is served.
func New() *Counters {
	c := &Counters{reg: prometheus.NewRegistry(), own: prometheus.NewRegistry()}
	c.own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "go_goroutines",
		Help: "Goroutines that exist.",
	}, func() float64 { return float64(runtime.NumGoroutine()) }))
	return c
}

// Registerer is where collectors are registered.
func (c *Counters) Registerer() prometheus.Registerer { return c.reg }

// Handler serves all counters as OpenMetrics text, or as Prometheus text to
// whoever does not ask for that.
func (c *Counters) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{c.reg, c.own}, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Report writes the counters that changed to log every [Interval], all of them
// on SIGUSR1 and once more when ctx is done; then it returns.
func (c *Counters) Report(ctx context.Context, log *slog.Logger) {
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, syscall.SIGUSR1)
	defer signal.Stop(wanted)
	c.report(ctx, log, wanted)
}

func (c *Counters) report(ctx context.Context, log *slog.Logger, wanted <-chan os.Signal) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	last := map[string]float64{}
	for {
		select {
		case <-tick.C:
			last = c.write(log, last)
		case <-wanted:
			last = c.write(log, nil)
		case <-ctx.Done():
			c.write(log, nil)
			return
		}
	}
}

// write logs every counter whose value is not that in last, and returns all
// values. A counter that is 0 and never was anything else has not changed.
func (c *Counters) write(log *slog.Logger, last map[string]float64) map[string]float64 {
	values, err := c.values()
	if err != nil {
		log.Warn("some counters cannot be read", "err", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if last == nil || values[name] != last[name] {
			log.Info("counter", "name", name, "value", values[name])
		}
	}
	return values
}

// values flattens the counters and gauges to name{label="value",…} and value.
func (c *Counters) values() (map[string]float64, error) {
	families, err := c.reg.Gather()
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := make([]string, 0, len(m.GetLabel()))
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			values[family.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values, err
}
