package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/program"
)

// AGT-4.6: every workload up, its transport there, and the inbound of sync.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	sync := syncNeeds{addr: "127.0.0.1:1080", principal: "spiffe://demo/node/alpha"}
	tests := []struct {
		name      string
		workloads []liveness
		want      []string
	}{
		{"all up confirms", []liveness{{name: "a", state: supervise.Up}, {name: "b", state: supervise.Up, ready: &program.Readiness{Ready: true}}}, nil},
		{"an empty inventory confirms", nil, nil},
		{"one still in its liveness window does not", []liveness{{name: "a", state: supervise.Starting}}, []string{"a: starting"}},
		{"a rejected one tells its cause", []liveness{{name: "a", state: supervise.Rejected, reason: "exit 78"}}, []string{"a: rejected (exit 78)"}},
		{"a refused one does not confirm", []liveness{{name: "a", state: supervise.Unverified}}, []string{"a: unverified"}},
		{"one that was never started does not", []liveness{{name: "a"}}, []string{"a: has not been started yet"}},
		{"one that has fallen silent does not", []liveness{{name: "a", state: supervise.Up, silent: time.Unix(1, 0)}}, []string{"a: does not answer on its control channel"}},
		{"one that still runs on the set before does not", []liveness{{name: "a", state: supervise.Up, runs: 4, needs: 5}}, []string{"a: still runs on v4"}},
		{"one that nothing changed for runs on an older set", []liveness{{name: "a", state: supervise.Up, runs: 4, needs: 4}}, nil},
		{"no transport does not confirm", []liveness{{name: "a", state: supervise.Up, ready: &program.Readiness{Waiting: []string{"udp 127.0.0.1:4433"}}}},
			[]string{"a: is not ready, waits for udp 127.0.0.1:4433"}},
		{"the busy inbound of sync does not confirm", []liveness{{name: "a", state: supervise.Up, ready: &program.Readiness{Ready: true, Waiting: []string{sync.addr}}}},
			[]string{"a: waits for 127.0.0.1:1080, which sync needs"}},
		{"the missing identity of sync's principal does not confirm", []liveness{{name: "a", state: supervise.Up, ready: &program.Readiness{Ready: true, Waiting: []string{"identity " + sync.principal}}}},
			[]string{"a: waits for identity spiffe://demo/node/alpha, which sync needs"}},
		{"somebody else's busy port confirms", []liveness{{name: "a", state: supervise.Up, ready: &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:10801", "identity spiffe://demo/user/ann"}}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, unconfirmed(tt.workloads, sync)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
