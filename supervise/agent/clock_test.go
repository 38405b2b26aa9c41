package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise/control"
)

// wallClock is a clock that can be set; what waits does not go by it.
type wallClock struct{ step atomic.Int64 }

func (c *wallClock) now() time.Time { return time.Now().Add(time.Duration(c.step.Load())) }

func (c *wallClock) set(step time.Duration) { c.step.Store(int64(step)) }

// A clock that steps two hours either way restarts nobody, changes no pace and
// keeps no set out; that a certificate is not valid then is said as such.
func TestAClockThatSteps(t *testing.T) {
	t.Parallel()
	var clock wallClock
	w := newWorld(t, workloadOf("flor", behaviour{}), workloadOf("app", behaviour{}))
	w.clock = clock.now
	c := w.start()
	w.until(c, "all up", settled)
	w.relay.publish(1, nil)
	before := w.until(c, "all well", func(doc control.StatusDoc) bool { return settled(doc) && len(doc.Health) == 0 })
	for i, step := range []time.Duration{2 * time.Hour, -time.Minute} {
		clock.set(step)
		next := document(w.set(uint64(i+2), noted(uint64(i+2)), workloadOf("app", behaviour{})))
		if got := w.sync(c, false, bytes.NewReader(next)); got.Result != control.Applied {
			t.Errorf("a set after a step of %v: %+v", step, got)
		}
		w.relay.publish(uint64(i+2), nil)
		fetches := w.relay.count()
		w.relay.untilFetched(t, fetches+1) // the poll goes on
	}
	clock.set(-2 * time.Hour)
	doc := w.status(c)
	if len(doc.Health) != 1 || !strings.HasPrefix(doc.Health[0], "the clock says ") || !strings.HasSuffix(doc.Health[0], "Z: set the clock") {
		t.Errorf("health with a clock two hours back: %q", doc.Health)
	}
	clock.set(0)
	after := w.until(c, "all well", func(doc control.StatusDoc) bool { return settled(doc) && len(doc.Health) == 0 })
	if diff := cmp.Diff(pids(before), pids(after)); diff != "" || after.Workloads[0].Restarts+after.Workloads[1].Restarts > 0 {
		t.Errorf("a step had an effect on a process: %s", diff)
	}
}

// A machine that starts in 1970 runs what it has, tells that its clock is wrong,
// and goes on by itself once the clock is set.
func TestAStartIn1970(t *testing.T) {
	t.Parallel()
	var clock wallClock
	clock.set(-time.Since(time.Unix(60, 0)))
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.clock = clock.now
	c := w.start()
	doc := w.until(c, "up", settled)
	if len(doc.Health) == 0 || !strings.HasPrefix(doc.Health[0], "the clock says 1970-01-01T00:0") {
		t.Errorf("health: %q", doc.Health)
	}
	next := document(w.set(2, noted(2)))
	if got := w.sync(c, false, bytes.NewReader(next)); got.Result != control.Refused || got.Reason != "signer-not-valid-now" {
		t.Errorf("a set in 1970: %+v", got)
	}
	clock.set(0)
	if got := w.sync(c, false, bytes.NewReader(next)); got.Result != control.Applied {
		t.Errorf("the same set once the clock is set: %+v", got)
	}
}

// SET-8: what cannot be read of the identity store is told, and an expiry from
// 14 days before.
func TestCertificateTroubleIsToldInHealth(t *testing.T) {
	t.Parallel()
	var clock wallClock
	w := newWorld(t, workloadOf("flor", behaviour{}))
	w.clock = clock.now
	w.relay.publish(1, nil)
	c := w.start()
	w.until(c, "all well", func(doc control.StatusDoc) bool { return settled(doc) && len(doc.Health) == 0 && doc.LastSync != nil })
	id := "the certificate of spiffe://demo/node/alpha"
	for _, tt := range []struct {
		days int
		want string
	}{{75, ""}, {77, id + " expires at "}, {91, "the clock says "}} {
		clock.set(time.Duration(tt.days) * 24 * time.Hour)
		got := strings.Join(w.status(c).Health, "\n")
		if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("after %d days: %q, want %q", tt.days, got, tt.want)
		}
	}
	clock.set(0)
	broken := filepath.Join(w.layout.RetesDir(), w.scope, "identity/certs/alpha.crt")
	if err := os.WriteFile(broken, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.status(c).Health; len(got) != 1 || !strings.HasPrefix(got[0], "identity: alpha.crt: ") {
		t.Errorf("a certificate that is none: %q", got)
	}
}

func (w *world) status(c *control.Client) control.StatusDoc {
	w.t.Helper()
	doc, err := c.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return doc
}
