package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/florete/flor/supervise/control"
)

// trouble is a record of the log that somebody would act on.
var trouble = regexp.MustCompile(`(?m)^\S+ (WARN|ERROR) .*$`)

// TestANormalStartHasNoWarning starts real agents with real vertices: what takes
// its moment to come up is no trouble (AGT-3, OBS-4).
func TestANormalStartHasNoWarning(t *testing.T) {
	t.Parallel()
	lib := withVertex(t)
	p := newPair(t)
	p.from.publish(1, document(p.alpha(1, p.road)))
	beta := newStationOf(t, lib)
	beta.enrol(p.bundle("beta", p.beta(1), "node/beta", "service/coordinator"))
	alpha := newStationOf(t, lib)
	alpha.enrol(p.bundle("alpha", p.alpha(1, p.road), "node/alpha"))
	nodes := []*station{beta, alpha}
	for _, node := range nodes {
		node.start()
		node.until("contact", func(doc control.StatusDoc) bool { return !doc.LastContact.IsZero() })
	}
	for _, node := range slices.Backward(nodes) {
		node.stop()
		text, err := os.ReadFile(node.log.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range trouble.FindAllString(string(text), -1) {
			t.Errorf("logged between a start and a stop: %s", line)
		}
	}
}
