package metrics_test

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/florete/flor/supervise/program/metrics"
)

// Counters are registered as with any registry of prometheus. A supervised
// program serves them by Context.ServeMetrics(counters.Handler()), and has them in
// its log by go counters.Report(ctx, log).
func Example() {
	counters := metrics.New()
	served := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "greetings_total", Help: "Greetings served."}, []string{"to"})
	counters.Registerer().MustRegister(served)
	served.WithLabelValues("alice").Inc()

	answer := httptest.NewRecorder()
	counters.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "greetings") {
			fmt.Println(lines.Text())
		}
	}
	// Output: greetings_total{to="alice"} 1
}
