package agent

import (
	"bytes"
	"maps"
	"net/http"
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
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

// ofProcess adds what is told of the process beside the counters.
func (c *counters) ofProcess() *counters {
	c.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "go_goroutines",
		Help: "Goroutines that exist.",
	}, func() float64 { return float64(runtime.NumGoroutine()) }))
	return c
}

func (c *counters) synced(o outcome) {
	c.syncs.WithLabelValues(string(o.Result), o.Reason).Inc()
}

// restarted is the supervisor's OnRestart.
func (c *counters) restarted(name string, cause supervise.Cause) {
	c.restarts.WithLabelValues(name, string(cause)).Inc()
}

// pageFormat is how the control socket serves counters.
var pageFormat = expfmt.NewFormat(expfmt.TypeOpenMetrics)

// serveMetrics answers with the agent's counters and, under a workload label,
// those of every workload that serves them; one that does not is left out.
func (b *backend) serveMetrics(w http.ResponseWriter, r *http.Request) {
	texts := map[string][]byte{}
	for _, s := range b.sup.Status() {
		if s.PID == 0 {
			continue
		}
		if text, err := program.DialControl(b.host.socket(s.Name)).Metrics(r.Context()); err == nil {
			texts[s.Name] = text
		}
	}
	page, err := b.counters.page(texts)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(pageFormat))
	w.Write(page)
}

// workloadLabel is what is added to the counters of a workload.
var workloadLabel = prometheus.NewDesc("workload", "the workload that serves them", []string{"workload"}, nil)

// page merges the agent's counters with what workloads serve. What is no
// metrics text is left out, and so is a family that an earlier workload serves
// as another type.
func (c *counters) page(texts map[string][]byte) ([]byte, error) {
	families, err := c.registry.Gather()
	if err != nil {
		return nil, err
	}
	known := map[string]int{}
	for i, family := range families {
		known[family.GetName()] = i
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		served, err := parser.TextToMetricFamilies(bytes.NewReader(texts[name]))
		if err != nil {
			continue
		}
		for _, family := range served {
			for _, metric := range family.Metric {
				metric.Label = append(metric.Label, prometheus.MakeLabelPairs(workloadLabel, []string{name})...)
			}
			i, ok := known[family.GetName()]
			switch {
			case !ok:
				known[family.GetName()] = len(families)
				families = append(families, family)
			case families[i].GetType() == family.GetType():
				families[i].Metric = append(families[i].Metric, family.Metric...)
			}
		}
	}
	return write(families, expfmt.Encoder.Encode)
}

// write encodes families one after the other, and the mark of the end.
func write[F any](families []F, encode func(expfmt.Encoder, F) error) ([]byte, error) {
	var page bytes.Buffer
	encoder := expfmt.NewEncoder(&page, pageFormat)
	for _, family := range families {
		if err := encode(encoder, family); err != nil {
			return nil, err
		}
	}
	_, err := expfmt.FinalizeOpenMetrics(&page)
	return page.Bytes(), err
}
