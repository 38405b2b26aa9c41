package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// peak is the most memory that the running program ever had, in bytes.
func (r *running) peak() int {
	r.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		r.t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(line, &kib); err != nil {
		r.t.Fatal(err)
	}
	return kib << 10
}

// largeDocument is a tree of 10,000 nodes with two artifacts each, as a publisher
// writes it.
func largeDocument(version, size int) string {
	var text bytes.Buffer
	filler := strings.Repeat("x", size/20_000-100)
	text.WriteString("{\"artifacts\":[\n")
	for n := range 20_000 {
		if n > 0 {
			text.WriteString(",\n")
		}
		name := [2]string{"agent", "flor"}[n%2]
		fmt.Fprintf(&text, `{"schema_version":"1.0","plane":"mgmt","version":%d,"node":%q,"name":%q,"payload":"%s"}`,
			version, nodeName(n/2), name, filler)
	}
	text.WriteString("\n]}\n")
	return text.String()
}

// A publish of 10,000 nodes over a tree of the same size: the process has at most
// three times the document in memory, what it served before included.
func TestALargePublishNeedsLittleMemory(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("-short or -race: it publishes 120 MB twice, and the race detector needs memory of its own")
	}
	const size, times = 120_000_000, 3
	r := newPlace(t).start()
	base := r.peak()
	for version := range 2 {
		r.publish(largeDocument(version+1, size))
		t.Logf("publish %d: at most %.2f times the document", version+1, float64(r.peak()-base)/size)
	}
	if peak := r.peak() - base; peak > times*size {
		t.Errorf("%d bytes for documents of %d", peak, size)
	}
}
