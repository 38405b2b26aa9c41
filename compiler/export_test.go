package compiler

import (
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

func (w *world) export(node string) (*Exported, error) {
	w.t.Helper()
	loaded, err := Load(w.source())
	if err != nil {
		w.t.Fatal(err)
	}
	tree, err := ReadTree(w.t.Context(), w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return tree.Export(loaded.View, node)
}

// TestAnExportedSetIsWhatTheNodeAccepts verifies the document as an agent does,
// byte for byte what is in the tree (AGT-6, ENV-18).
func TestAnExportedSetIsWhatTheNodeAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	for _, node := range []string{"mgmt01", "laptop"} {
		exported, err := w.export(node)
		if err != nil {
			t.Fatal(err)
		}
		members, err := envelope.ParseSet(exported.Text)
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range members {
			artifact, err := envelope.Parse(member)
			if err != nil {
				t.Fatal(err)
			}
			if string(member)+"\n" != w.read(setDir(node)+"/"+artifact.Name+fileSuffix) {
				t.Errorf("%s of node %s is not as it lies in the tree", artifact.Name, node)
			}
		}
		held := envelope.Held{Anchor: envelope.Anchor{TrustDomain: loversTD, CA: w.authority.Certificate()}}
		set, err := schema.VerifySet(held, node, members, w.now)
		if err != nil {
			t.Fatal(err)
		}
		if root, _ := set.Member(envelope.AgentName); root.Artifact().Version != exported.Version || exported.Version != 1 {
			t.Errorf("version %d of node %s is called %d", root.Artifact().Version, node, exported.Version)
		}
	}
}

func TestExportRefusesWhatANodeWouldNotAccept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.export("alpha"); !IsRefused(err, ReasonNothingCompiled) {
		t.Errorf("before the first compile: %v", err)
	}
	w.compile()
	if _, err := w.export("nobody"); !IsRefused(err, ReasonUnknownNode) {
		t.Errorf("an unknown node: %v", err)
	}
	w.edit(setDir("alpha")+"/flor.json", "0.0.0.0", "0.0.0.1")
	if _, err := w.export("alpha"); !IsRefused(err, ReasonTreeUnsuitable) {
		t.Errorf("an edited set: %v", err)
	}
}
