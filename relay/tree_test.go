package relay_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay"
)

// CRD-2: what the structural gate refuses, whole, for one fault.
func TestTheStructuralGateRefuses(t *testing.T) {
	t.Parallel()
	root := func(node string, version uint64) []byte { return artifact(node, "agent", version, "{}") }
	many := [][]byte{root("alpha", 1)}
	for i := range envelope.MaxArtifacts {
		many = append(many, artifact("alpha", fmt.Sprintf("w%d", i), 1, "{}"))
	}
	padded := func(size int) string { return `"` + strings.Repeat("x", size) + `"` }
	cases := map[string]struct {
		doc  []byte
		want relay.Reason
		says string
	}{
		"no JSON":                           {[]byte("<html>"), relay.MalformedDocument, ""},
		"a document that ends early":        {document(nodeSet("alpha", 1, "a"))[:60], relay.MalformedDocument, ""},
		"an unknown member":                 {[]byte(`{"artifacts":[` + string(root("alpha", 1)) + `],"more":1}`), relay.MalformedDocument, ""},
		"a second document":                 {append(document(nodeSet("alpha", 1, "a")), "{}"...), relay.MalformedDocument, ""},
		"no artifact":                       {document(), relay.EmptyTree, "unpublish"},
		"an artifact without a core":        {document([][]byte{[]byte(`{}`)}), relay.MalformedArtifact, "artifact 1 of"},
		"a version of zero":                 {document([][]byte{root("alpha", 0)}), relay.MalformedArtifact, ""},
		"a node name that is a path":        {document([][]byte{root("../alpha", 1)}), relay.MalformedArtifact, ""},
		"a duplicate routing name":          {document([][]byte{[]byte(`{"version":2,` + string(root("alpha", 1))[1:])}), relay.MalformedArtifact, ""},
		"a ctrl artifact":                   {document([][]byte{bytes.Replace(root("alpha", 1), []byte(`"mgmt"`), []byte(`{"ctrl":{"obeys_mgmt_version":1}}`), 1)}), relay.WrongPlane, "alpha/ctrl/agent"},
		"a node without a root":             {document([][]byte{artifact("alpha", "flor", 1, "{}")}), relay.NoRoot, "alpha"},
		"a root in another case":            {document([][]byte{artifact("alpha", "Agent", 1, "{}")}), relay.NoRoot, "alpha"},
		"two roots":                         {document([][]byte{root("alpha", 1), root("alpha", 1)}), relay.DuplicateArtifact, "alpha/mgmt/agent"},
		"two names that differ by case":     {document(nodeSet("alpha", 1, "a"), [][]byte{artifact("alpha", "FLOR", 1, "{}")}), relay.DuplicateArtifact, "alpha/mgmt/FLOR"},
		"two nodes that differ by case":     {document(nodeSet("alpha", 1, "a"), nodeSet("ALPHA", 1, "a")), relay.DuplicateNode, "ALPHA"},
		"two versions in one node":          {document([][]byte{root("alpha", 1), artifact("alpha", "flor", 2, "{}")}), relay.MixedVersions, "alpha/mgmt/flor"},
		"257 artifacts in one node":         {document(many), relay.TooManyArtifacts, "256"},
		"an artifact over 4 MiB":            {document([][]byte{artifact("alpha", "agent", 1, padded(envelope.MaxEnvelope))}), relay.ArtifactTooLarge, "4194304"},
		"one bad node among many good ones": {document(nodeSet("alpha", 1, "a"), nodeSet("beta", 1, "b"), [][]byte{artifact("gamma", "flor", 1, "{}")}), relay.NoRoot, "gamma"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := relay.ParseTree(c.doc)
			var refusal *relay.TreeError
			if tree != nil || !errors.As(err, &refusal) {
				t.Fatalf("ParseTree = %v, %v; want a refusal", tree, err)
			}
			if refusal.Reason != c.want {
				t.Errorf("reason %q, want %q: %v", refusal.Reason, c.want, err)
			}
			for _, word := range []string{c.says, refusal.Code(), string(c.want)} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
}

// CRD-2: what it lets pass, because a relay never gates the contract's growth.
func TestTheStructuralGateTakes(t *testing.T) {
	t.Parallel()
	full := [][]byte{artifact("alpha", "agent", 1, "{}")}
	for i := range envelope.MaxArtifacts - 1 {
		full = append(full, artifact("alpha", fmt.Sprintf("w%d", i), 1, "{}"))
	}
	major := func(set [][]byte) [][]byte {
		for i := range set {
			set[i] = bytes.Replace(set[i], []byte(`"1.0"`), []byte(`"99.7"`), 1)
		}
		return set
	}
	cases := map[string][]byte{
		"an unknown schema major":            document(major(nodeSet("alpha", 1, "a"))),
		"members it has never heard of":      document([][]byte{[]byte(`{"novel":[[]],` + string(artifact("alpha", "agent", 1, "{}"))[1:])}),
		"256 artifacts in one node":          document(full),
		"nodes with versions of their own":   document(nodeSet("alpha", 1, "a"), nodeSet("beta", 9, "b")),
		"the artifacts of two nodes in turn": document([][]byte{artifact("a", "agent", 1, "1"), artifact("b", "agent", 1, "1"), artifact("a", "w", 1, "1"), artifact("b", "w", 1, "1")}),
	}
	for name, doc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := relay.ParseTree(doc); err != nil {
				t.Error(err)
			}
		})
	}
}

// CRD-2, ENV-17: members are kept byte for byte, white space inside them included.
func TestATreeKeepsTheExactBytesOfItsMembers(t *testing.T) {
	t.Parallel()
	spaced := []byte("{ \"schema_version\" : \"1.0\",\r\n\t\"plane\":\"mgmt\",\"version\":1,\"node\":\"alpha\",\"name\":\"agent\",\"p\":\"\\u00e9\" }")
	doc := []byte("{\n\"artifacts\" : [ " + string(spaced) + " ] }\n\n")
	tree := mustParse(t, doc)
	clear(doc) // the tree must not refer to what it was parsed from
	want := string(envelope.AppendSet(nil, spaced))
	if diff := cmp.Diff(want, string(tree.SetDocument("alpha"))); diff != "" {
		t.Error(diff)
	}
}

// CRD-2, CRD-4: what a tree writes is the same tree when it is read again.
func TestATreeReadBackIsTheSameTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z0-9]{0,5}`), 1, 6, rapid.ID).Draw(t, "nodes")
		var sets [][][]byte
		for _, name := range names {
			version := rapid.Uint64Range(1, envelope.MaxVersion).Draw(t, "version")
			sets = append(sets, nodeSet(name, version, rapid.StringMatching(`[a-z]{0,8}`).Draw(t, "mark")))
		}
		first, err := relay.ParseTree(document(sets...))
		if err != nil {
			t.Fatal(err)
		}
		again, err := relay.ParseTree(first.Document())
		if err != nil {
			t.Fatal(err)
		}
		if changed, err := relay.Judge(first, relay.Floors{}.Raise(first), again); err != nil || len(changed) != 0 {
			t.Fatalf("changed %q, %v", changed, err)
		}
	})
}

// CRD-2, CRD-5, ENV-17: in whatever order members come and whatever stands between
// them, each node is served its own members, byte for byte, and nothing else.
func TestEachNodeIsServedItsOwnMembersHoweverTheyCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := map[string][]string{}
		var members []string
		for _, node := range []string{"a", "b", "c"} {
			for _, name := range []string{"agent", "flor", "w"}[:rapid.IntRange(1, 3).Draw(t, "members")] {
				mark := rapid.StringMatching(`[\[\]{}, ]{0,6}`).Draw(t, "mark")
				text := string(artifact(node, name, 1, `"`+mark+`"`))
				want[node], members = append(want[node], text), append(members, text)
			}
		}
		var doc strings.Builder
		doc.WriteString("{ \"artifacts\" :\t[ ")
		for i, text := range rapid.Permutation(members).Draw(t, "order") {
			if i > 0 {
				doc.WriteString(rapid.SampledFrom([]string{",\n", ",", " ,\n ", ",\n\n"}).Draw(t, "between"))
			}
			doc.WriteString(text)
		}
		doc.WriteString("]}")
		tree, err := relay.ParseTree([]byte(doc.String()))
		if err != nil {
			t.Fatal(err)
		}
		for node, texts := range want {
			served, err := envelope.ParseSet(tree.SetDocument(node))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, text := range served {
				got = append(got, string(text))
			}
			slices.Sort(texts)
			slices.Sort(got)
			if diff := cmp.Diff(texts, got); diff != "" {
				t.Fatalf("%s of %s: %s", node, doc.String(), diff)
			}
		}
	})
}
