package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/florete/flor/relay"
	"github.com/florete/flor/supervise/control"
	"github.com/florete/flor/vertex"
)

// described is a Registerer that notes the names and labels of what is registered.
type described map[string][]string

var descForm = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

func (d described) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 16)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		found := descForm.FindStringSubmatch(desc.String())
		d[found[1]] = labelsOf(found[2])
	}
	return nil
}

func (d described) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		_ = d.Register(c) // has no error
	}
}

func (d described) Unregister(prometheus.Collector) bool { return false }

func labelsOf(list string) []string {
	labels := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '`' })
	slices.Sort(labels)
	return labels
}

// documented reads the table of counters in README.md.
func documented(t *testing.T) described {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := described{}
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:flor|go)_[a-z_]+)` \\|([^|]*)\\| [^|]+ \\|$").FindAllStringSubmatch(string(readme), -1) {
		if _, twice := found[row[1]]; twice {
			t.Errorf("README.md lists %s twice", row[1])
		}
		found[row[1]] = labelsOf(row[2])
	}
	return found
}

// OBS-6: the table of counters in README.md lists what there is and nothing else,
// with the labels that each has.
func TestReadmeListsEveryCounter(t *testing.T) {
	t.Parallel()
	found := described{}
	r := newRete("demo")
	if _, err := vertex.New(r.vertex("1.0"), r.keys(), vertex.Options{Registerer: found}); err != nil {
		t.Fatal(err)
	}
	storage, err := relay.OpenFileStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := relay.New(t.Context(), storage, relay.Options{Registerer: found}); err != nil {
		t.Fatal(err)
	}
	addAgentCounters(t, found)
	if diff := cmp.Diff(found, documented(t)); diff != "" {
		t.Errorf("README.md (-code +README):\n%s", diff)
	}
}

// addAgentCounters has an agent count all that it does, and reads what it serves.
func addAgentCounters(t *testing.T, found described) {
	t.Helper()
	s := newStation(t)
	s.enrol(newRete("demo").bundle())
	s.start()
	s.until("the workload runs", func(doc control.StatusDoc) bool { return len(doc.Workloads) > 0 && doc.Workloads[0].PID != 0 })
	if out, code := s.flor("agent", "restart", "flor"); code != 0 {
		t.Fatalf("restart: exit code %d\n%s", code, out)
	}
	s.until("it was restarted, and a sync has ended", func(doc control.StatusDoc) bool {
		return doc.Workloads[0].Restarts > 0 && doc.LastSync != nil
	})
	page, err := s.client().Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for name, family := range families {
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		found[name] = labelsOf(strings.Join(labels, ","))
	}
}
