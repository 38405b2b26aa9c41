package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

var (
	td      = spiffeid.RequireTrustDomainFromString("rete-lovers")
	alpha   = spiffeid.RequireFromPath(td, "/node/alpha")
	service = spiffeid.RequireFromPath(td, "/service/alpha/web")
)

// kitchen has what a bundle for node alpha is made of.
type kitchen struct {
	ca     *envelopetest.Authority
	signer *envelopetest.Identity
}

func newKitchen() kitchen {
	ca := envelopetest.NewAuthority("rete-lovers")
	return kitchen{ca: ca, signer: ca.Signer("primary")}
}

func (k kitchen) texts(version uint64) [][]byte {
	return k.ca.Set(k.signer, "alpha", version, envelopetest.Member{Name: "edge", Payload: map[string]any{"schema_version": "1.0"}})
}

func svid(i *envelopetest.Identity) *x509svid.SVID {
	return &x509svid.SVID{ID: i.ID, Certificates: []*x509.Certificate{i.Cert}, PrivateKey: i.Key}
}

func (k kitchen) contents() Contents {
	return Contents{
		CA:         k.ca.CA,
		Principals: []*x509svid.SVID{svid(k.ca.Issue(alpha)), svid(k.ca.Issue(service))},
		Artifacts:  k.texts(3),
		Now:        time.Now(),
	}
}

// bake writes a good bundle.
func (k kitchen) bake(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, k.contents(), k.signer.ID, k.signer.Key); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// order is a bundle of node alpha as somebody asks for it.
type order struct {
	node       string // alpha if empty
	version    uint64
	signer     *envelopetest.Identity   // of the set
	manifestBy *envelopetest.Identity   // signer if nil
	block      []*envelopetest.Identity // signer alone if empty
}

func (k kitchen) both(other *envelopetest.Identity) []*envelopetest.Identity {
	return []*envelopetest.Identity{k.signer, other}
}

// deliver bakes what was ordered.
func (k kitchen) deliver(t testing.TB, o order) []byte {
	t.Helper()
	node := cmp.Or(o.node, "alpha")
	block := o.block
	if len(block) == 0 {
		block = []*envelopetest.Identity{o.signer}
	}
	agent := k.ca.AgentPayload(node, envelopetest.Block(block...), "edge")
	principal := k.ca.Issue(spiffeid.RequireFromSegments(td, "node", node))
	c := Contents{
		CA: k.ca.CA, Principals: []*x509svid.SVID{svid(principal)}, Now: time.Now(),
		Artifacts: [][]byte{
			o.signer.Sign(node, envelope.AgentName, o.version, agent),
			o.signer.Sign(node, "edge", o.version, map[string]any{"schema_version": "1.0"}),
		},
	}
	by := cmp.Or(o.manifestBy, o.signer)
	var out bytes.Buffer
	if err := Write(&out, c, by.ID, by.Key); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// recipe is a bundle before its manifest is signed, for tests that want a bad
// one.
type recipe struct {
	m       manifest
	files   []file
	signer  *envelopetest.Identity
	relist  bool                     // list the files anew
	rewrite func(text []byte) []byte // of the signed manifest
}

// spoil bakes a bundle with a change.
func (k kitchen) spoil(t testing.TB, change func(*recipe)) []byte {
	t.Helper()
	files, err := k.contents().files()
	if err != nil {
		t.Fatal(err)
	}
	m, err := k.contents().manifest(files)
	if err != nil {
		t.Fatal(err)
	}
	r := recipe{m: m, files: files, signer: k.signer, relist: true, rewrite: func(text []byte) []byte { return text }}
	change(&r)
	if r.relist {
		r.m.Entries = nil
		for _, f := range r.files {
			r.m.Entries = append(r.m.Entries, list(f))
		}
	}
	text, err := envelope.SignObject(r.m, r.signer.ID, r.signer.Key)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := pack(&out, append([]file{{manifestName, r.rewrite(text)}}, r.files...)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (r *recipe) set(name string, data []byte) {
	i := slices.IndexFunc(r.files, func(f file) bool { return f.name == name })
	if i < 0 {
		r.files = append(r.files, file{name, data})
		return
	}
	r.files[i].data = data
}

func (r *recipe) drop(name string) {
	r.files = slices.DeleteFunc(r.files, func(f file) bool { return f.name == name })
}

func (r *recipe) get(name string) []byte {
	i := slices.IndexFunc(r.files, func(f file) bool { return f.name == name })
	return r.files[i].data
}

// retar copies an archive, entry by entry.
func retar(t testing.TB, archive []byte, change func(i int, h *tar.Header, data []byte) (*tar.Header, []byte)) []byte {
	t.Helper()
	var out bytes.Buffer
	tr, tw := tar.NewReader(bytes.NewReader(archive)), tar.NewWriter(&out)
	for i := 0; ; i++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h, data = change(i, h, data); h == nil {
			continue
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Reason != want {
		t.Errorf("got error %v, want reason %s", err, want)
		return
	}
	if !strings.HasPrefix(err.Error(), want.Code()+" "+string(want)+":") {
		t.Errorf("%q does not begin with its code and reason", err)
	}
}
