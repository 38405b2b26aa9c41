package relay_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay"
)

// CRD-3: every verdict of the monotonic gate, as a function of three values.
func TestTheMonotonicGateJudges(t *testing.T) {
	t.Parallel()
	a := func(version uint64) [][]byte { return nodeSet("alpha", version, "a") }
	b := func(version uint64) [][]byte { return nodeSet("beta", version, "b") }
	altered := func(version uint64) [][]byte { return nodeSet("alpha", version, "other") }
	type sets = [][][]byte
	cases := map[string]struct {
		record, stored, offered sets // record: what was published before stored
		changed                 []string
		conflicts               []relay.Conflict
	}{
		"the first publish adds every node": {
			offered: sets{b(1), a(1)}, changed: []string{"alpha", "beta"}},
		"the same tree again changes nothing": {
			stored: sets{a(5), b(5)}, offered: sets{a(5), b(5)}},
		"the order of members means nothing": {
			stored: sets{{a(5)[0], a(5)[1]}}, offered: sets{{a(5)[1], a(5)[0]}}},
		"a newer version alters its node only": {
			stored: sets{a(5), b(5)}, offered: sets{a(6), b(5)}, changed: []string{"alpha"}},
		"a node that is left out is removed": {
			stored: sets{a(5), b(5)}, offered: sets{a(5)}, changed: []string{"beta"}},
		"added, altered and removed are told together, sorted": {
			stored:  sets{nodeSet("zeta", 1, "z"), a(5)},
			offered: sets{a(6), b(1)}, changed: []string{"alpha", "beta", "zeta"}},
		"a regression is refused": {
			stored: sets{a(5)}, offered: sets{a(4)},
			conflicts: []relay.Conflict{{Node: "alpha", Stored: 5, Offered: 4}}},
		"an equal version with other bytes is refused": {
			stored: sets{a(5)}, offered: sets{altered(5)},
			conflicts: []relay.Conflict{{Node: "alpha", Stored: 5, Offered: 5}}},
		"an equal version with a member less is refused": {
			stored: sets{a(5)}, offered: sets{a(5)[:1]},
			conflicts: []relay.Conflict{{Node: "alpha", Stored: 5, Offered: 5}}},
		"every node in the way is named, sorted": {
			stored: sets{a(5), b(7)}, offered: sets{b(6), altered(5)},
			conflicts: []relay.Conflict{{Node: "alpha", Stored: 5, Offered: 5}, {Node: "beta", Stored: 7, Offered: 6}}},
		"a departed node may not come back lower": {
			record: sets{b(9)}, stored: sets{a(5)}, offered: sets{a(5), b(8)},
			conflicts: []relay.Conflict{{Node: "beta", Stored: 9, Offered: 8}}},
		"a departed node may not come back lower in another case": {
			record: sets{b(9)}, stored: sets{a(5)}, offered: sets{a(5), nodeSet("BETA", 8, "b")},
			conflicts: []relay.Conflict{{Node: "BETA", Stored: 9, Offered: 8}}},
		"whatever the case it left in": {
			record: sets{nodeSet("BETA", 9, "b")}, stored: sets{a(5)}, offered: sets{a(5), b(8)},
			conflicts: []relay.Conflict{{Node: "beta", Stored: 9, Offered: 8}}},
		"a departed node may come back at its floor": {
			record: sets{b(9)}, stored: sets{a(5)}, offered: sets{a(5), b(9)}, changed: []string{"beta"}},
		"the largest jump is taken": {
			stored: sets{a(5)}, offered: sets{a(5 + relay.MaxJump)}, changed: []string{"alpha"}},
		"a jump too far is refused": {
			stored: sets{a(5)}, offered: sets{a(6 + relay.MaxJump)},
			conflicts: []relay.Conflict{{Node: "alpha", Stored: 5, Offered: 6 + relay.MaxJump}}},
		"a new node beside others has floor 0": {
			stored: sets{a(1)}, offered: sets{a(1), b(relay.MaxJump + 1)},
			conflicts: []relay.Conflict{{Node: "beta", Stored: 0, Offered: relay.MaxJump + 1}}},
		"the first tree ever is taken as it comes": {
			offered: sets{a(envelope.MaxVersion), b(relay.MaxJump + 1)}, changed: []string{"alpha", "beta"}},
		"one departed node on record is a record": {
			record: sets{b(9)}, offered: sets{a(relay.MaxJump + 1)},
			conflicts: []relay.Conflict{{Node: "alpha", Stored: 0, Offered: relay.MaxJump + 1}}},
		"what is served is no conflict, though a failed publish left a higher floor": {
			record: sets{a(6)}, stored: sets{a(5)}, offered: sets{a(5)}},
		"but any other bytes must reach that floor": {
			record: sets{a(7)}, stored: sets{a(5)}, offered: sets{a(6)},
			conflicts: []relay.Conflict{{Node: "alpha", Stored: 7, Offered: 6}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored := treeOf(t, c.stored)
			floors := relay.Floors{}.Raise(treeOf(t, c.record)).Raise(stored)
			changed, err := relay.Judge(stored, floors, treeOf(t, c.offered))
			var conflict *relay.ConflictError
			if errors.As(err, &conflict) != (c.conflicts != nil) {
				t.Fatalf("Judge = %q, %v", changed, err)
			}
			if conflict != nil {
				if diff := cmp.Diff(c.conflicts, conflict.Nodes); diff != "" {
					t.Error(diff)
				}
			}
			if diff := cmp.Diff(c.changed, changed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// CRD-3: what is stored is a record of its own, where the floors are behind it: a
// storage may have lost them.
func TestTheGateReckonsFromTheTreeWhereTheFloorsAreBehind(t *testing.T) {
	t.Parallel()
	const stored = 3 * relay.MaxJump
	at := func(version uint64) *relay.Tree { return mustParse(t, document(nodeSet("alpha", version, "a"))) }
	floors := relay.Floors{}.Raise(at(1))
	if _, err := relay.Judge(at(stored), floors, at(stored+relay.MaxJump)); err != nil {
		t.Errorf("the largest jump: %v", err)
	}
	for _, offered := range []uint64{stored - 1, stored + relay.MaxJump + 1} {
		_, err := relay.Judge(at(stored), floors, at(offered))
		want := []relay.Conflict{{Node: "alpha", Stored: stored, Offered: offered}}
		var conflict *relay.ConflictError
		if !errors.As(err, &conflict) || cmp.Diff(want, conflict.Nodes) != "" {
			t.Errorf("offered %d over %d: %v", offered, stored, err)
		}
	}
}

func treeOf(t *testing.T, sets [][][]byte) *relay.Tree {
	t.Helper()
	if sets == nil {
		return nil
	}
	return mustParse(t, document(sets...))
}

// CRD-3: whatever is offered in whatever order, no node is ever served a lower
// version than before, and never two texts under one version in a row of trees.
func TestNoSequenceOfPublishesLowersAVersion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var stored *relay.Tree
		var floors relay.Floors
		highest := map[string]uint64{}
		for range rapid.IntRange(1, 12).Draw(t, "publishes") {
			offered := drawTree(t)
			if _, err := relay.Judge(stored, floors, offered); err != nil {
				continue
			}
			for _, node := range offered.Nodes() {
				version := offered.Version(node)
				if version < highest[node] {
					t.Fatalf("%s came back at %d after %d", node, version, highest[node])
				}
				if version == stored.Version(node) && string(offered.SetDocument(node)) != string(stored.SetDocument(node)) {
					t.Fatalf("%s has two texts at version %d", node, version)
				}
				highest[node] = version
			}
			stored, floors = offered, floors.Raise(offered)
		}
	})
}

func drawTree(t *rapid.T) *relay.Tree {
	var sets [][][]byte
	for _, node := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).Draw(t, "nodes") {
		mark := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "mark")
		sets = append(sets, nodeSet(node, rapid.Uint64Range(1, 6).Draw(t, "version"), mark))
	}
	tree, err := relay.ParseTree(document(sets...))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
