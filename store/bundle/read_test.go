package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

func TestReadTellsWhatIsInIt(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	b, err := Read(bytes.NewReader(k.bake(t)), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{b.TrustDomain.Name(), b.Node, b.SignedBy.String(), b.Coordinator.String(), fmt.Sprint(b.SetVersion), fmt.Sprint(b.Signers), fmt.Sprint(b.Principals)}
	want := []string{"rete-lovers", "alpha", k.signer.ID.String(), "spiffe://rete-lovers/service/coordinator", "3",
		fmt.Sprint([]spiffeid.ID{k.signer.ID}), fmt.Sprint([]spiffeid.ID{alpha, service})}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bundle (-want +got):\n%s", diff)
	}
	if !b.CA.Equal(k.ca.CA) || len(b.Set.Members) != 2 {
		t.Errorf("CA equal: %v, members %d", b.CA.Equal(k.ca.CA), len(b.Set.Members))
	}
}

// TestEntriesComeInAnyOrder is BND-1: only the manifest has a place.
func TestEntriesComeInAnyOrder(t *testing.T) {
	t.Parallel()
	archive := newKitchen().spoil(t, func(r *recipe) { slices.Reverse(r.files) })
	if _, err := Read(bytes.NewReader(archive), time.Now()); err != nil {
		t.Error(err)
	}
}

// TestBundleCutShort is BND-1: cut anywhere, a bundle is refused as cut short.
func TestBundleCutShort(t *testing.T) {
	t.Parallel()
	archive := newKitchen().bake(t)
	cuts := []int{1, 511, 513, len(archive) - 1, len(archive) - 511}
	for at := 0; at < len(archive); at += blockSize {
		cuts = append(cuts, at)
	}
	for _, at := range cuts {
		_, err := Read(bytes.NewReader(archive[:at]), time.Now())
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Reason != CutShort {
			t.Errorf("cut at %d of %d: %v", at, len(archive), err)
		}
	}
	t.Logf("%d cuts tried", len(cuts))
}

// TestBundleWithAChangedByte is BND-1: one changed bit anywhere is refused. It
// tries one byte in each 32 and every byte of the first headers and of the end.
func TestBundleWithAChangedByte(t *testing.T) {
	t.Parallel()
	archive := newKitchen().bake(t)
	tried := 0
	for at := range archive {
		if at >= blockSize && at < len(archive)-blockSize && at%37 != 0 {
			continue
		}
		tried++
		changed := bytes.Clone(archive)
		changed[at] ^= 0x04
		_, err := Read(bytes.NewReader(changed), time.Now())
		if err == nil {
			if !endsChecksum(at) {
				t.Errorf("byte %d of %d changed and accepted", at, len(archive))
			}
		} else if !errors.As(err, new(*Refusal)) {
			t.Errorf("byte %d: %v is no refusal", at, err)
		}
	}
	t.Logf("%d bytes tried", tried)
}

// endsChecksum tells the two bytes behind the digits of a header's checksum,
// which tar does not read and the checksum does not cover.
func endsChecksum(at int) bool { return at%blockSize == 154 || at%blockSize == 155 }

// TestReadRefusesArchives are archives that no bundle is (BND-1).
func TestReadRefusesArchives(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	good := k.bake(t)
	first := func(change func(h *tar.Header)) []byte {
		return retar(t, good, func(i int, h *tar.Header, data []byte) (*tar.Header, []byte) {
			if i == 1 {
				change(h)
			}
			return h, data
		})
	}
	extra := func(h tar.Header, data string) []byte {
		h.Size = int64(len(data))
		return retar(t, good, func(i int, old *tar.Header, body []byte) (*tar.Header, []byte) {
			if i == 1 {
				return &h, []byte(data)
			}
			return old, body
		})
	}
	plain := func(name string) tar.Header {
		return tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: name, Mode: 0o600, ModTime: time.Unix(0, 0)}
	}
	cases := map[string]struct {
		archive []byte
		want    Reason
	}{
		"nothing":                   {nil, CutShort},
		"text":                      {[]byte(strings.Repeat("hello ", 512)), CutShort},
		"zeros":                     {make([]byte, 4096), BadManifest},
		"noise before zeros":        {append(bytes.Repeat([]byte{7}, 512), make([]byte, 1024)...), BadArchive},
		"content behind the end":    {append(bytes.Clone(good), append(bytes.Repeat([]byte{7}, 512), make([]byte, 1024)...)...), BadArchive},
		"another mode":              {first(func(h *tar.Header) { h.Mode = 0o644 }), BadEntry},
		"setuid":                    {first(func(h *tar.Header) { h.Mode = 0o4600 }), BadEntry},
		"another time":              {first(func(h *tar.Header) { h.ModTime = time.Unix(1, 0) }), BadEntry},
		"PAX format":                {first(func(h *tar.Header) { h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{"FLOR.x": "1"} }), BadArchive},
		"GNU format":                {first(func(h *tar.Header) { h.Format = tar.FormatGNU }), BadArchive},
		"a symbolic link":           {extra(tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeSymlink, Name: "identity/ca.crt", Linkname: "/etc/passwd", Mode: 0o600, ModTime: time.Unix(0, 0)}, ""), BadEntry},
		"a hard link":               {extra(tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeLink, Name: "identity/ca.crt", Linkname: "manifest.json", Mode: 0o600, ModTime: time.Unix(0, 0)}, ""), BadEntry},
		"a directory":               {extra(tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeDir, Name: "identity/", Mode: 0o600, ModTime: time.Unix(0, 0)}, ""), BadEntry},
		"a device":                  {extra(tar.Header{Format: tar.FormatUSTAR, Typeflag: tar.TypeChar, Name: "identity/ca.crt", Mode: 0o600, ModTime: time.Unix(0, 0)}, ""), BadEntry},
		"an absolute name":          {extra(plain("/identity/ca.crt"), "x"), BadName},
		"a name that climbs":        {extra(plain("identity/../../x"), "x"), BadName},
		"a name that climbs inside": {extra(plain("identity/certs/../ca.crt"), "x"), BadName},
		"a leaf that climbs":        {extra(plain("identity/certs/..crt"), "x"), BadName},
		"a name with a dot slash":   {extra(plain("./identity/ca.crt"), "x"), BadName},
		"a deeper artifact":         {extra(plain("artifacts/mgmt/a/b.json"), "x"), BadName},
		"a ctrl artifact":           {extra(plain("artifacts/ctrl/edge.json"), "x"), BadName},
		"state from outside":        {extra(plain("agent/state.json"), "x"), BadName},
		"another manifest":          {extra(plain("manifest.json"), "x"), DuplicateEntry},
		"one name in two cases":     {k.spoil(t, func(r *recipe) { r.set("artifacts/mgmt/EDGE.json", []byte("x")) }), DuplicateEntry},
		"no manifest":               {retar(t, good, func(i int, h *tar.Header, d []byte) (*tar.Header, []byte) { return dropIf(i == 0, h), d }), BadManifest},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(bytes.NewReader(c.archive), time.Now())
			wantReason(t, err, c.want)
		})
	}
}

func dropIf(drop bool, h *tar.Header) *tar.Header {
	if drop {
		return nil
	}
	return h
}

// TestReadRefusesContents are well-formed archives, signed by whom the recipe
// says, that are no bundle for the node (BND-1).
func TestReadRefusesContents(t *testing.T) {
	t.Parallel()
	k, stranger := newKitchen(), newKitchen()
	second := k.ca.Signer("second")
	entry := func(i *envelopetest.Identity) []envelope.Entry { return []envelope.Entry{i.Entry()} }
	certs := func(r *recipe, leaf string, i *envelopetest.Identity) {
		certPEM, keyPEM, err := svid(i).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		r.set("identity/certs/"+leaf+".crt", certPEM)
		r.set("identity/certs/"+leaf+".key", keyPEM)
	}
	cases := map[string]struct {
		change func(r *recipe)
		want   Reason
	}{
		"an entry that is not listed":     {func(r *recipe) { r.relist = false; r.set("artifacts/mgmt/more.json", nil) }, ContentDiffers},
		"a listed entry is missing":       {func(r *recipe) { r.relist = false; r.drop("artifacts/mgmt/edge.json") }, ContentDiffers},
		"another size":                    {func(r *recipe) { r.relist = false; r.m.Entries[0].Size++ }, ContentDiffers},
		"another digest":                  {func(r *recipe) { r.relist = false; r.m.Entries[0].SHA256 = strings.Repeat("0", 64) }, ContentDiffers},
		"a digest in upper case":          {func(r *recipe) { r.relist = false; r.m.Entries[0].SHA256 = strings.ToUpper(r.m.Entries[0].SHA256) }, ContentDiffers},
		"an entry listed twice":           {func(r *recipe) { r.relist = false; r.m.Entries = append(r.m.Entries, r.m.Entries[0]) }, BadManifest},
		"the manifest lists itself":       {func(r *recipe) { r.relist = false; r.m.Entries = append(r.m.Entries, listed{Name: "manifest.json"}) }, ContentDiffers},
		"a newer manifest":                {func(r *recipe) { r.m.SchemaVersion = "1.1" }, BadManifest},
		"an unknown member":               {rewriteManifest(`"node"`, `"more": 1, "node"`), BadManifest},
		"a member twice":                  {rewriteManifest(`"node"`, `"node": "alpha", "node"`), BadManifest},
		"a member in another case":        {rewriteManifest(`"node"`, `"Node"`), BadManifest},
		"a null member":                   {rewriteManifest(`"node": "alpha"`, `"node": null`), BadManifest},
		"an array for an object":          {rewriteManifest(`"trust": {`, `"trust": [{}], "x": {`), BadManifest},
		"no principals":                   {func(r *recipe) { r.m.Principals = nil }, BadManifest},
		"a version as text":               {rewriteManifest(`"set_version": 3`, `"set_version": "3"`), BadManifest},
		"a version with a fraction":       {rewriteManifest(`"set_version": 3`, `"set_version": 3.0`), BadManifest},
		"a version over 2^53":             {rewriteManifest(`"set_version": 3`, `"set_version": 9007199254740992`), BadManifest},
		"an unknown member of signature":  {rewriteManifest(`"alg"`, `"more": 1, "alg"`), BadManifest},
		"a manifest signed by a stranger": {func(r *recipe) { r.signer = stranger.signer }, BadSignature},
		"a manifest signed by another":    {func(r *recipe) { r.signer = second }, BadSignature},
		"a manifest changed once signed":  {rewriteManifest(`"node": "alpha"`, `"node": "beta"`), BadSignature},
		"a trust domain with a scheme":    {func(r *recipe) { r.m.TrustDomain = "spiffe://rete-lovers" }, BadManifest},
		"another trust domain":            {func(r *recipe) { r.m.TrustDomain = "elsewhere" }, BadTrust},
		"no CA":                           {func(r *recipe) { r.drop("identity/ca.crt") }, BadCA},
		"a leaf as CA":                    {func(r *recipe) { r.set("identity/ca.crt", r.get("identity/certs/web.crt")) }, BadCA},
		"the CA of somebody else": {func(r *recipe) {
			files, _ := stranger.contents().files()
			r.set("identity/ca.crt", fileNamed(files, "identity/ca.crt"))
		}, BadTrust},
		"a trust block of a stranger":     {func(r *recipe) { r.m.Trust.Mgmt = entry(stranger.signer) }, BadTrust},
		"a trust block with one more":     {func(r *recipe) { r.m.Trust.Mgmt = append(r.m.Trust.Mgmt, second.Entry()) }, TrustDiffers},
		"a trust block of another signer": {func(r *recipe) { r.m.Trust.Mgmt = entry(second); r.signer = second }, TrustDiffers},
		"another coordinator":             {func(r *recipe) { r.m.Coordinator = "spiffe://rete-lovers/service/other" }, BadSet},
		"another version":                 {func(r *recipe) { r.m.SetVersion = 4 }, BadSet},
		"another node":                    {func(r *recipe) { r.m.Node = "beta" }, BadSet},
		"a set without a member":          {func(r *recipe) { r.drop("artifacts/mgmt/edge.json") }, BadSet},
		"a set with one more": {func(r *recipe) {
			r.set("artifacts/mgmt/more.json", k.signer.Sign("alpha", "more", 3, map[string]any{"schema_version": "1.0"}))
		}, BadSet},
		"an artifact under another name": {func(r *recipe) { r.set("artifacts/mgmt/more.json", r.get("artifacts/mgmt/edge.json")) }, BadSet},
		"an artifact moved to another name": {func(r *recipe) {
			r.set("artifacts/mgmt/more.json", r.get("artifacts/mgmt/edge.json"))
			r.drop("artifacts/mgmt/edge.json")
		}, BadSet},
		"an artifact of another signer": {func(r *recipe) {
			r.set("artifacts/mgmt/edge.json", second.Sign("alpha", "edge", 3, map[string]any{"schema_version": "1.0"}))
		}, BadSet},
		"an artifact changed": {func(r *recipe) {
			r.set("artifacts/mgmt/edge.json", bytes.Replace(r.get("artifacts/mgmt/edge.json"), []byte("1.0"), []byte("1.00"), 1))
		}, BadSet},
		"an artifact that is no JSON":     {func(r *recipe) { r.set("artifacts/mgmt/edge.json", []byte("{")) }, BadSet},
		"a principal without certificate": {func(r *recipe) { r.m.Principals = append(r.m.Principals, "spiffe://rete-lovers/user/eve") }, BadPrincipals},
		"a principal twice":               {func(r *recipe) { r.m.Principals = append(r.m.Principals, alpha.String()) }, BadPrincipals},
		"a certificate without principal": {func(r *recipe) { r.m.Principals = []string{alpha.String()} }, BadPrincipals},
		"a certificate without key":       {func(r *recipe) { r.drop("identity/certs/web.key") }, BadPrincipals},
		"a principal of another node": {func(r *recipe) {
			id := spiffeid.RequireFromPath(td, "/service/beta/db")
			r.m.Principals = append(r.m.Principals, id.String())
			certs(r, "db", k.ca.Issue(id))
		}, BadPrincipals},
		"another node's own principal": {func(r *recipe) {
			id := spiffeid.RequireFromPath(td, "/node/beta")
			r.m.Principals = append(r.m.Principals, id.String())
			certs(r, "beta", k.ca.Issue(id))
		}, BadPrincipals},
		"a principal of another domain": {func(r *recipe) { r.m.Principals = append(r.m.Principals, "spiffe://elsewhere/user/eve") }, BadPrincipals},
		"a principal of no kind":        {func(r *recipe) { r.m.Principals = append(r.m.Principals, "spiffe://rete-lovers/printer/x") }, BadPrincipals},
		"a signer as principal": {func(r *recipe) {
			r.m.Principals = append(r.m.Principals, second.ID.String())
			certs(r, "second", second)
		}, BadCertificate},
		"a certificate of a stranger":   {func(r *recipe) { certs(r, "web", stranger.ca.Issue(service)) }, BadCertificate},
		"a certificate that is expired": {func(r *recipe) { certs(r, "web", k.ca.Issue(service, envelopetest.Expired)) }, BadCertificate},
		"a certificate for another ID":  {func(r *recipe) { certs(r, "web", k.ca.Issue(alpha)) }, BadCertificate},
		"a key of another certificate":  {func(r *recipe) { r.set("identity/certs/web.key", r.get("identity/certs/alpha.key")) }, BadCertificate},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(bytes.NewReader(k.spoil(t, c.change)), time.Now())
			wantReason(t, err, c.want)
		})
	}
}

func rewriteManifest(from, to string) func(*recipe) {
	return func(r *recipe) {
		r.rewrite = func(text []byte) []byte { return bytes.Replace(text, []byte(from), []byte(to), 1) }
	}
}

func fileNamed(files []file, name string) []byte {
	return files[slices.IndexFunc(files, func(f file) bool { return f.name == name })].data
}

// TestExpiredSigner is ENV-13 at enrolment: who signed the set, and who signed
// the manifest, must be valid at the time of it.
func TestExpiredSigner(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	soon := k.ca.Signer("soon", envelopetest.Valid(time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
	for name, c := range map[string]struct {
		order order
		want  Reason
	}{
		"of the set":      {order{version: 3, signer: soon, manifestBy: k.signer, block: k.both(soon)}, BadSet},
		"of the manifest": {order{version: 3, signer: k.signer, manifestBy: soon, block: k.both(soon)}, BadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(bytes.NewReader(k.deliver(t, c.order)), time.Now().Add(2*time.Hour))
			wantReason(t, err, c.want)
			var refusal *envelope.Refusal
			if !errors.As(err, &refusal) || refusal.Reason != envelope.SignerExpired {
				t.Errorf("the cause is %v", err)
			}
		})
	}
}

// TestLimits names the limit that was passed (design "Limits").
func TestLimits(t *testing.T) {
	t.Parallel()
	_, err := Read(io.LimitReader(zeros{}, MaxSize+1), time.Now())
	wantReason(t, err, TooLarge)
	if !strings.Contains(err.Error(), fmt.Sprint(MaxSize)) {
		t.Errorf("%q does not name the limit", err)
	}
	archive := newKitchen().spoil(t, func(r *recipe) {
		for i := range MaxEntries {
			r.set(fmt.Sprintf("artifacts/mgmt/x%d.json", i), nil)
		}
	})
	_, err = Read(bytes.NewReader(archive), time.Now())
	wantReason(t, err, TooLarge)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestWriteRefuses: nothing is written that Read would refuse.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	k, stranger := newKitchen(), newKitchen()
	cases := map[string]struct {
		change func(c *Contents)
		signer *envelopetest.Identity
		want   Reason
	}{
		"no root":                     {func(c *Contents) { c.Artifacts = c.Artifacts[1:] }, k.signer, UnsuitableContents},
		"an artifact that is no JSON": {func(c *Contents) { c.Artifacts[1] = []byte("x") }, k.signer, UnsuitableContents},
		"a member less":               {func(c *Contents) { c.Artifacts = c.Artifacts[:1] }, k.signer, BadSet},
		"two principals of one leaf": {func(c *Contents) {
			c.Principals = append(c.Principals, svid(k.ca.Issue(spiffeid.RequireFromPath(td, "/user/web"))))
		}, k.signer, DuplicateEntry},
		"a principal without key":      {func(c *Contents) { c.Principals[0].PrivateKey = nil }, k.signer, UnsuitableContents},
		"a signer that is not trusted": {func(*Contents) {}, stranger.signer, BadSignature},
		"another CA":                   {func(c *Contents) { c.CA = stranger.ca.CA }, k.signer, BadTrust},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contents := k.contents()
			c.change(&contents)
			var out bytes.Buffer
			wantReason(t, Write(&out, contents, c.signer.ID, c.signer.Key), c.want)
			if out.Len() != 0 {
				t.Errorf("%d bytes were written", out.Len())
			}
		})
	}
}

// FuzzRead: no input makes it panic, every error is a refusal, and what it
// accepts it accepts again when its entries are packed anew.
// What a caller forgot to give is refused, and no panic.
func TestNothingIsRefused(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	written := func(change func(*Contents)) error {
		c := k.contents()
		change(&c)
		return Write(io.Discard, c, k.signer.ID, k.signer.Key)
	}
	encrypted, err := Encrypt(k.bake(t), []byte("passphrase"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(_ any, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		want Reason
	}{
		"contents of nothing":       {Write(io.Discard, Contents{}, k.signer.ID, k.signer.Key), UnsuitableContents},
		"contents without a CA":     {written(func(c *Contents) { c.CA = nil }), UnsuitableContents},
		"a principal that is none":  {written(func(c *Contents) { c.Principals[1] = nil }), UnsuitableContents},
		"one without a certificate": {written(func(c *Contents) { c.Principals[1] = &x509svid.SVID{ID: service} }), UnsuitableContents},
		"no key to sign with":       {Write(io.Discard, k.contents(), k.signer.ID, nil), UnsuitableContents},
		"nowhere to write":          {Write(nil, k.contents(), k.signer.ID, k.signer.Key), UnsuitableContents},
		"nothing to read":           {of(Read(nil, time.Now())), CutShort},
		"nothing to unwrap":         {of(Unwrap(nil, passphrase("passphrase"))), CutShort},
		"nobody to ask":             {of(Unwrap(bytes.NewReader(encrypted), nil)), Encrypted},
		"no bundle to install":      {(*Bundle)(nil).Install(t.TempDir(), "demo", Options{}), UnsuitableContents},
		"one that nobody has read":  {new(Bundle).Install(t.TempDir(), "demo", Options{}), UnsuitableContents},
	} {
		t.Log(name)
		wantReason(t, c.err, c.want)
	}
}

func FuzzRead(f *testing.F) {
	k := newKitchen()
	good := k.bake(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(make([]byte, 2048))
	f.Add([]byte("eyJhbGciOiJub25lIn0..."))
	f.Add(k.spoil(f, func(r *recipe) { slices.Reverse(r.files) }))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(bytes.NewReader(data), time.Now())
		if err != nil {
			if !errors.As(err, new(*Refusal)) {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		files, err := unpack(data)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		if err := pack(&packed, files); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&packed, time.Now())
		if err != nil || again.Node != b.Node || !again.CA.Equal(b.CA) {
			t.Fatalf("packed anew it is refused or differs: %v", err)
		}
	})
}
