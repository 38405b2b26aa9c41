package metrics

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

// TestMain has the process survive the signal also before Report listens.
func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	goleak.VerifyTestMain(m)
}

// lines is a log that a test can read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// take returns what was logged since the last time.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.buf.Reset()
	return strings.Split(strings.TrimSuffix(l.buf.String(), "\n"), "\n")
}

func newLog() (*slog.Logger, *lines) {
	out := &lines{}
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: drop})), out
}

func counter(c *Counters) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flor_test_total", Help: "For a test."}, []string{"reason"})
	c.Registerer().MustRegister(v)
	return v
}

// OBS-6: changed counters every 5 min, all of them when asked and at the end.
func TestReportWritesWhatChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New()
		v := counter(c)
		v.WithLabelValues("never").Add(0)
		v.WithLabelValues("denied").Add(2)
		log, out := newLog()
		wanted := make(chan os.Signal)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.report(ctx, log, wanted)
		}()
		denied, never := `msg=counter name="flor_test_total{reason=denied}" value=`, `msg=counter name="flor_test_total{reason=never}" value=0`
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if diff := cmp.Diff(want, out.take()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		expect("before the first interval", "")
		time.Sleep(Interval)
		expect("after the first interval", denied+"2")
		time.Sleep(Interval)
		expect("when nothing changed", "")
		v.WithLabelValues("denied").Inc()
		time.Sleep(Interval)
		expect("when one changed", denied+"3")
		wanted <- os.Interrupt
		expect("when asked", denied+"3", never)
		cancel()
		<-ended
		expect("at the end", denied+"3", never)
	})
}

// What is served and not counted: a program that leaks goroutines is found.
func TestTheHandlerServesTheNumberOfGoroutines(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	New().Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !regexp.MustCompile(`(?m)^go_goroutines [1-9]`).MatchString(w.Body.String()) {
		t.Errorf("served:\n%s", w.Body)
	}
}

func TestTheHandlerServesOpenMetricsToWhoeverAsks(t *testing.T) {
	t.Parallel()
	c := New()
	counter(c).WithLabelValues("denied").Inc()
	for accept, want := range map[string]string{
		"": `flor_test_total{reason="denied"} 1`, "application/openmetrics-text": "# EOF",
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		c.Handler().ServeHTTP(w, r)
		if text, err := io.ReadAll(w.Result().Body); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("Accept %q: %v, %s", accept, err, text)
		}
	}
}

func TestReportListensToSIGUSR1(t *testing.T) {
	c := New()
	counter(c).WithLabelValues("denied").Inc()
	log, out := newLog()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Report(ctx, log)
	}()
	defer func() { cancel(); <-ended }()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if got := out.take(); got[0] != "" {
			return
		}
	}
	t.Error("nothing was written")
}
