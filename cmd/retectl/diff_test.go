package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/compiler"
)

// A line that concerns everybody names some and counts the rest; --json has all.
func TestManyNamesAreCounted(t *testing.T) {
	t.Parallel()
	var changes []compiler.WorkloadChange
	for i := range 1000 {
		changes = append(changes, compiler.WorkloadChange{Node: fmt.Sprintf("n%d", i), Workload: "agent", Action: compiler.Swap})
	}
	changes = append(changes, compiler.WorkloadChange{Node: "n7", Workload: "flor", Action: compiler.Restart})
	want := []string{
		"n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11 and 988 more: the agent takes its new settings in place",
		"n7: flor restarts, and its connections are cut",
	}
	if diff := cmp.Diff(want, workloadLines(changes)); diff != "" {
		t.Errorf("lines differ (-want +got):\n%s", diff)
	}
}

// Principals that gain the same share a line, others do not.
func TestPrincipalsThatGainTheSameShareALine(t *testing.T) {
	t.Parallel()
	gained := []compiler.AccessChange{
		{Principal: "spiffe://demo/node/a", Service: "spiffe://demo/service/x"},
		{Principal: "spiffe://demo/node/b", Service: "spiffe://demo/service/a/ssh"},
		{Principal: "spiffe://demo/node/b", Service: "spiffe://demo/service/x"},
		{Principal: "spiffe://demo/user/c", Service: "spiffe://demo/service/x"},
	}
	want := []string{
		"+ node a, user c may now reach x",
		"+ node b may now reach a/ssh, x",
	}
	if diff := cmp.Diff(want, accessLines(&compiler.Diff{Gained: gained})); diff != "" {
		t.Errorf("lines differ (-want +got):\n%s", diff)
	}
}
