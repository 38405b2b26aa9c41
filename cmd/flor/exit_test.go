package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

// Refused is never failed, and never wrong usage (AGT-10).
func TestExitCodes(t *testing.T) {
	t.Parallel()
	result := func(r control.Result) error { return syncEnd(control.SyncResult{Result: r}, nil) }
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"success", nil, 0},
		{"an applied set", result(control.Applied), 0},
		{"an unchanged set", result(control.Unchanged), 0},
		{"a refused set", result(control.Refused), 1},
		{"a sync that failed", result(control.Failed), 3},
		{"a sync that reached nobody", result(control.Unreachable), 3},
		{"a healthy status", degraded(control.StatusDoc{}), 0},
		{"a degraded status", degraded(control.StatusDoc{Health: []string{"x"}}), 1},
		{"no agent", fmt.Errorf("ask: %w", &control.NotRunning{Err: errors.New("x")}), 3},
		{"a refusal by the agent", &control.Error{FL: "FL3305"}, 1},
		{"an answer that is none of an agent", &control.Error{FL: "FL3307"}, 3},
		{"an agent that broke", &control.Error{FL: "FL3308"}, 3},
		{"an agent that does not answer", refuse(noAnswer, "x"), 3},
		{"a passphrase that nobody has", refuse(noPassphrase, "x"), 1},
		{"a directory that is none", &store.Refusal{Reason: store.BadLayout, Err: errors.New("x")}, 2},
		{"a runtime directory of somebody else", &store.Refusal{Reason: store.RuntimeBase, Err: errors.New("x")}, 3},
		{"a socket path that is too long", &store.Refusal{Reason: store.PathTooLong, Err: errors.New("x")}, 3},
		{"wrong usage", refuse(wrongUsage, "x"), 2},
		{"a scope that must be named", &store.Refusal{Reason: store.AmbiguousScope, Err: errors.New("x")}, 2},
		{"a scope that is not there", &store.Refusal{Reason: store.NotEnrolled, Err: errors.New("x")}, 3},
		{"a scope that is there already", &store.Refusal{Reason: store.AlreadyEnrolled, Err: errors.New("x")}, 1},
		{"a file that cannot be read", errors.New("x"), 3},
		{"an agent that a person must help", &ended{program.ExitRejected, errors.New("x")}, 78},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := exitCode(tt.err); got != tt.want {
				t.Errorf("exit code %d, want %d", got, tt.want)
			}
		})
	}
}

// OBS-1: the order in which the log destination is looked up.
func TestLogDestinationIsConfigured(t *testing.T) {
	t.Parallel()
	configured, err := parseConfig("config.toml", "[log]\ndestination = \"unix:/run/log\"\n")
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]string{
		"unix:/env":     destination("unix:/env", configured),
		"unix:/run/log": destination("", configured),
		"unix:/dev/log": destination("", settings{}),
	} {
		if got != want {
			t.Errorf("destination %q, want %q", got, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("[log]\ndestination = \"unix:/dev/log\"\n")
	f.Add("[log]\nlevel = 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseConfig("config.toml", text); err != nil && exitCode(err) != exitNo {
			t.Errorf("a refusal without a code: %v", err)
		}
	})
}

// What a person is told to be active after a sync that did not end well.
func TestWhatStaysActive(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]uint64{"bad-signature": 4, "unservable": 4, "not-confirmed": 5, "not-activated": 5, "agent-stopping": 5} {
		if got := activeAfter(control.SyncResult{Held: 4, Offered: 5, Reason: reason}); got != want {
			t.Errorf("%s: v%d stays active, want v%d", reason, got, want)
		}
	}
	if got := activeAfter(control.SyncResult{Held: 4, Reason: "agent-stopping"}); got != 4 {
		t.Errorf("a sync that was not begun: v%d stays active", got)
	}
}
