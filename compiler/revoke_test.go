package compiler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// revoked is what Revoke chose, in short.
func revokedNames(list []Revoked) []string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Kind + " " + r.Name + " " + r.Node
	}
	return names
}

// PKI-6: which certificates a word means.
func TestRevokeChoosesFromTheIssuanceLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	for _, node := range []string{"laptop", "alpha"} {
		if _, err := w.issue(node); err != nil {
			t.Fatal(err)
		}
	}
	issued, err := readIssued(w.fsys())
	if err != nil {
		t.Fatal(err)
	}
	alice := issued[slices.IndexFunc(issued, func(i Issued) bool { return i.Name == "alice" })]
	tests := []struct {
		name, who, node string
		want            []string
	}{
		{"a principal by name", "alice", "", []string{"user alice laptop"}},
		{"by kind and name", "user/alice", "", []string{"user alice laptop"}},
		{"by SPIFFE ID", "spiffe://rete-lovers/user/alice", "", []string{"user alice laptop"}},
		{"by serial", alice.Serial, "", []string{"user alice laptop"}},
		{"by serial as openssl writes it", "00" + strings.ToUpper(alice.Serial), "", []string{"user alice laptop"}},
		{"by fingerprint", alice.Fingerprint, "", []string{"user alice laptop"}},
		{"a service of node scope", "alpha/ssh", "", []string{"service alpha/ssh alpha"}},
		{"all of a machine", "", "laptop", []string{"node laptop laptop", "user alice laptop", "user fyodor laptop"}},
		{"a principal on another machine", "alice", "alpha", nil},
		{"of another kind", "service/alice", "", nil},
		{"nobody", "bob", "", nil},
		{"nothing said", "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := RevokeOptions{Now: w.now, Who: tt.who, Node: tt.node}.choose(issued, nil)
			if diff := cmp.Diff(tt.want, revokedNames(got)); diff != "" && len(tt.want)+len(got) > 0 {
				t.Errorf("revoked (-want +got):\n%s", diff)
			}
			if IsRefused(err, ReasonNothingToRevoke) != (len(tt.want) == 0) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// PKI-6: what was revoked reaches every vertex until it has expired by itself.
func TestRevokedCertificatesReachEveryVertexUntilTheyExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	e, err := w.issue("laptop")
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Who: "alice"})
	if err != nil || len(revoked) != 1 {
		t.Fatalf("revoked %v, error %v", revoked, err)
	}
	want := e.Issued[slices.IndexFunc(e.Issued, func(i Issued) bool { return i.Name == "alice" })].Fingerprint
	for _, n := range w.project() {
		if diff := cmp.Diff([]string{want}, n.Vertex.Revoked); diff != "" {
			t.Errorf("vertex of %s (-want +got):\n%s", n.Node, diff)
		}
	}
	if got := len(w.compile().Changes); got != 4 {
		t.Errorf("%d nodes move, want all 4", got)
	}
	if _, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Who: "alice"}); !IsRefused(err, ReasonNothingToRevoke) {
		t.Errorf("revoked twice: %v", err)
	}
	w.now = w.now.Add(91 * 24 * time.Hour)
	for _, n := range w.project() {
		if len(n.Vertex.Revoked) != 0 {
			t.Errorf("the vertex of %s still has %v, which expired", n.Node, n.Vertex.Revoked)
		}
	}
	if _, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Who: "fyodor"}); !IsRefused(err, ReasonNothingToRevoke) {
		t.Errorf("revoked what has expired: %v", err)
	}
}

// The audit trail is not guessed at.
func TestALogThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"half a line":     `{"at":"2026-01-01T00:00:00Z","kind":"us`,
		"an unknown word": `{"at":"2026-01-01T00:00:00Z","why":"because"}`,
		"no object":       `null 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, file := range []string{issuedFile, revokedFile} {
				w := newWorld(t)
				w.write(file, "\n"+line+"\n")
				_, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Who: "alice"})
				if !IsRefused(err, ReasonRecordDamaged) || !strings.Contains(err.Error(), file+":2") {
					t.Errorf("%s: got %v", file, err)
				}
			}
		})
	}
}
