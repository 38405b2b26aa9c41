package agent

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/florete/flor/supervise"
)

// counters are the agent's own (OBS-6).
type counters struct {
	registry *prometheus.Registry
	syncs    *prometheus.CounterVec
	restarts *prometheus.CounterVec
}

func newCounters() *counters {
	c := &counters{
		registry: prometheus.NewRegistry(),
		syncs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flor_agent_sync_total",
			Help: "Syncs by how they ended.",
		}, []string{"result", "reason"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "flor_agent_workload_restarts_total",
			Help: "Spawns of a workload after its first, by cause.",
		}, []string{"workload", "cause"}),
	}
	c.registry.MustRegister(c.syncs, c.restarts)
	return c
}

func (c *counters) synced(o outcome) {
	c.syncs.WithLabelValues(string(o.Result), o.Reason).Inc()
}

// restarted is the supervisor's OnRestart.
func (c *counters) restarted(name string, cause supervise.Cause) {
	c.restarts.WithLabelValues(name, string(cause)).Inc()
}

// handler serves the counters as OpenMetrics text.
func (c *counters) handler() http.Handler {
	return promhttp.HandlerFor(c.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}
