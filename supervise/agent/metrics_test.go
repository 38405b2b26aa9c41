package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/supervise"
	"github.com/florete/flor/supervise/control"
)

// OBS-6 and the control socket: one page, workloads told apart by a label.
func TestCountersOfWorkloadsAreMergedUnderALabel(t *testing.T) {
	t.Parallel()
	c := newCounters()
	c.synced(outcome{SyncResult: control.SyncResult{Result: control.Applied}})
	c.restarted("flor", supervise.CauseCrash)
	text := "# HELP bytes_total Bytes.\n# TYPE bytes_total counter\nbytes_total{dir=\"in\"} 3\n"
	got, err := c.page(map[string][]byte{"b": []byte(text), "a": []byte(text), "broken": []byte("<html>")})
	if err != nil {
		t.Fatal(err)
	}
	want := `# HELP flor_agent_sync Syncs by how they ended.
# TYPE flor_agent_sync counter
flor_agent_sync_total{reason="",result="applied"} 1.0
# HELP flor_agent_workload_restarts Spawns of a workload after its first, by cause.
# TYPE flor_agent_workload_restarts counter
flor_agent_workload_restarts_total{cause="crash",workload="flor"} 1.0
# HELP bytes Bytes.
# TYPE bytes counter
bytes_total{dir="in",workload="a"} 3.0
bytes_total{dir="in",workload="b"} 3.0
# EOF
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// A running agent serves its page on the control socket.
func TestTheControlSocketServesCounters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, workloadOf("flor", behaviour{}))
	c := w.start()
	w.until(c, "all up", settled)
	w.sync(c, false, strings.NewReader("{}"))
	page, err := c.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\ngo_goroutines ") {
		t.Errorf("the number of goroutines is not served:\n%s", page)
	}
	if !strings.Contains(string(page), `flor_agent_sync_total{reason="`) || !strings.HasSuffix(string(page), "# EOF\n") {
		t.Errorf("page:\n%s", page)
	}
}
