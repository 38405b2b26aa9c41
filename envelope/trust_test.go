package envelope_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

func TestTrustBlocksThatAreValid(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	other := envelope.Block{
		Mgmt: []envelope.Entry{ca.Signer("primary").Entry()},
		Ctrl: []envelope.Entry{ca.CtrlSigner("mesh").Entry(), ca.CtrlSigner("primary").Entry()},
	}
	tests := map[string]envelope.Block{
		"one signer":                    envelopetest.Block(ca.Signer("primary")),
		"two signers":                   envelopetest.Block(ca.Signer("primary"), ca.Signer("spare")),
		"ctrl signers":                  other,
		"an expired certificate":        envelopetest.Block(ca.Signer("primary", envelopetest.Valid(time.Now().Add(-4*time.Minute), time.Now().Add(-time.Minute)))),
		"an older window than the CA's": envelopetest.Block(ca.Signer("primary", envelopetest.Valid(time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))),
		"a certificate to become":       envelopetest.Block(ca.Signer("primary", envelopetest.NotYetValid)),
	}
	for name, block := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := ca.Anchor().TrustSet(block)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(block, set.Block()); diff != "" {
				t.Error(diff)
			}
			if got, want := len(set.Keys()), len(block.Mgmt)+len(block.Ctrl); got != want {
				t.Errorf("%d keys, want %d", got, want)
			}
		})
	}
}

// TestTrustBlocksThatAreRefused has each condition of ENV-10 broken alone.
func TestTrustBlocksThatAreRefused(t *testing.T) {
	t.Parallel()
	ca, foreign := envelopetest.NewAuthority("rete-lovers"), envelopetest.NewAuthority("rete-haters")
	impostor := envelopetest.NewAuthority("rete-lovers")
	good := ca.Signer("primary")
	id := func(path string) spiffeid.ID { return spiffeid.RequireFromPath(ca.TrustDomain, path) }
	signer := func(changes ...envelopetest.Change) envelope.Entry { return ca.Signer("x", changes...).Entry() }
	altered := func(change func(*envelope.Entry)) envelope.Entry {
		e := good.Entry()
		change(&e)
		return e
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecdsaCert := base64.StdEncoding.EncodeToString(ca.IssueFor(id("/management-plane/x"), ec).Cert.Raw)
	tests := map[string]struct {
		entry envelope.Entry
		want  envelope.Reason
	}{
		"no ID":                         {altered(func(e *envelope.Entry) { e.SPIFFEID = "" }), envelope.BadSignerID},
		"an ID that is none":            {altered(func(e *envelope.Entry) { e.SPIFFEID = "primary" }), envelope.BadSignerID},
		"an ID in capitals":             {altered(func(e *envelope.Entry) { e.SPIFFEID = "SPIFFE" + e.SPIFFEID[6:] }), envelope.BadSignerID},
		"an ID of another trust domain": {foreign.Signer("primary").Entry(), envelope.BadSignerID},
		"a user":                        {ca.Issue(id("/user/eve")).Entry(), envelope.BadSignerID},
		"a control plane among mgmt":    {ca.CtrlSigner("x").Entry(), envelope.BadSignerID},
		"a management plane of two":     {ca.Issue(id("/management-plane/a/b")).Entry(), envelope.BadSignerID},
		"the management plane itself":   {ca.Issue(id("/management-plane")).Entry(), envelope.BadSignerID},
		"no pubkey":                     {altered(func(e *envelope.Entry) { e.Pubkey = "" }), envelope.BadSignerKey},
		"a short pubkey":                {altered(func(e *envelope.Entry) { e.Pubkey = "AAAA" }), envelope.BadSignerKey},
		"a pubkey without padding":      {altered(func(e *envelope.Entry) { e.Pubkey = strings.TrimRight(e.Pubkey, "=") }), envelope.BadSignerKey},
		"a pubkey with a line break":    {altered(func(e *envelope.Entry) { e.Pubkey = e.Pubkey[:4] + "\n" + e.Pubkey[4:] }), envelope.BadSignerKey},
		"a pubkey spelled otherwise":    {altered(func(e *envelope.Entry) { e.Pubkey = respelled(e.Pubkey) }), envelope.BadSignerKey},
		"a bare key":                    {altered(func(e *envelope.Entry) { e.Cert = "" }), envelope.BadSignerCert},
		"a cert that is not base64":     {altered(func(e *envelope.Entry) { e.Cert = "*" + e.Cert[1:] }), envelope.BadSignerCert},
		"a cert that is none":           {altered(func(e *envelope.Entry) { e.Cert = "AAAA" }), envelope.BadSignerCert},
		"a cert with a tail":            {altered(func(e *envelope.Entry) { e.Cert = withTail(e.Cert) }), envelope.BadSignerCert},
		"another key than the cert's":   {altered(func(e *envelope.Entry) { e.Pubkey = ca.Signer("x").Entry().Pubkey }), envelope.BadSignerCert},
		"another ID than the cert's":    {altered(func(e *envelope.Entry) { e.SPIFFEID += "x" }), envelope.BadSignerCert},
		"a cert of an ECDSA key":        {altered(func(e *envelope.Entry) { e.SPIFFEID, e.Cert = id("/management-plane/x").String(), ecdsaCert }), envelope.BadSignerCert},
		"a cert by another CA":          {impostor.Signer("x").Entry(), envelope.BadSignerCert},
		"a CA's certificate":            {signer(envelopetest.AsCA), envelope.BadSignerCert},
		"no digitalSignature":           {signer(envelopetest.KeyUsage(x509.KeyUsageKeyAgreement)), envelope.BadSignerCert},
		"an extended key usage":         {signer(envelopetest.Usages(x509.ExtKeyUsageClientAuth)), envelope.BadSignerCert},
		"any extended key usage":        {signer(envelopetest.Usages(x509.ExtKeyUsageAny)), envelope.BadSignerCert},
		"a window before the CA's":      {signer(envelopetest.Valid(time.Unix(0, 0), time.Unix(1, 0))), envelope.BadSignerCert},
		"a duplicate of ID and key":     {good.Entry(), envelope.DuplicateSigner},
		"a duplicate of the ID alone":   {ca.Signer("primary").Entry(), envelope.DuplicateSigner},
		"a duplicate of the key alone":  {ca.IssueFor(id("/management-plane/x"), good.Key).Entry(), envelope.DuplicateSigner},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ca.Anchor().TrustSet(envelope.Block{Mgmt: []envelope.Entry{good.Entry(), tc.entry}})
			wantReason(t, err, tc.want)
		})
	}
}

// TestCertificatesOfTwoSANs: NewEntry makes no entry of them, so the tests
// above could not.
func TestCertificatesOfTwoSANs(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	good := ca.Signer("primary")
	other := spiffeid.RequireFromPath(ca.TrustDomain, "/management-plane/other")
	for name, change := range map[string]envelopetest.Change{
		"two SANs":        envelopetest.SANs(good.ID, other),
		"no SAN":          envelopetest.SANs(),
		"somebody else's": envelopetest.SANs(other),
		"no SPIFFE ID":    envelopetest.URIs("https://rete-lovers/management-plane/primary"),
		"a query":         envelopetest.URIs(good.ID.String() + "?x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cert := ca.IssueFor(good.ID, good.Key, change).Cert
			entry := good.Entry()
			entry.Cert = base64.StdEncoding.EncodeToString(cert.Raw)
			_, err := ca.Anchor().TrustSet(envelope.Block{Mgmt: []envelope.Entry{entry}})
			wantReason(t, err, envelope.BadSignerCert)
			if made, err := envelope.NewEntry(cert); err == nil && made.SPIFFEID == good.ID.String() {
				t.Error("NewEntry took the certificate")
			}
		})
	}
}

func TestBlocksThatAreRefusedWhole(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary, mesh := ca.Signer("primary"), ca.CtrlSigner("mesh")
	sameKey := ca.IssueFor(mesh.ID, primary.Key)
	tests := map[string]struct {
		block envelope.Block
		want  envelope.Reason
	}{
		"an empty block":                {envelope.Block{}, envelope.NoMgmtSigner},
		"ctrl signers alone":            {envelope.Block{Ctrl: []envelope.Entry{mesh.Entry()}}, envelope.NoMgmtSigner},
		"a mgmt signer among ctrl":      {envelope.Block{Mgmt: []envelope.Entry{primary.Entry()}, Ctrl: []envelope.Entry{ca.Signer("x").Entry()}}, envelope.BadSignerID},
		"one key for both planes":       {envelope.Block{Mgmt: []envelope.Entry{primary.Entry()}, Ctrl: []envelope.Entry{sameKey.Entry()}}, envelope.DuplicateSigner},
		"one invalid ctrl entry of two": {envelope.Block{Mgmt: []envelope.Entry{primary.Entry()}, Ctrl: []envelope.Entry{mesh.Entry(), {}}}, envelope.BadSignerID},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ca.Anchor().TrustSet(tc.block)
			wantReason(t, err, tc.want)
		})
	}
}

func TestAnchorsThatVouchForNobody(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	primary := ca.Signer("primary")
	for name, anchor := range map[string]envelope.Anchor{
		"nothing":         {},
		"no CA":           {TrustDomain: ca.TrustDomain},
		"no trust domain": {CA: ca.CA},
		"a leaf as CA":    {TrustDomain: ca.TrustDomain, CA: primary.Cert},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := anchor.TrustSet(envelopetest.Block(primary))
			wantReason(t, err, envelope.BadAnchor)
		})
	}
}

func TestNewEntryRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := spiffeid.RequireFromPath(ca.TrustDomain, "/management-plane/x")
	_, err = envelope.NewEntry(ca.IssueFor(id, key).Cert)
	wantReason(t, err, envelope.BadSignerKey)
}

func TestTrustSetDoesNotChange(t *testing.T) {
	t.Parallel()
	ca := envelopetest.NewAuthority("rete-lovers")
	block := envelopetest.Block(ca.Signer("primary"))
	want := block.Mgmt[0]
	set, err := ca.Anchor().TrustSet(block)
	if err != nil {
		t.Fatal(err)
	}
	block.Mgmt[0] = envelope.Entry{}
	set.Block().Mgmt[0] = envelope.Entry{}
	if diff := cmp.Diff(want, set.Block().Mgmt[0]); diff != "" {
		t.Error(diff)
	}
}

// respelled sets a bit of the last character that decoding throws away.
func respelled(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.IndexByte(s, '=') - 1
	return s[:last] + string(alphabet[strings.IndexByte(alphabet, s[last])+1]) + s[last+1:]
}

func withTail(cert string) string {
	der, _ := base64.StdEncoding.DecodeString(cert)
	return base64.StdEncoding.EncodeToString(append(der, 0))
}
