package supervise_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
)

// mannerEnv has how this test binary behaves as a workload with a control
// channel; socketEnv is where that is.
const (
	mannerEnv = "SUPERVISE_TEST_MANNER"
	socketEnv = "SUPERVISE_TEST_SOCKET"
)

// manners are how a workload answers to POST /v1/apply (SUP-11).
var manners = map[string]http.HandlerFunc{
	"swaps":               answer(http.StatusOK, `{"result":"swapped"}`),
	"asks for a restart":  answer(http.StatusOK, `{"result":"restart"}`),
	"refuses":             answer(http.StatusInternalServerError, `{"error":{"code":"FL2511","message":"no"}}`),
	"knows no such call":  answer(http.StatusNotFound, ``),
	"answers nonsense":    answer(http.StatusOK, `{"result":"perhaps"}`),
	"answers no JSON":     answer(http.StatusOK, `<html>`),
	"answers without end": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) },
	"hangs":               func(_ http.ResponseWriter, r *http.Request) { <-make(chan struct{}) },
	"hangs up":            func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"dies of it":          func(http.ResponseWriter, *http.Request) { os.Exit(1) },
	"says swapped and dies": func(w http.ResponseWriter, r *http.Request) {
		answer(http.StatusOK, `{"result":"swapped"}`)(w, r)
		_ = http.NewResponseController(w).Flush()
		os.Exit(1)
	},
	"says swapped and rejects": func(w http.ResponseWriter, r *http.Request) {
		answer(http.StatusOK, `{"result":"swapped"}`)(w, r)
		_ = http.NewResponseController(w).Flush()
		os.Exit(supervise.ExitRejected)
	},
	"has no channel": nil,
}

func answer(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// endless is a body of spaces.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// behave is the whole workload.
func behave(manner string) {
	handler := manners[manner]
	if handler == nil {
		time.Sleep(time.Hour)
	}
	socket := os.Getenv(socketEnv)
	_ = os.Remove(socket)
	l, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(fmt.Sprintf("%s-%d", socket, os.Getpid()), []byte("\n"), 0o600); err != nil {
		panic(err)
	}
	panic(http.Serve(l, handler))
}

// SUP-11: whatever a workload does with an offer, it runs on what was offered
// in the end, or says itself that it cannot; it is believed only while it lives.
func TestWorkloadsThatMisbehaveOnTheirChannel(t *testing.T) {
	t.Parallel()
	for manner := range manners {
		t.Run(manner, func(t *testing.T) {
			t.Parallel()
			want := []string{"restarted"}
			switch manner {
			case "swaps":
				want = []string{"swapped"}
			case "says swapped and rejects": // it may have ended before it is believed
				want = []string{"rejected", "restarted"}
			}
			offerTo(t, manner, want)
		})
	}
}

// offerTo changes what a workload runs on and waits for one of the outcomes.
func offerTo(t *testing.T, manner string, want []string) {
	// A path of t.TempDir may be too long for a socket.
	dir, err := os.MkdirTemp("", "flor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	spec := mannered(manner, filepath.Join(dir, "s"))
	s := run(t, supervise.Options{}, spec)
	before := await(t, s, "a", is(supervise.Up))
	if manners[manner] != nil {
		awaitText(t, fmt.Sprintf("%s-%d", filepath.Join(dir, "s"), before.PID))
	}
	spec.Revision, spec.Tag = "2", "v2"
	if err := s.Apply(t.Context(), []supervise.Spec{spec}); err != nil {
		t.Fatal(err)
	}
	await(t, s, "a", func(st supervise.Status) bool {
		return st.Tag == "v2" && slices.Contains(want, outcome(before, st))
	})
}

// outcome is what came of an offer, so far.
func outcome(before, now supervise.Status) string {
	switch {
	case now.State == supervise.Rejected:
		return "rejected"
	case now.State == supervise.Up && now.Swapped && now.PID == before.PID:
		return "swapped"
	case now.State == supervise.Up && !now.Swapped && now.PID != before.PID && now.Restarts > 0:
		return "restarted"
	default:
		return "not settled"
	}
}

func mannered(manner, socket string) supervise.Spec {
	channel := program.DialControl(socket)
	return supervise.Spec{
		Name: "a", Path: os.Args[0], Policy: quick, Revision: "1", Tag: "v1",
		Env:   []string{mannerEnv + "=" + manner, socketEnv + "=" + socket},
		Offer: func(ctx context.Context) (bool, error) { return channel.Apply(ctx, "/x", false) },
		Drain: func(ctx context.Context) error { return channel.Drain(ctx, 800*time.Millisecond) },
	}
}
