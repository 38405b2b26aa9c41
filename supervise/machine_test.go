package supervise

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestPolicyScripts drives the machine through testdata/*.script. A line is a
// time since the beginning and an event, then "->", then what must come of
// it: the action (if any), the state, and when it wants to be woken (if at
// all). "policy field=value …" and "jitter value" come before the events.
// Between two events the machine is woken whenever it asks for it, so a script
// lists those ticks as well, as "tick"; a tick that the script leaves out
// makes the test fail.
func TestPolicyScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var lines atomic.Int32
	t.Cleanup(func() { t.Logf("policy: %d scripts, %d events", len(files), lines.Load()) })
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			t.Parallel()
			lines.Add(int32(runScript(t, file)))
		})
	}
}

// runScript returns how many events the script has.
func runScript(t *testing.T, file string) (events int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, epoch: time.Unix(0, 0)}
	s.m = newMachine(Policy{}, func() float64 { return s.jitter }, s.epoch)
	var got strings.Builder
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		fmt.Fprintln(&got, s.line(lines.Text()))
	}
	if diff := cmp.Diff(string(text), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
	return strings.Count(string(text), " -> ")
}

type script struct {
	t      *testing.T
	m      *machine
	jitter float64
	epoch  time.Time
}

// line performs one line and returns it as it should have been.
func (s *script) line(text string) string {
	if text == "" || strings.HasPrefix(text, "#") {
		return text
	}
	words := strings.Fields(text)
	if words[0] == "jitter" {
		s.jitter, _ = strconv.ParseFloat(words[1], 64)
		return text
	}
	at, err := time.ParseDuration(words[0])
	if err != nil {
		s.t.Fatalf("%q: %v", text, err)
	}
	now := s.epoch.Add(at)
	if wake := s.m.wake; !wake.IsZero() && wake.Before(now) {
		return fmt.Sprintf("(the machine wanted to be woken at %v, before: %s)", wake.Sub(s.epoch), text)
	}
	a := s.event(words[1:], now)
	return fmt.Sprintf("%s -> %s", strings.TrimSpace(strings.Split(text, "->")[0]), s.outcome(a))
}

func (s *script) event(words []string, now time.Time) action {
	switch words[0] {
	case "start":
		return s.m.start(now)
	case "stop":
		return s.m.stop(now)
	case "refuse":
		return s.m.refuse(now)
	case "restart":
		return s.m.restart(now)
	case "tick":
		return s.m.tick(now)
	case "exited":
		verdict := map[string]Verdict{"crash": VerdictCrash, "unavailable": VerdictUnavailable, "rejected": VerdictRejected}
		return s.m.exited(now, verdict[words[1]])
	}
	s.t.Fatalf("unknown event %q", words[0])
	return nothing
}

func (s *script) outcome(a action) string {
	out := string(s.m.state)
	if word := [...]string{"", "spawn", "terminate", "kill"}[a]; word != "" {
		out = word + " " + out
	}
	if !s.m.wake.IsZero() {
		out += " wake " + s.m.wake.Sub(s.epoch).String()
	}
	return out
}

// TestPolicyLaws checks what must hold in every history (SUP-4, SUP-6):
// never two processes, never a restart sooner than the policy says unless
// somebody asked for it, and never silent for ever while it is wanted and not
// rejected. A process that was told to end has a second at least.
func TestPolicyLaws(t *testing.T) {
	t.Parallel()
	var histories, processes int
	t.Cleanup(func() { t.Logf("policy: %d histories with %d processes keep its laws", histories, processes) })
	rapid.Check(t, func(t *rapid.T) {
		histories++
		h := &history{t: t, now: time.Unix(0, 0)}
		h.m = newMachine(Policy{}, func() float64 { return rapid.Float64Range(-1, 1).Draw(t, "jitter") }, h.now)
		t.Repeat(map[string]func(*rapid.T){
			"":        h.check,
			"start":   func(*rapid.T) { h.asked = true; h.do(h.m.start(h.now)) },
			"restart": func(*rapid.T) { h.asked = true; h.do(h.m.restart(h.now)) },
			"stop":    func(*rapid.T) { h.do(h.m.stop(h.now)) },
			"refuse":  func(*rapid.T) { h.do(h.m.refuse(h.now)) },
			"exit":    h.exit,
			"wait":    h.wait,
		})
		processes += h.started
	})
}

// history is a world around the machine: it counts processes.
type history struct {
	t         *rapid.T
	m         *machine
	now       time.Time
	processes int
	told      bool
	// asked: a start or restart was ordered since the last spawn.
	asked bool
	// ended is when the last process ended by itself, earliest the soonest
	// moment that the policy allows for the next.
	earliest time.Time
	rejected bool
	retries  int
	crashes  int
	spawned  time.Time
	// mercy is the soonest that a process which was told to end may be killed.
	mercy   time.Time
	started int
}

func (h *history) do(a action) {
	switch a {
	case spawn:
		if h.processes++; h.processes > 1 {
			h.t.Fatal("two processes at once")
		}
		if !h.asked && !h.told && h.now.Before(h.earliest) {
			h.t.Fatalf("spawned %v too soon", h.earliest.Sub(h.now))
		}
		if !h.asked && h.rejected {
			h.t.Fatal("spawned although it was rejected and nobody asked")
		}
		if h.asked {
			h.retries, h.crashes = 0, 0
		}
		h.started++
		h.spawned, h.told, h.asked, h.rejected = h.now, false, false, false
	case terminate:
		if h.processes != 1 || h.told {
			h.t.Fatalf("terminate with %d processes, told already: %v", h.processes, h.told)
		}
		h.told, h.mercy = true, h.now.Add(time.Second)
	case kill:
		if h.processes != 1 || !h.told {
			h.t.Fatal("kill of a process that was not told to end")
		}
		if h.now.Before(h.mercy) {
			h.t.Fatalf("killed %v too soon", h.mercy.Sub(h.now))
		}
	}
}

func (h *history) exit(t *rapid.T) {
	if h.processes == 0 {
		t.Skip("nothing runs")
	}
	h.processes--
	v := rapid.SampledFrom([]Verdict{VerdictCrash, VerdictUnavailable, VerdictRejected}).Draw(t, "verdict")
	if !h.told {
		h.judge(v)
	}
	h.do(h.m.exited(h.now, v))
}

// judge computes the soonest next try from the words of the rule.
func (h *history) judge(v Verdict) {
	if h.now.Sub(h.spawned) >= 10*time.Minute {
		h.retries, h.crashes = 0, 0
	}
	if v == VerdictCrash {
		h.crashes++
	}
	delay := min(30*time.Second, 100*time.Millisecond<<min(h.retries, 20))
	h.retries++
	h.earliest = h.now.Add(delay * 79 / 100)
	if v == VerdictCrash && h.crashes >= 10 {
		h.earliest = h.now.Add(5 * time.Minute)
	}
	h.rejected = v == VerdictRejected
}

func (h *history) wait(t *rapid.T) {
	h.now = h.now.Add(time.Duration(rapid.Int64Range(0, int64(15*time.Minute)).Draw(t, "wait")))
	h.do(h.m.tick(h.now))
}

func (h *history) check(t *rapid.T) {
	m := h.m
	if m.alive != (h.processes == 1) {
		t.Fatalf("the machine thinks alive=%v, there are %d processes", m.alive, h.processes)
	}
	silent := m.wake.IsZero() && !m.alive
	if silent && m.wanted && m.state != Rejected {
		t.Fatalf("silent for ever in %s", m.state)
	}
}
