package agentsuite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/conformance/internal/node"
	"github.com/florete/flor/conformance/internal/rete"
	"github.com/florete/flor/conformance/internal/trial"
)

// agentRecord is a record of an agent in syslog's form (OBS-2).
var agentRecord = regexp.MustCompile(`^<(27|28|30|31)>agent: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (ERROR|WARN|INFO|DEBUG) [^ \n]+: [^\n]+\n?$`)

// controlCases are about the control socket.
func controlCases() []Case {
	return []Case{
		{"control/status", "the status document has the members of the contract, spelled as they are there", "AGT-9", checkStatus},
		{"control/status-of-workloads", "workloads stand in the order of the inventory, with state, pid and set", "AGT-9 SUP-7", checkStatusWorkloads},
		{"control/watch", "the watch gives a line at once and one at each change", "AGT-9", checkStatusWatch},
		{"control/inbounds", "the inbounds are told by principal", "AGT-9", checkInbounds},
		{"control/restart", "a restart is accepted and starts another process", "AGT-9", checkRestartCall},
		{"control/unknown-workload", "an unknown workload is 404 FL3305", "AGT-9", callIs("POST", "/v1/workloads/nobody/restart", 404, "FL3305")},
		{"control/unknown-path", "an unknown path is 404 FL3301", "AGT-9", callIs("GET", "/v1/nothing", 404, "FL3301")},
		{"control/wrong-method", "a known path under another method is 405 FL3302 with Allow", "AGT-9", checkWrongMethod},
		{"control/bad-parameter", "a parameter that cannot be understood is 400 FL3303", "AGT-9", callIs("POST", "/v1/sync?dry_run=perhaps", 400, "FL3303")},
		{"control/body-too-large", "a body over 64 MiB is 413 FL3304", "AGT-9", checkLargeBody},
		{"control/stuck-client", "a client that sends half a request delays nobody", "AGT-9", checkStuckClient},
		{"control/metrics", "the counters of the agent are there under their names", "OBS-6 AGT-9", checkMetrics},
		{"control/metrics-of-workloads", "what a workload serves under /metrics is there with a label workload", "OBS-6 AGT-9 SUP-11", checkWorkloadMetrics},
	}
}

// callIs is a check that a call is answered with an error.
func callIs(method, target string, status int, code string) func(*trial.T, *node.Node) {
	return func(t *trial.T, n *node.Node) {
		n.Enrol(n.Set(1))
		n.Serve()
		if a := n.Call(method, target, nil); a.Status != status || a.Error() != code {
			t.Fatalf("%s %s is answered %d %s; it must be %d with {\"error\":{\"code\":%q,\"message\":…}}", method, target, a.Status, strings.TrimSpace(a.Body), status, code)
		}
	}
}

func checkStatus(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(7))
	n.Serve()
	var doc map[string]any
	a := n.Call(http.MethodGet, "/v1/status", nil)
	t.Check(json.Unmarshal([]byte(a.Body), &doc), "read the status document")
	for _, member := range []string{"scope", "node", "trust_domain", "agent", "set", "workloads", "last_sync", "older_offers", "identity", "health"} {
		if _, ok := doc[member]; !ok {
			t.Fatalf("the status document has no member %q", member)
		}
	}
	for _, want := range []struct{ object, member, value string }{
		{"", "scope", n.Scope}, {"", "node", "alpha"}, {"", "trust_domain", n.Rete.Domain},
		{"agent", "pid", fmt.Sprint(n.Agent.PID())}, {"set", "active", "7"}, {"set", "mark", "7"}, {"set", "retained", "[7]"},
		{"last_sync", "trigger", "start"}, {"last_sync", "result", "unreachable"}, {"last_sync", "held", "7"},
	} {
		object := doc
		if want.object != "" {
			object, _ = doc[want.object].(map[string]any)
		}
		if got := fmt.Sprint(object[want.member]); got != want.value {
			t.Fatalf("the status document has %s %s = %s; it must be %s", want.object, want.member, got, want.value)
		}
	}
	checkIdentity(t, n, doc)
}

// checkIdentity looks for the node's certificate among the identities.
func checkIdentity(t *trial.T, n *node.Node, doc map[string]any) {
	list, _ := doc["identity"].([]any)
	for _, entry := range list {
		cert, _ := entry.(map[string]any)
		until, _ := cert["not_after"].(string)
		if _, err := time.Parse(time.RFC3339, until); cert["id"] == n.Rete.ID("/node/alpha") && err == nil {
			return
		}
	}
	t.Fatalf("identity is %v; it must list %s with its not_after", list, n.Rete.ID("/node/alpha"))
}

func checkStatusWorkloads(t *trial.T, n *node.Node) {
	events := started(n, node.Tenant("zeta", 1), node.Tenant("app", 1))
	s := n.Until("both workloads must have a process", func(s node.Status) bool { return s.Of("zeta").PID != 0 && s.Of("app").PID != 0 })
	for i, e := range events {
		if w := s.Workloads[i]; w.Name != e.Name || w.PID != e.PID || w.Set != 1 || w.Via != "spawned" || w.State != "starting" && w.State != "up" {
			t.Fatalf("workload %d of the status is %+v; it must be %s with pid %d, starting or up, spawned on set 1", i, w, e.Name, e.PID)
		}
	}
	n.Until("a workload that runs for 3 s must be up", func(s node.Status) bool { return s.Of("app").State == "up" })
}

func checkStatusWatch(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	lines := n.Watch()
	var first node.Status
	t.Check(lines.Decode(&first), "read the first line of a watch")
	n.Sync(rete.Document(n.Set(2)...))
	for s := first; s.Set.Active != 2; {
		t.Check(lines.Decode(&s), "read a further line of a watch")
	}
}

func checkInbounds(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	var got map[string]struct{ Kind, Addr string }
	a := n.Call(http.MethodGet, "/v1/inbounds", nil)
	t.Check(json.Unmarshal([]byte(a.Body), &got), "read the inbounds")
	if in := got[n.Rete.ID("/node/alpha")]; len(got) != 1 || in.Kind != "socks5" || in.Addr != n.Coordinator.Addr {
		t.Fatalf("the inbounds are %s; it must be that of the node, socks5 at %s", strings.TrimSpace(a.Body), n.Coordinator.Addr)
	}
}

func checkRestartCall(t *trial.T, n *node.Node) {
	first := started(n, node.Tenant("app", 1))[0]
	restartOf(t, n)
	if second := n.Workloads.Await("start", "app", 2); second.PID == first.PID {
		t.Fatalf("a restart kept the process")
	}
}

func checkWrongMethod(t *trial.T, n *node.Node) {
	callIs("DELETE", "/v1/status", 405, "FL3302")(t, n)
	allow := n.Call("DELETE", "/v1/status", nil).Header.Get("Allow")
	if !slices.Contains(strings.Split(strings.ReplaceAll(allow, " ", ""), ","), "GET") {
		t.Fatalf("405 says Allow: %q; it must name GET", allow)
	}
}

func checkLargeBody(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	conn, err := net.Dial("unix", n.Socket())
	t.Check(err, "connect to the control socket")
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(trial.Patience))
	_, err = fmt.Fprintf(conn, "POST /v1/sync HTTP/1.1\r\nHost: flor\r\nContent-Length: %d\r\n\r\n", 64<<20+1)
	t.Check(err, "send a request")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	t.Check(err, "read the answer to a body that says to have 64 MiB and one byte")
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("a body of 64 MiB and one byte is answered %d; it must be 413", resp.StatusCode)
	}
}

func checkStuckClient(t *trial.T, n *node.Node) {
	n.Enrol(n.Set(1))
	n.Serve()
	for range 8 {
		conn, err := net.Dial("unix", n.Socket())
		t.Check(err, "connect to the control socket")
		defer conn.Close()
		_, err = fmt.Fprint(conn, "POST /v1/sync HTTP/1.1\r\nHost: flor\r\nContent-Length: 100\r\n\r\n{")
		t.Check(err, "send half a request")
	}
	// Asked often, because whether a request has been taken up is not to be seen.
	const asked = 50
	for range asked {
		n.Status()
	}
	applied(t, n.Sync(rete.Document(n.Set(2)...)))
}

func checkMetrics(t *trial.T, n *node.Node) {
	n.Workloads.Does("app", "exit 1")
	started(n, node.Tenant("app", 1))
	n.Workloads.Await("start", "app", 2)
	n.Until("the agent must end a first sync", func(s node.Status) bool { return s.LastSync != nil })
	for _, want := range []string{`flor_agent_sync_total{[^}]*result="unreachable"`, `flor_agent_workload_restarts_total{[^}]*workload="app"`} {
		line := regexp.MustCompile(want)
		t.Await("GET /metrics must have "+want, func() bool { return line.MatchString(n.Call(http.MethodGet, "/metrics", nil).Body) })
	}
}

func checkWorkloadMetrics(t *trial.T, n *node.Node) {
	e := started(n, node.Tenant("app", 1))[0]
	serveChannel(t, n, e, map[string]string{
		"/metrics":  "# TYPE apples counter\napples_total 3\n# EOF\n",
		"/v1/ready": readyAnswer,
	})
	n.Until("the workload must have a process", func(s node.Status) bool { return s.Of("app").PID != 0 })
	line := regexp.MustCompile(`apples_total{[^}]*workload="app"[^}]*} 3`)
	t.Await(`GET /metrics must have the counters of workloads, with a label workload`, func() bool {
		return line.MatchString(n.Call(http.MethodGet, "/metrics", nil).Body)
	})
}
