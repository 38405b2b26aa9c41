package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// AGT-4.6: every workload up, its transport there, and the inbound of sync.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	const inbound = "127.0.0.1:1080"
	tests := []struct {
		name      string
		workloads []liveness
		want      []string
	}{
		{"all up confirms", []liveness{{name: "a", state: stateUp}, {name: "b", state: stateUp, ready: &readiness{ready: true}}}, nil},
		{"an empty inventory confirms", nil, nil},
		{"one still in its liveness window does not", []liveness{{name: "a", state: stateStarting}}, []string{"a: starting"}},
		{"a rejected one tells its cause", []liveness{{name: "a", state: stateRejected, reason: "exit 78"}}, []string{"a: rejected (exit 78)"}},
		{"a refused one does not confirm", []liveness{{name: "a", state: stateUnverified}}, []string{"a: unverified"}},
		{"no transport does not confirm", []liveness{{name: "a", state: stateUp, ready: &readiness{waiting: []string{"udp 127.0.0.1:4433"}}}},
			[]string{"a: is not ready, waits for udp 127.0.0.1:4433"}},
		{"the busy inbound of sync does not confirm", []liveness{{name: "a", state: stateUp, ready: &readiness{ready: true, waiting: []string{"socks5 " + inbound}}}},
			[]string{"a: waits for 127.0.0.1:1080, which sync dials"}},
		{"somebody else's busy port confirms", []liveness{{name: "a", state: stateUp, ready: &readiness{ready: true, waiting: []string{"socks5 127.0.0.1:10801"}}}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, unconfirmed(tt.workloads, inbound)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
