package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test's own binary be the processes that read and publish.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"-read", "-put", "-parse"}, os.Args[1]) {
		main()
	}
	os.Exit(m.Run())
}

// The whole of it on a small scale: every line of the report is there, with the
// load left out or measured.
func TestTheReportIsWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it measures for some seconds")
	}
	var out strings.Builder
	small := plan{rounds: 1, span: 500 * time.Millisecond, nodes: 200, size: 2 << 10}
	if err := small.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	number := `[0-9]+\.?[0-9]*`
	for _, line := range []string{
		`load: left out, (wrk|nginx) is not installed|load 304, 64 connections: relay ` + number + `/s, nginx ` + number + `/s, ratio ` + number,
		`load: left out|load 200, 64 connections: relay ` + number + `/s`,
		`publish of 200 nodes, 0 MB: ` + number + ` s; .* ratio ` + number,
		`readers' 99th percentile: quiet ` + number + ` ms, beside publishes ` + number + ` ms, ratio ` + number,
	} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("no line %s in:\n%s", line, out.String())
		}
	}
}
