package compiler

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/bundle"
	"github.com/florete/flor/store/identity"
)

func (w *world) issue(node string) (*Enrolment, error) {
	return Issue(context.Background(), IssueOptions{
		SourceOptions: w.source(),
		Node:          node,
		Signer:        w.choose,
		Authority:     func(*View) (*ca.Authority, error) { return w.authority, nil },
	})
}

// PKI-4, BND-1: the bundle is one that enrolment takes, with a certificate for
// each principal of the node and no other.
func TestIssueMakesABundleThatEnrolmentTakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	e, err := w.issue("laptop")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Read(bytes.NewReader(e.Bundle), w.now)
	if err != nil {
		t.Fatal(err)
	}
	if b.Node != "laptop" || b.SetVersion != 1 || e.Version != 1 || b.TrustDomain != loversTD {
		t.Errorf("bundle of %s, %s, version %d; issued as %d", b.TrustDomain, b.Node, b.SetVersion, e.Version)
	}
	var names []string
	for _, issued := range e.Issued {
		names = append(names, issued.Kind+" "+issued.Name)
		if issued.Node != "laptop" {
			t.Errorf("%s is logged for node %q", issued.Name, issued.Node)
		}
		if want := w.now.Add(90 * 24 * time.Hour); !issued.NotAfter.Equal(want) {
			t.Errorf("%s is valid until %v, want %v", issued.Name, issued.NotAfter, want)
		}
	}
	if diff := cmp.Diff([]string{"node laptop", "user alice", "user fyodor"}, names); diff != "" {
		t.Errorf("issued (-want +got):\n%s", diff)
	}
}

// PKI-4: the audit trail describes the very certificates that the bundle holds,
// as openssl and a vertex would, and two bundles share no key.
func TestTheLogDescribesWhatIsInTheBundle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	keys := map[string]bool{}
	for range 2 {
		e, err := w.issue("laptop")
		if err != nil {
			t.Fatal(err)
		}
		var logged []string
		for _, i := range e.Issued {
			logged = append(logged, fmt.Sprint(i.Serial, i.Fingerprint, i.NotBefore, i.NotAfter))
		}
		var packed []string
		for _, cert := range certificatesIn(t, e.Bundle) {
			if cert.IsCA || len(cert.ExtKeyUsage) == 0 { // the root, or the signer
				continue
			}
			packed = append(packed, fmt.Sprint(cert.SerialNumber.Text(16), fmt.Sprintf("%x", sha256.Sum256(cert.Raw)), cert.NotBefore, cert.NotAfter))
			keys[string(cert.RawSubjectPublicKeyInfo)] = true
		}
		slices.Sort(logged)
		slices.Sort(packed)
		if diff := cmp.Diff(packed, logged); diff != "" {
			t.Errorf("log (-packed +logged):\n%s", diff)
		}
	}
	if len(keys) != 6 {
		t.Errorf("two bundles of three principals have %d keys, want 6", len(keys))
	}
}

// certificatesIn finds the certificates of a plain bundle.
func certificatesIn(t *testing.T, text []byte) (found []*x509.Certificate) {
	t.Helper()
	for _, part := range bytes.SplitAfter(text, []byte("-----END CERTIFICATE-----\n")) {
		begin := bytes.LastIndex(part, []byte("-----BEGIN CERTIFICATE-----")) // an archive has no line breaks before it
		if begin < 0 {
			continue
		}
		block, _ := pem.Decode(part[begin:])
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, cert)
	}
	return found
}

// PKI-4: how long the certificates live may be said; less than nothing is refused,
// and nothing is logged then.
func TestABundleLivesAsLongAsIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	issue := func(validity time.Duration) (*Enrolment, error) {
		return Issue(t.Context(), IssueOptions{
			SourceOptions: w.source(), Node: "alpha", Signer: w.choose, Validity: validity,
			Authority: func(*View) (*ca.Authority, error) { return w.authority, nil },
		})
	}
	var refusal *ca.Refusal
	if _, err := issue(-time.Hour); !errors.As(err, &refusal) || refusal.Reason != ca.ReasonValidityUnsuitable {
		t.Errorf("got %v", err)
	}
	if _, logged := w.snapshot()[issuedFile]; logged {
		t.Error("something was logged")
	}
	e, err := issue(36 * time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range e.Issued {
		if want := w.now.Add(36 * time.Hour); !i.NotAfter.Equal(want) {
			t.Errorf("%s is valid until %v, want %v", i.Name, i.NotAfter, want)
		}
	}
}

// PKI-4: what could not be logged is handed to nobody.
func TestWithoutALogThereIsNoBundle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	w.write(issuedFile+"/in-the-way", "")
	if e, err := w.issue("laptop"); err == nil || e != nil {
		t.Errorf("got a bundle: %t, error %v", e != nil, err)
	}
}

// PKI-4: everything issued is in the audit trail, and nothing ever leaves it.
func TestTheIssuanceLogOnlyGrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.compile()
	var want []Issued
	for _, node := range []string{"laptop", "alpha", "laptop"} {
		e, err := w.issue(node)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e.Issued...)
	}
	var got []Issued
	for line := range strings.Lines(w.read(issuedFile)) {
		var entry Issued
		if err := json.Unmarshal([]byte(line), &entry, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, entry)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-issued +logged):\n%s", diff)
	}
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		compile bool
		change  func(*world)
		node    string
		want    Reason
	}{
		{"a tree that is not compiled", false, func(*world) {}, "alpha", ReasonTreeStale},
		{"YAML that moved on", true, func(w *world) { w.edit("nodes.yaml", "5.6.7.8", "5.6.7.9") }, "beta", ReasonTreeStale},
		{"a tree edited by hand", true, func(w *world) { w.edit(".flor/compiled/alpha/mgmt/agent.json", "flor", "fl0r") }, "beta", ReasonTreeStale},
		{"a node that left, and is in the tree", true, (*world).addNodeAndForgetIt, "alpha", ReasonTreeStale},
		{"a node that is none", true, func(*world) {}, "gamma", ReasonUnknownNode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tt.compile {
				w.compile()
			}
			tt.change(w)
			if _, err := w.issue(tt.node); !IsRefused(err, tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if _, logged := w.snapshot()[issuedFile]; logged {
				t.Error("something was logged")
			}
		})
	}
}

// addNodeAndForgetIt leaves a node in the tree that the source has no more, and
// nothing else to compile.
func (w *world) addNodeAndForgetIt() {
	w.t.Helper()
	before := w.read("nodes.yaml")
	w.edit("nodes.yaml", "nodes:\n", "nodes:\n  phone: {vertices: [{name: quic, kind: link, type: quic}]}\n")
	w.compile()
	w.write("nodes.yaml", before)
	w.edit("nodes.yaml", "nodes:\n", "nodes:\n  # no phone\n")
}

// Whoever misnames a node reads which ones there are.
func TestANodeThatIsNoneIsAnsweredWithThoseThereAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, want := range map[string]string{
		"gamma": "; name one of alpha, beta, laptop, mgmt01",
		"alhpa": `; did you mean "alpha"?`,
	} {
		if _, err := w.issue(name); !IsRefused(err, ReasonUnknownNode) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("node %s: got %v, want it to end in %q", name, err, want)
		}
	}
}

// The certificates of a bundle are what the store takes for each principal.
func TestIssuedCertificatesSuitTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for kind, name := range map[schema.Kind]string{
		schema.KindUser: "alice", schema.KindNode: "alpha", schema.KindService: "alpha/ssh",
	} {
		id, err := PrincipalID(loversTD, kind, name)
		if err != nil {
			t.Fatal(err)
		}
		svid, err := newSVID(w.authority, id, time.Hour, w.now)
		if err != nil {
			t.Fatal(err)
		}
		if err := identity.CheckLeaf(svid.Certificates[0], w.authority.Certificate(), id, w.now); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := PrincipalID(loversTD, "robot", "r2"); err == nil {
		t.Error("a kind that is none has an ID")
	}
}
