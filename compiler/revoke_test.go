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
		{"the end of a name", "lice", "", nil},
		{"the beginning of an ID", "spiffe://rete-lovers/user/al", "", nil},
		{"the beginning of a serial", alice.Serial[:8], "", nil},
		{"the beginning of a fingerprint", alice.Fingerprint[:32], "", nil},
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

// PKI-6: all of a machine is recorded, once and in order of issuance, and vertices
// get it sorted, each certificate once.
func TestAllThatAMachineHadIsRevokedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	var issued []Issued
	for range 3 {
		e, err := w.issue("laptop")
		if err != nil {
			t.Fatal(err)
		}
		issued = append(issued, e.Issued...)
	}
	dry, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Node: "laptop", DryRun: true})
	if err != nil || len(dry) != len(issued) {
		t.Errorf("%d would be revoked, want %d, error %v", len(dry), len(issued), err)
	}
	if _, written := w.snapshot()[revokedFile]; written {
		t.Error("a dry run wrote")
	}
	if _, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Node: "laptop"}); err != nil {
		t.Fatal(err)
	}
	recorded, err := readRevoked(w.fsys())
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, r := range recorded {
		got = append(got, r.Fingerprint)
	}
	for _, i := range issued {
		want = append(want, i.Fingerprint)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recorded (-issued +recorded):\n%s", diff)
	}
	w.write(revokedFile, w.read(revokedFile)+w.read(revokedFile)) // as a merge of two branches may leave it
	slices.Sort(want)
	for _, n := range w.project() {
		if diff := cmp.Diff(want, n.Vertex.Revoked); diff != "" {
			t.Errorf("vertex of %s (-want +got):\n%s", n.Node, diff)
		}
	}
}

// A signer is no principal of a vertex: who would revoke one is told the way that
// there is (ENV-12).
func TestASignerIsNotRevokedButRotated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range []string{"management-plane", "control-plane"} {
		if err := LogIssued(w.dir, Issued{At: w.now, Kind: kind, Name: kind + "-key", Serial: "1", NotAfter: w.now.Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		_, err := Revoke(RevokeOptions{Dir: w.dir, Now: w.now, Who: kind + "-key"})
		if !IsRefused(err, ReasonNothingToRevoke) || !strings.Contains(err.Error(), "ca rotate-signer") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, written := w.snapshot()[revokedFile]; written {
		t.Error("something was revoked")
	}
}

// A fingerprint that no certificate has would make every vertex refuse its set.
func TestAFingerprintThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for name, sum := range map[string]string{
		"nothing":    "",
		"no hex":     strings.Repeat("xy", 32),
		"too short":  strings.Repeat("ab", 31),
		"too long":   strings.Repeat("ab", 33),
		"upper case": strings.Repeat("AB", 32),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(revokedFile, `{"at":"2026-01-01T00:00:00Z","kind":"user","name":"alice","serial":"1","fingerprint":"`+sum+`","not_after":"2099-01-01T00:00:00Z"}`+"\n")
			if _, err := Load(w.source()); !IsRefused(err, ReasonRecordDamaged) {
				t.Errorf("got %v", err)
			}
		})
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
