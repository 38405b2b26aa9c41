package compiler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// PKI-4: keys travel in bundles alone, so that who has no certificate on a node
// is served by nobody there until the machine enrols anew.
func TestDueBundlesAreOfNodesWherePrincipalsHaveNoCertificate(t *testing.T) {
	t.Parallel()
	laptop := []string{"node laptop", "user alice", "user fyodor"}
	tests := []struct {
		name   string
		change func(*testing.T, *world)
		want   *DueBundle
	}{
		{"nothing was ever issued", func(*testing.T, *world) {}, &DueBundle{"laptop", laptop, true}},
		{"a bundle was issued", issued, nil},
		{"another node's bundle was issued", func(t *testing.T, w *world) { w.mustIssue(t, "alpha") }, &DueBundle{"laptop", laptop, true}},
		{"a user came to the node", func(t *testing.T, w *world) {
			issued(t, w)
			w.write("bob.yaml", "users: {bob: {nodes: [{at: laptop, socks5_proxy: 127.0.0.1:1099}]}}\n")
		}, &DueBundle{"laptop", []string{"user bob"}, false}},
		{"the new user has a certificate that was issued by itself", func(t *testing.T, w *world) {
			issued(t, w)
			w.write("bob.yaml", "users: {bob: {nodes: [{at: laptop, socks5_proxy: 127.0.0.1:1099}]}}\n")
			log(t, w, Issued{Kind: "user", Name: "bob", Serial: "1", Fingerprint: "f", NotAfter: w.now.Add(time.Hour)})
		}, nil},
		{"everything has expired", func(t *testing.T, w *world) {
			issued(t, w)
			w.now = w.now.Add(90 * 24 * time.Hour)
		}, &DueBundle{"laptop", laptop, false}},
		{"a certificate was revoked", func(t *testing.T, w *world) {
			issued(t, w)
			if _, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Who: "user/alice"}); err != nil {
				t.Fatal(err)
			}
		}, &DueBundle{"laptop", []string{"user alice"}, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.compile()
			tt.change(t, w)
			if diff := cmp.Diff(tt.want, w.due(t, "laptop")); diff != "" {
				t.Errorf("due for laptop (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDueBundlesAreNotGuessedFromADamagedLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	source, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	w.write(issuedFile, "{\n")
	if _, err := DueBundles(w.dir, source.View, w.now); !IsRefused(err, ReasonRecordDamaged) {
		t.Errorf("got %v, want %s", err, ReasonRecordDamaged)
	}
}

func issued(t *testing.T, w *world) { w.mustIssue(t, "laptop") }

func (w *world) mustIssue(t *testing.T, node string) {
	t.Helper()
	if _, err := w.issue(node); err != nil {
		t.Fatal(err)
	}
}

func log(t *testing.T, w *world, entry Issued) {
	t.Helper()
	if err := LogIssued(w.dir, entry); err != nil {
		t.Fatal(err)
	}
}

// due is what is due for one node, nil for nothing.
func (w *world) due(t *testing.T, node string) *DueBundle {
	t.Helper()
	source, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	all, err := DueBundles(w.dir, source.View, w.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.Node == node {
			return &d
		}
	}
	return nil
}
