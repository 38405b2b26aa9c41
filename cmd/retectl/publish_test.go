package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/relay/client"
	"github.com/florete/flor/supervise/control"
)

// CLI-4: each answer of the coordinator's table, and each way of getting none,
// tells the operator what to do next.
func TestEachAnswerNamesTheNextStep(t *testing.T) {
	t.Parallel()
	proxied := way{url: "http://coordinator-publisher.demo.rete", socks5: "127.0.0.1:1080"}
	refused := func(reply client.SOCKSReply) error {
		return &client.ProxyRefused{Proxy: "127.0.0.1:1080", Target: "coordinator-publisher.demo.rete:80", Reply: reply}
	}
	tests := []struct {
		name string
		err  error
		next string
		exit int
	}{
		{"malformed tree", &client.Malformed{Reason: "x"}, "retectl compile, then publish again", exitFaults},
		{"bad request", &client.BadRequest{Reason: "x"}, "compare the versions", exitFaults},
		{"too large", &client.TooLarge{Limit: 1}, "split the rete", exitFaults},
		{"not stored", &client.NotStored{Reason: "x"}, "make room on the management node", exitCould},
		{"outcome unknown", &client.OutcomeUnknown{Reason: "x"}, "publish again, which is harmless", exitCould},
		{"busy, with a time", &client.Unavailable{RetryAfter: 5 * time.Second}, "publish again in 5s", exitCould},
		{"busy", &client.Unavailable{}, "publish again in a moment", exitCould},
		{"something else answers", &client.Unexpected{Status: 200}, "something else than a coordinator's publish listener", exitCould},
		{"denied by the vertex", refused(client.NotAllowed), "choose another operator with --as", exitCould},
		{"refused behind the vertex", refused(client.ConnectionRefused), "the management node answers and its coordinator does not", exitCould},
		{"management node unreachable", refused(client.HostUnreachable), "check its address and UDP port", exitCould},
		{"refused without a reason", refused(client.GeneralFailure), "look at flor agent status here", exitCould},
		{"no proxy", &client.Unreachable{Err: io.EOF}, "its vertex listens at 127.0.0.1:1080", exitCould},
		{"something else broke", io.ErrUnexpectedEOF, "", exitCould},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := advise(fmt.Errorf("publish: %w", tt.err), proxied)
			_, next, _ := strings.Cut(err.Error(), "\nnext: ")
			if !strings.Contains(next, tt.next) || tt.next == "" && next != "" {
				t.Errorf("next: %q, want %q", next, tt.next)
			}
			if !errors.Is(err, tt.err) {
				t.Error("the error itself is lost")
			}
			if got := exitCode(err); got != tt.exit {
				t.Errorf("exit code %d, want %d", got, tt.exit)
			}
		})
	}
}

// Progress is drawn once for each percent, and whole documents pass unchanged.
func TestProgressDrawsEachPercentOnce(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 4096)
	var drawn strings.Builder
	p := &progress{from: strings.NewReader(text), to: &drawn, total: 4096, shown: -1}
	read, err := io.ReadAll(io.LimitReader(p, 8192))
	if err != nil || string(read) != text {
		t.Fatalf("%d bytes, error %v", len(read), err)
	}
	p.clear()
	lines := strings.Split(drawn.String(), "\r")
	seen := map[string]int{}
	for _, line := range lines {
		seen[line]++
	}
	if seen["100 % of 4 KiB sent"] != 1 || lines[len(lines)-1] != "\x1b[K" {
		t.Errorf("drawn: %q", lines)
	}
	silent := &progress{from: strings.NewReader(text), total: 4096, shown: -1}
	if got, err := io.ReadAll(silent); err != nil || cmp.Diff(text, string(got)) != "" {
		t.Errorf("without a terminal: %d bytes, error %v", len(got), err)
	}
	silent.clear()
}

// CLI-4: what counts as taken, and what ends the waiting.
func TestWaitingEndsWithTheSetConfirmedOrRefused(t *testing.T) {
	t.Parallel()
	sync := func(result control.Result, offered uint64) *control.SyncResult {
		return &control.SyncResult{Result: result, Offered: offered}
	}
	tests := []struct {
		name          string
		status        control.StatusDoc
		done, refused bool
	}{
		{"an older set", control.StatusDoc{Set: control.Set{Active: 2}}, false, false},
		{"the set", control.StatusDoc{Set: control.Set{Active: 3}}, true, false},
		{"a newer one", control.StatusDoc{Set: control.Set{Active: 4}}, true, false},
		{"the set, not confirmed yet", control.StatusDoc{Set: control.Set{Active: 3, Pending: 3}}, false, false},
		{"refused", control.StatusDoc{Set: control.Set{Active: 2}, LastSync: sync(control.Refused, 3)}, false, true},
		{"an older one was refused", control.StatusDoc{Set: control.Set{Active: 2}, LastSync: sync(control.Refused, 2)}, false, false},
		{"failed, and will be tried again", control.StatusDoc{Set: control.Set{Active: 2}, LastSync: sync(control.Failed, 3)}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := &wait{node: "alpha", version: 3}
			done, err := w.judge(tt.status)
			if done != tt.done || isRefusal(err, reasonNotTaken) != tt.refused {
				t.Errorf("done %v, error %v", done, err)
			}
		})
	}
}
