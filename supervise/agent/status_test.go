package agent

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/supervise/program"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is when the pictures of this test are taken.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// wellAt is an agent of which all is well: two workloads up, set v42 confirmed.
func wellAt(now time.Time) portrait {
	ready := &program.Readiness{Ready: true, Listening: []string{"127.0.0.1:1080"}}
	up := func(name string, pid int, age time.Duration) supervise.Status {
		return supervise.Status{Name: name, State: supervise.Up, Since: now.Add(3*time.Second - age), Started: now.Add(-age), PID: pid, Tag: "v41"}
	}
	synced := &control.SyncResult{Result: control.Applied, Trigger: byWatch, Held: 41, Offered: 42, When: now.Add(-time.Minute), DurationMS: 312}
	return portrait{
		now: now, clock: now, scope: "my-rete", trust: "rete-lovers",
		self: control.Agent{PID: 700, Since: now.Add(-time.Hour), UptimeMS: 3_600_000, Build: "v1.0.0"},
		facts: facts{
			gen:   &generation{node: "alpha", version: 42, agent: &schema.Agent{}},
			state: store.State{Mark: 42}, last: synced, fetched: synced,
			lastContact: now.Add(-5 * time.Second), lastChange: now.Add(-time.Minute),
			said: voices{pids: map[string]int{"flor": 701}, ready: map[string]*program.Readiness{"flor": ready}},
		},
		statuses: []supervise.Status{up("flor", 701, time.Hour), up("app", 702, 3200*time.Millisecond)},
		identity: []control.Certificate{{ID: "spiffe://rete-lovers/node/alpha", NotBefore: now.AddDate(0, -1, 0), NotAfter: now.AddDate(0, 2, 0)}},
		retained: []uint64{41, 42},
	}
}

// setState puts the second workload into a state without a process.
func setState(p *portrait, state supervise.State, reason string) *supervise.Status {
	s := &p.statuses[1]
	*s = supervise.Status{Name: "app", State: state, Since: p.now.Add(-2 * time.Second), Tag: "v41", Restarts: 3, Reason: reason}
	return s
}

// crash is how the second workload's last process ended.
func crash(p *portrait, code int) *supervise.Exit {
	return &supervise.Exit{Code: code, At: p.now.Add(-2 * time.Second), Reason: "exit code 3"}
}

// trouble has the last sync end otherwise than well.
func trouble(p *portrait, result control.Result, err error) {
	o := outcome{SyncResult: control.SyncResult{Trigger: byPoll, Held: 42, When: p.now.Add(-10 * time.Second), DurationMS: 20}}
	p.facts.enter(o.fail(result, err))
	p.facts.next = p.now.Add(20 * time.Second)
}

// AGT-9, AGT-10: the status document in each state that a node can be in. What
// flor agent status makes of each is pinned in cmd/flor.
func TestStatusInEachState(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*portrait){
		"healthy": func(*portrait) {},
		"enrolled-just-now": func(p *portrait) {
			p.facts.last, p.facts.fetched, p.facts.said.ready = nil, nil, nil
			p.facts.lastContact, p.facts.lastChange = time.Time{}, time.Time{}
			for i := range p.statuses {
				p.statuses[i].State, p.statuses[i].Since = supervise.Starting, p.statuses[i].Started
			}
		},
		"just-started": func(p *portrait) {
			p.facts.gen.agent.Workloads = []schema.Workload{{Name: "flor"}, {Name: "app"}}
			p.statuses, p.facts.said.ready = nil, nil
		},
		"disk-full": func(p *portrait) {
			p.facts.state = store.State{Mark: 41, Pending: 42}
			p.facts.unwritten = "write agent/state.json: no space left on device"
			p.facts.untidy = "make the state directory of workload app: no space left on device"
			trouble(p, control.Failed, refuse(NotStaged, "write the set to disk: stage v43: no space left on device"))
			p.facts.last.Offered = 43
		},
		"backoff": func(p *portrait) {
			s := setState(p, supervise.Backoff, "")
			s.LastExit, s.NextTry = crash(p, 3), p.now.Add(time.Second)
		},
		"crash-looping": func(p *portrait) {
			s := setState(p, supervise.CrashLooping, "")
			s.LastExit, s.NextTry, s.Restarts = crash(p, 3), p.now.Add(5*time.Minute), 10
		},
		"rejected": func(p *portrait) {
			s := setState(p, supervise.Rejected, "")
			s.LastExit = &supervise.Exit{Code: 78, At: p.now.Add(-2 * time.Second), Verdict: supervise.VerdictRejected, Reason: "exit code 78"}
		},
		"unverified": func(p *portrait) {
			setState(p, supervise.Unverified, "its artifact on disk is not the one that was admitted; the next sync replaces it")
		},
		"stopping": func(p *portrait) { setState(p, supervise.Stopping, "").PID = 702 },
		"stopped":  func(p *portrait) { setState(p, supervise.Stopped, "") },
		"program-missing": func(p *portrait) {
			setState(p, supervise.Backoff, "no such file").NextTry = p.now.Add(time.Second)
			p.missing = map[string]error{"app": errors.New("tenant is not in /usr/local/lib/flor: put it there, or set FLOR_LIB_DIR to the directory that has it")}
		},
		"port-busy": func(p *portrait) {
			p.facts.said.ready["flor"] = &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:1080"}}
		},
		"port-in-use": func(p *portrait) {
			p.facts.gen.agent = &schema.Agent{Sync: schema.Sync{Principal: "spiffe://rete-lovers/node/alpha"}}
			p.facts.gen.agent.Inbounds = []schema.Inbound{{Principal: "spiffe://rete-lovers/node/alpha", Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:1080"}}}
			p.facts.said.ready["flor"] = &program.Readiness{Ready: true, Waiting: []string{"127.0.0.1:1080"}}
			p.facts.said.occupied = map[string]string{"127.0.0.1:1080": "ssh, process 811"}
			trouble(p, control.Unreachable, p.facts.inboundBusy())
		},
		"not-confirmed": func(p *portrait) {
			p.facts.state = store.State{Mark: 41, Pending: 42}
			p.facts.late = []string{"app: starting"}
			p.statuses[1].State, p.statuses[1].Since = supervise.Starting, p.statuses[1].Started
		},
		"recovered":        func(p *portrait) { p.facts.recovered, p.facts.gen.version, p.facts.state.Mark = true, 41, 42 },
		"trust-state-lost": func(p *portrait) { p.facts.trustLost, p.facts.state = true, store.State{} },
		"older-offer": func(p *portrait) {
			trouble(p, control.Refused, refuseVersion(Replay, 42, 40, "the node has accepted v%d, the coordinator offers v%d: publish the newest tree there again", 42, 40))
			p.facts.last.Offered = 40
		},
		"unreachable": func(p *portrait) {
			trouble(p, control.Unreachable, refuse(TooSlow, "the answer was not here whole within 10m0s"))
		},
		"certificate-expires": func(p *portrait) { p.identity[0].NotAfter = p.now.Add(13 * 24 * time.Hour) },
		"certificate-expired": func(p *portrait) { p.identity[0].NotAfter = p.now.Add(-time.Hour) },
		"clock-wrong":         func(p *portrait) { p.clock = time.Unix(90, 0) },
		"stray":               func(p *portrait) { p.strays = []supervise.Stray{{PID: 900, Command: "sleep"}} },
		"log-gone":            func(p *portrait) { p.sinkFault = errors.New("/dev/log: no such file or directory") },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := wellAt(noon)
			change(&p)
			checkGolden(t, filepath.Join("testdata/status", name+".json"), p.document())
		})
	}
	onDisk, err := filepath.Glob("testdata/status/*.json")
	if err != nil || len(onDisk) != len(tests) && !*update {
		t.Errorf("%d golden files for %d states: %v", len(onDisk), len(tests), err)
	}
}

// AGT-10: what a process said of itself is told of no other, and of none that is
// told to end, however soon status is asked for after a restart.
func TestReadinessIsToldOfTheProcessThatSaidIt(t *testing.T) {
	t.Parallel()
	p := wellAt(noon)
	p.facts.gen.agent = &schema.Agent{Workloads: []schema.Workload{{Name: "flor", Run: []string{"flor-vertex"}}, {Name: "app", Run: []string{"tenant"}}}}
	is := func(state supervise.State, pid int) supervise.Status {
		return supervise.Status{Name: "flor", State: state, PID: pid, Since: noon, Started: noon, Tag: "v41"}
	}
	tests := []struct {
		name  string
		flor  supervise.Status
		ready bool
		want  []string
	}{
		{"the process that said it", is(supervise.Up, 701), true, []string{}},
		{"it, about to end for another", is(supervise.Stopping, 701), false, []string{"flor: is being stopped since 2026-05-01T12:00:00Z"}},
		{"the one that came after it", is(supervise.Starting, 702), false, []string{"flor: starting since 2026-05-01T12:00:00Z"}},
		{"that one, up", is(supervise.Up, 702), false, []string{"flor: runs, but process 702 has not answered on its control channel yet; its log says why; to start another: flor agent restart flor"}},
	}
	for _, tt := range tests {
		p.statuses[0] = tt.flor
		doc := p.document()
		if diff := cmp.Diff(tt.want, doc.Health); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if got := doc.Workloads[0].Ready; (got != nil) != tt.ready {
			t.Errorf("%s: readiness %+v", tt.name, got)
		}
	}
}

// AGT-10: a workload that has ended because the agent does is not one that is about
// to start.
func TestAnAgentThatEndsStartsNobody(t *testing.T) {
	t.Parallel()
	p := wellAt(noon)
	p.facts.gen.agent = &schema.Agent{Workloads: []schema.Workload{{Name: "flor"}, {Name: "app"}}}
	p.facts.stopping, p.statuses = noon, p.statuses[:1]
	doc := p.document()
	if len(doc.Workloads) != 1 || len(doc.Health) != 1 {
		t.Errorf("workloads %+v, health %q", doc.Workloads, doc.Health)
	}
}

func checkGolden(t *testing.T, path string, doc any) {
	t.Helper()
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}
