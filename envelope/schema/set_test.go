package schema_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/google/go-cmp/cmp"
)

var opaque = map[string]string{"schema_version": "1.0"}

func wantReason(t testing.TB, err error, want schema.Reason) {
	t.Helper()
	var incoherent *schema.SetError
	switch {
	case want == "" && err != nil:
		t.Fatalf("refused: %v", err)
	case want == "":
	case !errors.As(err, &incoherent) || incoherent.Reason != want:
		t.Fatalf("refused with %v, want reason %s", err, want)
	}
}

func wantRefusal(t testing.TB, err error, want envelope.Reason) {
	t.Helper()
	var refusal *envelope.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != want {
		t.Fatalf("refused with %v, want reason %s", err, want)
	}
}

func TestVerifySetOrdersItsMembers(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	texts := ca.Set(primary, "alpha", 42, envelopetest.Member{Name: "wire", Payload: opaque}, envelopetest.Member{Name: "relay", Payload: opaque})
	slices.Reverse(texts)
	set, err := schema.VerifySet(ca.Held(envelopetest.Block(primary)), "alpha", texts, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{set.Node, fmt.Sprint(set.Version), set.Agent.Workloads[1].Name}
	for _, m := range set.Members {
		got = append(got, m.Core().Name)
	}
	if diff := cmp.Diff([]string{"alpha", "42", "relay", "agent", "wire", "relay"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(envelopetest.Block(primary), set.Trust.Block()); diff != "" {
		t.Error(diff)
	}
	relay, ok := set.Member("relay")
	if !ok || !bytes.Equal(relay.Raw(), texts[0]) {
		t.Errorf("member relay is %s", relay.Raw())
	}
	if m, ok := set.Member("mesh"); ok {
		t.Errorf("member mesh is %s", m.Raw())
	}
}

// TestSetsThatAreNotCoherent has each condition of ENV-18 broken alone, on the
// way from bytes and among verified members.
func TestSetsThatAreNotCoherent(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary, spare, mesh := ca.Signer("primary"), ca.Signer("spare"), ca.CtrlSigner("mesh")
	block := envelopetest.Block(primary, spare)
	block.Ctrl = []envelope.Entry{mesh.Entry()}
	trust, err := ca.Anchor().TrustSet(block)
	if err != nil {
		t.Fatal(err)
	}
	root := func(change func(*schema.Agent), workloads ...string) []byte {
		payload := ca.AgentPayload("alpha", block, workloads...)
		change(payload)
		return primary.Sign("alpha", "agent", 42, payload)
	}
	asIs := func(*schema.Agent) {}
	foreign := func(path string) string { return "spiffe://rete-haters" + path }
	good, wire := root(asIs, "wire"), primary.Sign("alpha", "wire", 42, opaque)
	many := func(n int) [][]byte {
		texts := [][]byte{good}
		for len(texts) < n {
			texts = append(texts, wire)
		}
		return texts
	}
	tests := map[string]struct {
		texts [][]byte
		want  schema.Reason
	}{
		"a coherent set":              {[][]byte{wire, good}, ""},
		"a root alone":                {[][]byte{root(asIs)}, ""},
		"no members":                  {nil, schema.NoRoot},
		"no root":                     {[][]byte{wire}, schema.NoRoot},
		"a root in capitals":          {[][]byte{primary.Sign("alpha", "Agent", 42, ca.AgentPayload("alpha", block)), wire}, schema.NoRoot},
		"two roots":                   {[][]byte{good, wire, good}, schema.TwoRoots},
		"a root and one in capitals":  {[][]byte{good, wire, primary.Sign("alpha", "AGENT", 42, opaque)}, schema.DuplicateMember},
		"a member of plane ctrl":      {[][]byte{good, mesh.SignDraft(envelope.Draft{Plane: envelope.Ctrl, ObeysMgmtVersion: 42, Version: 42, Node: "alpha", Name: "wire", Payload: opaque})}, schema.WrongPlane},
		"a member for another node":   {[][]byte{good, primary.Sign("beta", "wire", 42, opaque)}, schema.WrongNode},
		"a node in another case":      {[][]byte{good, primary.Sign("Alpha", "wire", 42, opaque)}, schema.WrongNode},
		"another version":             {[][]byte{good, primary.Sign("alpha", "wire", 41, opaque)}, schema.WrongVersion},
		"a member twice":              {[][]byte{good, wire, wire}, schema.DuplicateMember},
		"a member twice by case":      {[][]byte{good, wire, primary.Sign("alpha", "Wire", 42, opaque)}, schema.DuplicateMember},
		"a member missing":            {[][]byte{root(asIs, "wire", "relay"), wire}, schema.MissingMember},
		"a member in another case":    {[][]byte{good, primary.Sign("alpha", "Wire", 42, opaque)}, schema.MissingMember},
		"a member that is not listed": {[][]byte{good, wire, primary.Sign("alpha", "relay", 42, opaque)}, schema.UnlistedMember},
		"another signer":              {[][]byte{good, spare.Sign("alpha", "wire", 42, opaque)}, schema.MixedSigners},
		"a foreign inbound": {[][]byte{root(func(a *schema.Agent) {
			a.Inbounds = append(a.Inbounds, schema.Inbound{Principal: foreign("/user/eve"), Via: schema.InboundVia{Kind: "socks5", Addr: "127.0.0.1:9"}})
		})}, schema.ForeignID},
		"a foreign coordinator": {[][]byte{root(func(a *schema.Agent) { a.Sync.Coordinator = foreign("/service/coordinator") })}, schema.ForeignID},
		"a foreign syncer": {[][]byte{root(func(a *schema.Agent) {
			a.Sync.Principal = foreign("/node/alpha")
			a.Inbounds[0].Principal = a.Sync.Principal
		})}, schema.ForeignID},
		"257 members": {many(257), schema.TooManyMembers},
		"256 members": {many(256), schema.DuplicateMember},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := schema.VerifySet(ca.Held(block), "alpha", tc.texts, time.Now())
			wantReason(t, err, tc.want)
			if (set == nil) != (err != nil) {
				t.Errorf("set %v with error %v", set, err)
			}
			var members []envelope.Verified
			for _, text := range tc.texts {
				m, err := trust.Verify(text)
				if err != nil {
					t.Fatal(err)
				}
				members = append(members, m)
			}
			agent, err := schema.CheckSet(ca.TrustDomain, "alpha", members)
			wantReason(t, err, tc.want)
			if (agent == nil) != (err != nil) {
				t.Errorf("payload %v with error %v", agent, err)
			}
		})
	}
}

func TestCheckSetReadsTheRoot(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	trust, err := ca.Anchor().TrustSet(envelopetest.Block(primary))
	if err != nil {
		t.Fatal(err)
	}
	root, err := trust.Verify(primary.Sign("alpha", "agent", 42, opaque))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := schema.CheckSet(ca.TrustDomain, "alpha", []envelope.Verified{root})
	wantReason(t, err, schema.RootUnread)
	if agent != nil {
		t.Error("a root that is refused yields a payload")
	}
	var payload *schema.PayloadError
	if !errors.As(err, &payload) {
		t.Errorf("%v does not tell the faults", err)
	}
}

func TestCheckSetOfNothingVerified(t *testing.T) {
	t.Parallel()
	_, err := schema.CheckSet(td, "alpha", make([]envelope.Verified, 2))
	wantReason(t, err, schema.NoRoot)
	if diff := cmp.Diff("FL1202 no-root: none of 2 members is named agent", err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestCheckSetOfAnotherTrustDomain(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-haters")
	primary := ca.Signer("primary")
	trust, err := ca.Anchor().TrustSet(envelopetest.Block(primary))
	if err != nil {
		t.Fatal(err)
	}
	root, err := trust.Verify(ca.Set(primary, "alpha", 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = schema.CheckSet(td, "alpha", []envelope.Verified{root})
	wantReason(t, err, schema.ForeignID)
}

// TestVerifySetRefuses what is wrong before a set could be coherent.
func TestVerifySetRefuses(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary, spare := ca.Signer("primary"), ca.Signer("spare")
	held := ca.Held(envelopetest.Block(primary))
	good := ca.Set(primary, "alpha", 42, envelopetest.Member{Name: "wire", Payload: opaque})
	unlisted := primary.Sign("alpha", "agent", 42, ca.AgentPayload("alpha", envelopetest.Block(primary), "wire"))
	newer := primary.Sign("alpha", "agent", 42, map[string]any{"schema_version": "1.1", "trust": []int{}})
	tests := map[string]struct {
		texts [][]byte
		want  envelope.Reason
	}{
		"a member that does not route":      {[][]byte{good[0], []byte("{}")}, envelope.MissingMember},
		"a member that is cut":              {[][]byte{good[0], good[1][1:]}, envelope.NotJSON},
		"a root that was altered":           {[][]byte{bytes.Replace(good[0], []byte("127.0.0.1"), []byte("127.0.0.2"), 1), good[1]}, envelope.BadSignature},
		"a member that was altered":         {[][]byte{good[0], bytes.Replace(good[1], []byte(`"payload"`), []byte(`"payload":1,"x"`), 1)}, envelope.UnknownMember},
		"a member's version altered":        {[][]byte{good[0], bytes.Replace(good[1], []byte(`42`), []byte(`43`), 1)}, envelope.BadSignature},
		"a member by a signer who is gone":  {[][]byte{unlisted, spare.Sign("alpha", "wire", 42, opaque)}, envelope.UnknownKeyID},
		"a root that is no agent payload":   {[][]byte{primary.Sign("alpha", "agent", 42, opaque)}, envelope.BadRootPayload},
		"a root of a newer payload":         {[][]byte{newer}, envelope.SchemaTooNew},
		"a newer payload that cannot parse": {[][]byte{bytes.Replace(newer, []byte(`"trust": []`), []byte(`"trust": -0`), 1)}, envelope.SchemaTooNew},
		"a newer payload that was altered":  {[][]byte{bytes.Replace(newer, []byte(`"version": 42`), []byte(`"version": 43`), 1)}, envelope.BadSignature},
		"the same of this version":          {[][]byte{bytes.Replace(bytes.Replace(newer, []byte(`"trust": []`), []byte(`"trust": -0`), 1), []byte("1.1"), []byte("1.0"), 1)}, envelope.InexactNumber},
		"a member of a newer envelope":      {[][]byte{good[0], bytes.Replace(good[1], []byte("1.0"), []byte("1.1"), 1)}, envelope.SchemaTooNew},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.VerifySet(held, "alpha", tc.texts, time.Now())
			wantRefusal(t, err, tc.want)
		})
	}
	t.Run("an expired signer", func(t *testing.T) {
		t.Parallel()
		_, err := schema.VerifySet(held, "alpha", good, primary.Cert.NotAfter.Add(time.Second))
		wantRefusal(t, err, envelope.SignerExpired)
	})
	t.Run("another CA of the same name", func(t *testing.T) {
		t.Parallel()
		stranger := envelope.Held{Anchor: envelopetest.NewAuthority("rete-lovers").Anchor()}
		_, err := schema.VerifySet(stranger, "alpha", good, time.Now())
		wantRefusal(t, err, envelope.BadSignerCert)
	})
}

// TestRotationOfASet: the block of an admitted set is the one that counts, and
// members are verified by the new root's signer (ENV-12).
func TestRotationOfASet(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	first, second := ca.Signer("first"), ca.Signer("second")
	held := ca.Held(envelopetest.Block(first))
	set, err := schema.VerifySet(held, "alpha", ca.Set(second, "alpha", 2, envelopetest.Member{Name: "wire", Payload: opaque}), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	held = held.Adopt(set.Trust)
	if diff := cmp.Diff([]string{first.Entry().Pubkey}, held.Retired); diff != "" {
		t.Error(diff)
	}
	_, err = schema.VerifySet(held, "alpha", ca.Set(first, "alpha", 3), time.Now())
	wantRefusal(t, err, envelope.SignerRetired)
}
