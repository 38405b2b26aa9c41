package compiler

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
)

type versionMoves = map[string][2]uint64

// CMP-15: each row starts from a compiled tree, changes something, and says
// which nodes move from which version to which.
func TestVersionsFollowWhatChanged(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*world)
		want   versionMoves
	}{
		{"nothing changed", func(*world) {}, versionMoves{}},
		{"only comments and order changed", func(w *world) {
			w.write("users.yaml", "# people\nusers:\n"+
				"  alice:  {nodes: [{forwards: {127.0.0.1:15000: api}, at: laptop, socks5_proxy: 127.0.0.1:1083}], roles: [developer]}\n"+
				"  fyodor: {roles: [operator, admin], nodes: [{at: laptop, socks5_proxy: 127.0.0.1:1082}]}\n")
		}, versionMoves{}},
		{"a service moved to another node", func(w *world) {
			w.edit("services.yaml", "db:  {at: beta", "db:  {at: alpha")
		}, versionMoves{"alpha": {1, 2}, "beta": {1, 2}}},
		{"a user removed", func(w *world) {
			w.write("users.yaml", "users:\n  fyodor: {roles: [operator, admin], nodes: [{at: laptop, socks5_proxy: 127.0.0.1:1082}]}\n")
		}, versionMoves{"alpha": {1, 2}, "laptop": {1, 2}}},
		{"a node removed", func(w *world) {
			w.edit("services.yaml", "db:  {at: beta", "db:  {at: alpha")
			w.edit("services.yaml", "hidden: {at: beta", "hidden: {at: alpha")
			w.edit("nodes.yaml", "  beta:   {vertices: [{name: public, kind: link, type: quic, address: 5.6.7.8:4433}]}\n", "")
		}, versionMoves{"alpha": {1, 2}, "beta": {1, 0}, "mgmt01": {1, 2}}},
		{"the coordinator's local port changed", func(w *world) {
			w.edit("services.yaml", "127.0.0.1:9000", "127.0.0.1:9002")
		}, versionMoves{"mgmt01": {1, 2}}},
		{"the ledger is missing", func(w *world) { w.remove(ledgerFile) }, versionMoves{}},
		{"an artifact was edited by hand", func(w *world) {
			w.edit(".flor/compiled/alpha/mgmt/flor.json", "5.6.7.8", "5.6.7.9")
		}, versionMoves{"alpha": {1, 2}}},
		{"white space of an artifact was edited", func(w *world) {
			w.edit(".flor/compiled/alpha/mgmt/flor.json", "\n}", "\n }")
		}, versionMoves{"alpha": {1, 2}}},
		{"an artifact was removed by hand", func(w *world) {
			w.remove(".flor/compiled/alpha/mgmt/flor.json")
		}, versionMoves{"alpha": {1, 2}}},
		{"an artifact was added by hand", func(w *world) {
			w.write(".flor/compiled/alpha/mgmt/extra.json", "{}")
		}, versionMoves{"alpha": {1, 2}}},
		{"an editor left something", func(w *world) {
			w.write(".flor/compiled/alpha/mgmt/agent.json~", "{}")
		}, versionMoves{}},
		{"the whole tree is missing", func(w *world) { w.remove(treeDir) },
			versionMoves{"alpha": {0, 2}, "beta": {0, 2}, "laptop": {0, 2}, "mgmt01": {0, 2}}},
		{"the ledger is missing and an artifact is forged", func(w *world) {
			w.remove(ledgerFile)
			w.edit(".flor/compiled/alpha/mgmt/flor.json", "5.6.7.8", "5.6.7.9")
		}, versionMoves{"alpha": {0, 1}}},
		{"the ledger forgot a node", func(w *world) {
			l := w.ledger()
			delete(l.Nodes, "alpha")
			w.writeLedger(l)
		}, versionMoves{}},
		{"a floor was learnt", func(w *world) {
			if _, err := LearnFloors(w.dir, []Conflict{{Node: "alpha", Stored: 7, Offered: 1}}); err != nil {
				w.t.Fatal(err)
			}
		}, versionMoves{"alpha": {1, 8}}},
		{"the coordinator has other bytes at our version", func(w *world) {
			if _, err := LearnFloors(w.dir, []Conflict{{Node: "alpha", Stored: 1, Offered: 1}}); err != nil {
				w.t.Fatal(err)
			}
		}, versionMoves{"alpha": {1, 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			tt.change(w)
			before := w.snapshot()
			result := w.compile()
			if diff := cmp.Diff(tt.want, moves(result)); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			w.checkUntouched(before, result)
			if again := w.compile(); len(again.Changes) != 0 {
				t.Errorf("the next compile moves %v", moves(again))
			}
		})
	}
}

// checkUntouched asserts that only files of touched nodes differ.
func (w *world) checkUntouched(before map[string]string, r *Result) {
	w.t.Helper()
	touched := moves(r)
	for name, text := range w.snapshot() {
		node, _, inTree := strings.Cut(strings.TrimPrefix(name, treeDir+"/"), "/")
		if _, moved := touched[node]; inTree && strings.HasPrefix(name, treeDir) && !moved && before[name] != text {
			w.t.Errorf("%s changed, and its node is not said to move", name)
		}
	}
}

func (w *world) writeLedger(l *Ledger) {
	w.t.Helper()
	text, err := l.text()
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(ledgerFile, string(text))
}

// CMP-15: an unchanged source writes nothing and asks for no key.
func TestNothingChangedWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	before, signings := w.mtimes(), w.signings
	result := w.compile()
	if diff := cmp.Diff(before, w.mtimes()); diff != "" {
		t.Errorf("files were written (-before +after):\n%s", diff)
	}
	if w.signings != signings {
		t.Error("a key was asked for")
	}
	if result.Untouched != 4 {
		t.Errorf("untouched: %d", result.Untouched)
	}
}

// CMP-17: what was compiled is recognised by its text, without being parsed.
func TestAnUntouchedPayloadIsRecognisedByItsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	for _, n := range w.project() {
		for _, p := range n.Payloads() {
			text, err := json.Marshal(p.Value, payloadIndent...)
			if err != nil {
				t.Fatal(err)
			}
			file := w.read(setDir(n.Node) + "/" + p.Name + fileSuffix)
			if diff := cmp.Diff(string(text), string(payloadText([]byte(file)))); diff != "" {
				t.Errorf("%s of %s (-projected +in the tree):\n%s", p.Name, n.Node, diff)
			}
		}
	}
}

// CMP-15: a node that left and comes back continues above its last version.
func TestANodeThatComesBackContinues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nodes := w.read("nodes.yaml")
	phone := nodes + "  phone: {vertices: [{name: quic, kind: link, type: quic}]}\n"
	w.write("nodes.yaml", phone)
	w.compile()
	w.write("nodes.yaml", nodes)
	if got := moves(w.compile())["phone"]; got != [2]uint64{1, 0} {
		t.Errorf("leaving: %v", got)
	}
	if _, err := os.Stat(w.path(path.Join(treeDir, "phone"))); err == nil {
		t.Error("its compiled set is still there")
	}
	w.write("nodes.yaml", phone)
	if got := moves(w.compile())["phone"]; got != [2]uint64{0, 2} {
		t.Errorf("coming back: %v", got)
	}
}

func TestWhatChangedIsSaidByMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	w.edit("services.yaml", "127.0.0.1:9000", "127.0.0.1:9002")
	w.edit("access.yaml", "developer: {allow: [api]}", "developer: {allow: [api, db]}")
	result := w.compile()
	want := map[string][]string{
		"mgmt01": {"flor: workloads", "coordinator: listen"},
		"laptop": {"flor: egress, links"},
		"beta":   {"flor: ingress"},
	}
	for node, words := range want {
		if diff := cmp.Diff(words, what(result, node)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", node, diff)
		}
	}
}

func TestFloorByHandLiftsEveryNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	opts := w.options()
	opts.Floor = 41
	want := versionMoves{"alpha": {1, 42}, "beta": {1, 42}, "laptop": {1, 42}, "mgmt01": {1, 42}}
	if diff := cmp.Diff(want, moves(w.compileWith(opts))); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
}

// Two branches compile apart from one tree; whoever merges takes files of both.
func TestAMergeOfTwoBranchesHeals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	base := w.snapshot()
	for i := range 3 { // a branch in which alpha moved to 4
		w.edit("services.yaml", fmt.Sprint("127.0.0.1:800", i), fmt.Sprint("127.0.0.1:800", i+1))
		w.compile()
	}
	theirs := w.snapshot()
	w.restore(base)
	for name, text := range theirs {
		if strings.Contains(name, "/alpha/") {
			w.write(name, text)
		}
	}
	if got := moves(w.compile())["alpha"]; got != [2]uint64{4, 5} {
		t.Errorf("alpha moves %v; its files say 4, and they are genuine", got)
	}
}

func TestLearnBelievesOnlySmallSteps(t *testing.T) {
	t.Parallel()
	l := emptyLedger()
	l.Nodes["a"] = LedgerNode{Version: 10}
	l.Nodes["b"] = LedgerNode{Version: 10}
	near := Conflict{Node: "a", Stored: 10 + MaxFloorStep, Offered: 10}
	far := Conflict{Node: "b", Stored: 10 + MaxFloorStep + 1, Offered: 10}
	foreign := Conflict{Node: "c", Stored: 3, Offered: 1}
	learnt, unbelieved := l.Learn([]Conflict{near, far, foreign})
	if diff := cmp.Diff([]Conflict{far, foreign}, unbelieved); diff != "" {
		t.Errorf("unbelieved (-want +got):\n%s", diff)
	}
	if learnt.Nodes["a"].Floor != near.Stored || learnt.Nodes["b"].Floor != 0 || l.Nodes["a"].Floor != 0 {
		t.Errorf("learnt %v from %v", learnt.Nodes, l.Nodes)
	}
}

func TestALedgerThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       Reason
	}{
		{"empty", "", ReasonLedgerDamaged},
		{"half", `{"schema_version": "1.0", "nodes": {"alp`, ReasonLedgerDamaged},
		{"an unknown member", `{"schema_version": "1.0", "nodes": {}, "extra": 1}`, ReasonLedgerDamaged},
		{"a node name that leaves the tree", `{"schema_version": "1.0", "nodes": {"../x": {"version": 1, "floor": 0, "files": {}}}}`, ReasonLedgerDamaged},
		{"a version over the limit", `{"schema_version": "1.0", "nodes": {"a": {"version": 9007199254740992, "floor": 0, "files": {}}}}`, ReasonLedgerDamaged},
		{"a merge conflict", "<<<<<<< HEAD\n{}\n", ReasonLedgerDamaged},
		{"a newer form", `{"schema_version": "2.0", "nodes": [], "more": true}`, ReasonLedgerNewer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			w.write(ledgerFile, tt.text)
			before := w.snapshot()
			if err := w.compileError(w.options()); !IsRefused(err, tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if !sameFiles(before, w.snapshot()) {
				t.Error("something was written")
			}
		})
	}
}

func TestTheLastVersionIsTheLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	l := w.ledger()
	entry := l.Nodes["alpha"]
	entry.Version = envelope.MaxVersion
	l.Nodes["alpha"] = entry
	w.writeLedger(l)
	w.edit("nodes.yaml", "1.2.3.4:4433", "1.2.3.4:4434")
	if err := w.compileError(w.options()); !IsRefused(err, ReasonVersionsUsedUp) {
		t.Errorf("got %v", err)
	}
}

// FuzzParseLedger: no text makes the reader panic, and what it takes it writes
// back to an equal ledger.
func FuzzParseLedger(f *testing.F) {
	f.Add([]byte(`{"schema_version": "1.0", "nodes": {"a": {"version": 1, "floor": 0, "files": {"agent.json": "00"}}}}`))
	f.Add([]byte(`{"schema_version": "9"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLedger(text)
		if err != nil {
			return
		}
		again, err := l.text()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseLedger(again)
		if err != nil || !back.same(l) {
			t.Fatal(fmt.Errorf("read back %v: %w", back, err))
		}
	})
}
