package main

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/conformance/lab/udplink"
)

// TestMain makes this program a flood where a test starts it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-flood" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The whole way of a run: build, two vertices, load, floods, table; over a path
// with loss too.
func TestRunPrintsWhatItMeasured(t *testing.T) {
	t.Parallel()
	p := plan{rounds: 1, span: 100 * time.Millisecond, backend: "127.0.0.1:0", control: true,
		only: regexp.MustCompile("^(bulk-up-1|requests-1|connects-1|cpu|quiet-.*)$"), path: udplink.Path{Delay: time.Millisecond, Loss: 0.01}}
	var out strings.Builder
	if err := p.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"direct", "vertex again", "bulk up, 1 connection", "99th percentile", "connects, 1 client", "CPU",
		"quiet beside new connections", "quiet beside 64 bulk streams", "quiet beside refused handshakes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &out)
		}
	}
	for line := range strings.Lines(out.String()) {
		// Processor time is counted in hundredths of a second, which is long for
		// so short a run, and a flood at the lowest priority may get none of it.
		if nothing(line) && !strings.Contains(line, "CPU") && !strings.Contains(line, "quiet beside") {
			t.Errorf("something was measured as nothing: %s of\n%s", line, &out)
		}
	}
}

// nothing tells that a way of a line has the figure 0: the direct one, the vertex,
// or the vertex again. The ratios beside them are small on a busy machine.
func nothing(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return false
	}
	direct, vertex, again := fields[len(fields)-5], fields[len(fields)-4], fields[len(fields)-2]
	return slices.Contains([]string{direct, vertex, again}, "0.000")
}

func TestTunnelsByFlag(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]tunnel{
		"a=tcp:127.0.0.1:9":                   {"a", "127.0.0.1:9", ""},
		"b=socks5:127.0.0.1:9/web.example:80": {"b", "127.0.0.1:9", "web.example:80"},
		"c=tcp:127.0.0.1:9/web:80":            {},
		"d=socks5:127.0.0.1:9":                {},
		"e=udp:127.0.0.1:9":                   {},
		"tcp:127.0.0.1:9":                     {},
		"":                                    {},
	} {
		got, err := parseTunnel(text)
		if got != want || (err != nil) != (want == tunnel{}) {
			t.Errorf("%q is read as %+v (%v), want %+v", text, got, err, want)
		}
	}
}

func TestTableHasMediansAndRatios(t *testing.T) {
	t.Parallel()
	r := newResults()
	f := figure{name: "x", rows: []string{"x, 1/s"}}
	for _, v := range []float64{10, 1000, 20} {
		r.add(f, "direct", []float64{v})
		r.add(f, "vertex", []float64{v / 2})
		r.add(f, "stunnel4", []float64{math.NaN()})
	}
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line))
	}
	want := [][]string{
		strings.Fields("median of the rounds direct vertex /direct /stunnel4 stunnel4"),
		strings.Fields("x, 1/s 20.0 10.0 0.500 - -"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
