package compiler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is not published yet is told by version, for nodes that changed, joined
// and left.
func TestWhatIsNotPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unpublished := func(want Unpublished) {
		t.Helper()
		got, err := ReadUnpublished(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	publish := func() {
		t.Helper()
		doc, err := OpenDocument(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer doc.Close()
		if err := doc.Published(); err != nil {
			t.Fatal(err)
		}
	}
	unpublished(Unpublished{First: true})
	w.compile()
	unpublished(Unpublished{First: true, Newer: []string{"alpha", "beta", "laptop", "mgmt01"}})
	publish()
	unpublished(Unpublished{})
	w.compile()
	unpublished(Unpublished{})
	w.write("more.yaml", "nodes: {gamma: {vertices: [{kind: link, type: quic}]}}\n")
	w.compile()
	unpublished(Unpublished{Newer: []string{"gamma", "mgmt01"}})
	publish()
	w.remove("more.yaml")
	w.compile()
	unpublished(Unpublished{Newer: []string{"mgmt01"}, Gone: []string{"gamma"}})
	publish()
	unpublished(Unpublished{})
}

// Where git left a conflict in what is kept below .flor, the error says what is
// to be done about such a one.
func TestAMergeConflictIsTold(t *testing.T) {
	t.Parallel()
	const conflict = "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n"
	for name, c := range map[string]struct {
		reason Reason
		words  string
	}{
		ledgerFile:    {ReasonLedgerDamaged, "git checkout --theirs .flor"},
		issuedFile:    {ReasonRecordDamaged, ".flor/issued.jsonl:1: git left a merge conflict here; keep the lines of both sides"},
		revokedFile:   {ReasonRecordDamaged, ".flor/revoked.jsonl:1: git left a merge conflict here; keep the lines of both sides"},
		publishedFile: {ReasonRecordDamaged, "git checkout --theirs .flor/published.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			w.write(name, conflict)
			var err error
			switch name {
			case publishedFile:
				_, err = ReadUnpublished(w.dir)
			case issuedFile:
				_, err = Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Who: "alice"})
			default:
				err = w.compileError(w.options())
			}
			if !IsRefused(err, c.reason) || !contains([]byte(err.Error()), c.words) {
				t.Errorf("got %v", err)
			}
		})
	}
}
