package mint

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// kitchen has what bundles for alpha are made of.
type kitchen struct {
	*world
	node, web *Identity
	rogue     *Authority // of the same trust domain
}

func newKitchen() *kitchen {
	w := newWorld()
	return &kitchen{
		world: w, node: w.ca.Issue("/node/alpha", "node alpha"), web: w.ca.Issue("/service/alpha/web", "service web"),
		rogue: NewAuthority(domain, Key("another ca")),
	}
}

// recipe is a bundle before it is baked.
type recipe struct {
	k        *kitchen
	set      *set
	manifest manifest
	files    []entry
	by       *Identity                        // who signs the manifest
	listed   bool                             // the manifest's entries are as they shall be
	before   func(*recipe)                    // once files and manifest are made
	rewrite  edit                             // of the signed manifest
	header   func(name string, h *tar.Header) // of each entry
	archive  func([]byte) []byte              // of the whole
}

type manifest struct {
	SchemaVersion string         `json:"schema_version"`
	TrustDomain   string         `json:"trust_domain"`
	Node          string         `json:"node"`
	SetVersion    uint64         `json:"set_version"`
	Coordinator   string         `json:"coordinator"`
	Principals    []string       `json:"principals"`
	Trust         envelope.Block `json:"trust"`
	Entries       []listing      `json:"entries"`
}

type listing struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
}

type entry struct {
	name string
	data []byte
}

const (
	edgeFile = "artifacts/mgmt/edge.json"
	rootFile = "artifacts/mgmt/agent.json"
	caFile   = "identity/ca.crt"
	webCert  = "identity/certs/web.crt"
	webKey   = "identity/certs/web.key"
)

// bake makes a bundle with a change.
func (k *kitchen) bake(change func(*recipe)) []byte {
	r := &recipe{k: k, set: k.newSet(), by: k.primary}
	r.fill()
	if change != nil {
		change(r)
	}
	if r.before != nil {
		r.before(r)
	}
	if !r.listed {
		r.list()
	}
	text := string(must(envelope.SignObject(r.manifest, spiffeid.RequireFromString(r.by.ID), r.by.Key)))
	if r.rewrite != nil {
		text = r.rewrite(text)
	}
	archive := r.pack(append([]entry{{"manifest.json", []byte(text)}}, r.files...))
	if r.archive != nil {
		archive = r.archive(archive)
	}
	return archive
}

// fill makes the good bundle's entries and manifest.
func (r *recipe) fill() {
	k := r.k
	_ = r.set.text()
	r.files = []entry{
		{rootFile, []byte(r.set.root.Text())}, {edgeFile, []byte(r.set.edge.Text())}, {caFile, certPEM(k.ca.Cert)},
		{"identity/certs/alpha.crt", certPEM(k.node.Cert)}, {"identity/certs/alpha.key", k.node.keyPEM()},
		{webCert, certPEM(k.web.Cert)}, {webKey, k.web.keyPEM()},
	}
	r.manifest = manifest{
		SchemaVersion: "1.0", TrustDomain: domain, Node: node, SetVersion: version,
		Coordinator: r.set.payload.Sync.Coordinator, Principals: []string{k.node.ID, k.web.ID}, Trust: r.set.payload.Trust,
	}
	r.list()
}

func (r *recipe) list() {
	r.manifest.Entries = nil
	for _, f := range r.files {
		sum := sha256.Sum256(f.data)
		r.manifest.Entries = append(r.manifest.Entries, listing{f.name, hex.EncodeToString(sum[:]), len(f.data)})
	}
}

func (r *recipe) pack(files []entry) []byte {
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{
			Format: tar.FormatUSTAR, Typeflag: tar.TypeReg, Name: f.name, Mode: 0o600,
			Size: int64(len(f.data)), ModTime: time.Unix(0, 0),
		}
		if r.header != nil {
			r.header(f.name, h)
		}
		if err := tw.WriteHeader(h); err != nil {
			panic(err)
		}
		if h.Size > 0 {
			must(tw.Write(f.data))
		}
	}
	if err := tw.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func (r *recipe) put(name string, data []byte) {
	if i := slices.IndexFunc(r.files, func(f entry) bool { return f.name == name }); i >= 0 {
		r.files[i].data = data
		return
	}
	r.files = append(r.files, entry{name, data})
}

func (r *recipe) drop(name string) {
	r.files = slices.DeleteFunc(r.files, func(f entry) bool { return f.name == name })
}

func (r *recipe) get(name string) []byte {
	return r.files[slices.IndexFunc(r.files, func(f entry) bool { return f.name == name })].data
}

// remake takes the set as it is now into the bundle.
func (r *recipe) remake() {
	_ = r.set.text()
	r.put(rootFile, []byte(r.set.root.Text()))
	r.put(edgeFile, []byte(r.set.edge.Text()))
}

// identity puts another certificate and key in the place of web's.
func (r *recipe) identity(i *Identity) {
	r.put(webCert, certPEM(i.Cert))
	r.put(webKey, i.keyPEM())
}

// bundleVectors are about BND-1.
func (k *kitchen) bundleVectors() []Vector {
	rows := slices.Concat(
		archiveAccepted(), k.formatRows(), entryRows(), nameRows(), k.manifestRows(), listingRows(), k.authorityRows(),
		k.setRowsOfBundle(), k.principalRows(), k.leafRows())
	var all []Vector
	for _, r := range rows {
		all = append(all, Vector{
			Name: "bundle/" + r.name, Title: r.title, Refuse: r.refuse, Requirements: rules("BND-1 " + r.rules),
			Files: map[string][]byte{"bundle.tar.base64": asText(k.bake(r.change)), "now": []byte(Now + "\n")},
		})
	}
	return all
}

// asText is an archive in base64: vectors are text, so that they can be read,
// compared and carried like source.
func asText(archive []byte) []byte {
	const width = 76 // of a line, as MIME has it
	var text []byte
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(archive)), width) {
		text = append(append(text, line...), '\n')
	}
	return text
}

type bundleRow struct {
	name, title, refuse, rules string
	change                     func(*recipe)
}

// whole makes a change of the whole archive.
func whole(change func([]byte) []byte) func(*recipe) {
	return func(r *recipe) { r.archive = change }
}

// headerOfEdge makes a change of one entry's header.
func headerOfEdge(change func(*tar.Header)) func(*recipe) {
	return func(r *recipe) {
		r.header = func(name string, h *tar.Header) {
			if name == edgeFile {
				change(h)
			}
		}
	}
}

// notFile makes one entry something else than a regular file.
func notFile(typeflag byte, link string) func(*recipe) {
	return func(r *recipe) {
		r.put(edgeFile, nil)
		headerOfEdge(func(h *tar.Header) { h.Typeflag, h.Linkname = typeflag, link })(r)
	}
}

// extra adds an entry.
func extra(name string) func(*recipe) { return func(r *recipe) { r.put(name, []byte("{}")) } }

func archiveAccepted() []bundleRow {
	return []bundleRow{
		{"plain", "a good bundle", "", "ENV-10 SET-8", nil},
		{"entries-in-another-order", "entries after the manifest come in any order", "", "", func(r *recipe) { slices.Reverse(r.files) }},
		{"owner-in-the-header", "who owned the entries is ignored", "", "", func(r *recipe) {
			r.header = func(_ string, h *tar.Header) { h.Uid, h.Uname = 1000, "eve" }
		}},
		{"more-zeros", "more zeros than needed at the end", "", "", whole(func(b []byte) []byte { return append(b, make([]byte, 9*512)...) })},
	}
}

func (k *kitchen) formatRows() []bundleRow {
	const cut, archive = "FL2203 cut-short", "FL2204 bad-archive"
	return []bundleRow{
		{"without-end", "an archive without its end", cut, "", whole(func(b []byte) []byte { return b[:len(b)-1024] })},
		{"half", "half an archive", cut, "", whole(func(b []byte) []byte { return b[:len(b)/2] })},
		{"odd-size", "a size that is no multiple of a block", cut, "", whole(func(b []byte) []byte { return append(b, 0) })},
		{"text", "a file that is no archive", archive, "", whole(func([]byte) []byte {
			return append(bytes.Repeat([]byte("hello, world. 16"), 32), make([]byte, 1024)...)
		})},
		{"behind-the-end", "content behind the end of the archive", archive, "", whole(func(b []byte) []byte {
			return slices.Concat(b, bytes.Repeat([]byte{7}, 512), make([]byte, 1024))
		})},
		{"padding", "a block that is filled up with other than zeros", archive, "", whole(func(b []byte) []byte {
			size := len(k.bakedManifest(b))
			b[512+size] = 1
			return b
		})},
		{"checksum", "a header whose checksum is wrong", archive, "", whole(func(b []byte) []byte {
			b[148] ^= 1
			return b
		})},
		{"gnu-format", "an entry in another format than ustar", archive, "", headerOfEdge(func(h *tar.Header) { h.Format = tar.FormatGNU })},
		{"pax-format", "an entry with extended headers", archive, "", headerOfEdge(func(h *tar.Header) {
			h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{"FLORETE.x": "1"}
		})},
	}
}

func entryRows() []bundleRow {
	const badEntry = "FL2205 bad-entry"
	return []bundleRow{
		{"mode-0644", "an entry that others may read", badEntry, "BND-4", headerOfEdge(func(h *tar.Header) { h.Mode = 0o644 })},
		{"mode-setuid", "an entry that is setuid", badEntry, "", headerOfEdge(func(h *tar.Header) { h.Mode = 0o4600 })},
		{"time-1", "an entry with a time", badEntry, "", headerOfEdge(func(h *tar.Header) { h.ModTime = time.Unix(1, 0) })},
		{"symbolic-link", "a symbolic link", badEntry, "", notFile(tar.TypeSymlink, "/etc/passwd")},
		{"hard-link", "a hard link", badEntry, "", notFile(tar.TypeLink, "manifest.json")},
		{"device", "a device", badEntry, "", notFile(tar.TypeChar, "")},
		{"fifo", "a named pipe", badEntry, "", notFile(tar.TypeFifo, "")},
	}
}

func nameRows() []bundleRow {
	const name, twice = "FL2206 bad-name", "FL2207 duplicate-entry"
	return []bundleRow{
		{"absolute-name", "an absolute name", name, "", extra("/identity/ca.crt")},
		{"climbing-name", "a name that climbs", name, "", extra("identity/../../x")},
		{"climbing-inside", "a name that climbs and stays inside", name, "", extra("identity/certs/../ca.crt")},
		{"dot-slash", "a name that begins with a dot and a slash", name, "", extra("./identity/ca.crt")},
		{"deeper-artifact", "an artifact one level deeper", name, "", extra("artifacts/mgmt/a/b.json")},
		{"ctrl-artifact", "an artifact of ctrl", name, "", extra("artifacts/ctrl/edge.json")},
		{"state", "state from outside", name, "", extra("agent/state.json")},
		{"unsafe-artifact", "an artifact whose name is not safe", name, "ENV-4", extra("artifacts/mgmt/con.json")},
		{"unknown-suffix", "a certificate file with another suffix", name, "", extra("identity/certs/web.pem")},
		{"two-manifests", "a second manifest", twice, "", extra("manifest.json")},
		{"entry-twice", "an entry twice", twice, "", func(r *recipe) { r.files = append(r.files, r.files[0]) }},
		{"entry-twice-by-case", "two entries that differ by case only", twice, "ENV-4", extra("artifacts/mgmt/EDGE.json")},
	}
}

// bakedManifest is the first entry's content.
func (k *kitchen) bakedManifest(archive []byte) []byte {
	tr := tar.NewReader(bytes.NewReader(archive))
	h := must(tr.Next())
	return archive[512 : 512+h.Size]
}

// rewritten makes a change of the manifest's text once it is signed.
func rewritten(old, new string) func(*recipe) {
	return func(r *recipe) { r.rewrite = replace(old, new) }
}

// unlisted makes a change after the entries were listed.
func unlisted(change func(*recipe)) func(*recipe) {
	return func(r *recipe) {
		r.listed = true
		change(r)
	}
}

func (k *kitchen) manifestRows() []bundleRow {
	const bad = "FL2208 bad-manifest"
	return []bundleRow{
		{"no-manifest", "an archive without entries", bad, "", func(r *recipe) { r.archive = func([]byte) []byte { return make([]byte, 4096) } }},
		{"manifest-second", "the manifest is not the first entry", bad, "", func(r *recipe) {
			r.archive = func(b []byte) []byte {
				first := (len(k.bakedManifest(b)) + 1023) / 512 * 512
				second := 512 + (len(r.files[0].data)+511)/512*512
				return slices.Concat(b[first:first+second], b[:first], b[first+second:])
			}
		}},
		{"manifest-unknown-member", "a manifest with a member that it may not have", bad, "ENV-2", rewritten(`"node"`, `"more": 1, "node"`)},
		{"manifest-member-twice", "a member of the manifest twice", bad, "ENV-1", rewritten(`"node"`, `"node": "alpha", "node"`)},
		{"manifest-case", "a member of the manifest in another case", bad, "ENV-1", rewritten(`"node"`, `"Node"`)},
		{"manifest-null", "a member of the manifest is null", bad, "ENV-2", rewritten(`"node": "alpha"`, `"node": null`)},
		{"manifest-newer", "a manifest of a newer version", bad, "ENV-14", func(r *recipe) { r.manifest.SchemaVersion = "1.1" }},
		{"manifest-version-0", "a manifest of version 0", bad, "ENV-3", func(r *recipe) { r.manifest.SetVersion = 0 }},
		{"manifest-version-fraction", "a version with a fraction", bad, "ENV-3", rewritten(`"set_version": 42`, `"set_version": 42.0`)},
		{"manifest-no-principals", "a manifest without principals", bad, "", func(r *recipe) { r.manifest.Principals = []string{} }},
		{"manifest-trust-domain-a-uri", "a trust domain with its scheme", bad, "", func(r *recipe) { r.manifest.TrustDomain = "spiffe://rete-lovers" }},
		{"manifest-lists-twice", "a manifest that lists an entry twice", bad, "", unlisted(func(r *recipe) { r.manifest.Entries = append(r.manifest.Entries, r.manifest.Entries[0]) })},
	}
}

func listingRows() []bundleRow {
	const differs = "FL2209 content-differs"
	return []bundleRow{
		{"entry-unlisted", "an entry that the manifest does not list", differs, "", unlisted(func(r *recipe) { r.put("artifacts/mgmt/more.json", []byte("{}")) })},
		{"entry-missing", "an entry that the manifest lists is not there", differs, "", unlisted(func(r *recipe) { r.drop(edgeFile) })},
		{"entry-altered", "an entry of another content", differs, "", unlisted(func(r *recipe) { r.put(edgeFile, bytes.ToUpper(r.get(edgeFile))) })},
		{"entry-size", "a size that is not the entry's", differs, "", unlisted(func(r *recipe) { r.manifest.Entries[1].Size++ })},
		{"digest-in-capitals", "a digest in upper case", differs, "", unlisted(func(r *recipe) { r.manifest.Entries[1].SHA256 = strings.ToUpper(r.manifest.Entries[1].SHA256) })},
	}
}

func (k *kitchen) authorityRows() []bundleRow {
	const ca, trust, signature, another = "FL2210 bad-ca", "FL2211 bad-trust", "FL2212 bad-signature", "FL2213 trust-differs"
	stranger := k.rogue.Issue("/management-plane/primary", "stranger")
	return []bundleRow{
		{"no-ca", "a bundle without ca.crt", ca, "", func(r *recipe) { r.drop(caFile) }},
		{"ca-a-leaf", "ca.crt is no CA's certificate", ca, "", func(r *recipe) { r.put(caFile, certPEM(k.web.Cert)) }},
		{"ca-twice", "ca.crt has two certificates", ca, "", func(r *recipe) { r.put(caFile, slices.Concat(certPEM(k.ca.Cert), certPEM(k.rogue.Cert))) }},
		{"ca-of-somebody-else", "ca.crt is another CA's", trust, "ENV-10", func(r *recipe) { r.put(caFile, certPEM(k.rogue.Cert)) }},
		{"trust-domain-of-somebody-else", "the trust domain is another", trust, "ENV-10", func(r *recipe) { r.manifest.TrustDomain = "elsewhere" }},
		{"trust-of-a-stranger", "the trust block lists a signer of another CA", trust, "ENV-10", func(r *recipe) { r.manifest.Trust = block(stranger) }},
		{"manifest-signed-by-a-stranger", "the manifest is signed with another key under the signer's ID", signature, "ENV-6", func(r *recipe) { r.by = &Identity{ID: k.primary.ID, Key: stranger.Key} }},
		{"manifest-signed-by-another", "the manifest is signed by a signer whom it does not list", signature, "ENV-12", func(r *recipe) { r.by = k.second }},
		{"manifest-altered", "a manifest that was altered", signature, "ENV-6", rewritten(`"node": "alpha"`, `"node": "beta"`)},
		{"manifest-signer-expired", "the manifest's signer has expired", signature, "ENV-13", func(r *recipe) {
			late := k.ca.Issue("/management-plane/second", "second", expired)
			r.set.root.Payload = ""
			r.set.lists(k.primary, late)
			r.remake()
			r.manifest.Trust, r.by = block(k.primary, late), late
		}},
		{"trust-longer-than-in-the-set", "the trust block lists one more than the set's root", another, "ENV-12", func(r *recipe) { r.manifest.Trust = block(k.primary, k.second) }},
	}
}

// listsPrincipal lists one more principal.
func listsPrincipal(id string) func(*recipe) {
	return func(r *recipe) { r.manifest.Principals = append(r.manifest.Principals, id) }
}

// added adds a principal with certificate and key.
func added(i *Identity, leaf string) func(*recipe) {
	return func(r *recipe) {
		listsPrincipal(i.ID)(r)
		r.put("identity/certs/"+leaf+".crt", certPEM(i.Cert))
		r.put("identity/certs/"+leaf+".key", i.keyPEM())
	}
}

func (k *kitchen) setRowsOfBundle() []bundleRow {
	const set = "FL2214 bad-set"
	return []bundleRow{
		{"set-altered", "an artifact that was altered", set, "ENV-6", func(r *recipe) {
			r.put(edgeFile, bytes.Replace(r.get(edgeFile), []byte(Now), []byte("2026-04-20T12:00:01Z"), 1))
		}},
		{"set-without-a-member", "a set without a member", set, "ENV-18", func(r *recipe) { r.drop(edgeFile) }},
		{"set-with-one-more", "a set with one more member", set, "ENV-18", func(r *recipe) {
			r.put("artifacts/mgmt/more.json", []byte(newArtifact(node, "more", version, "{}", k.primary).Text()))
		}},
		{"set-of-another-node", "a set of another node than the manifest's", set, "ENV-18", func(r *recipe) { r.manifest.Node = "beta" }},
		{"set-of-another-version", "a set of another version than the manifest's", set, "", func(r *recipe) { r.manifest.SetVersion = 41 }},
		{"set-of-another-coordinator", "a set of another coordinator than the manifest's", set, "", func(r *recipe) { r.manifest.Coordinator = "spiffe://rete-lovers/service/other" }},
		{"set-under-another-name", "an artifact in the file of another", set, "", func(r *recipe) {
			r.put("artifacts/mgmt/more.json", r.get(edgeFile))
			r.drop(edgeFile)
		}},
		{"set-signer-expired", "the set's signer has expired", set, "ENV-13", func(r *recipe) {
			late := k.ca.Issue("/management-plane/second", "second", expired)
			r.set.root.Payload = ""
			r.set.lists(k.primary, late).signedBy(late)
			r.remake()
			r.manifest.Trust = block(k.primary, late)
		}},
	}
}

func (k *kitchen) principalRows() []bundleRow {
	const principals = "FL2215 bad-principals"
	return []bundleRow{
		{"with-a-user", "a principal that no node's name is in", "", "", added(k.ca.Issue("/user/alice", "alice"), "alice")},
		{"principal-without-certificate", "a principal without certificate", principals, "", listsPrincipal("spiffe://rete-lovers/user/eve")},
		{"principal-twice", "a principal twice", principals, "", listsPrincipal("spiffe://rete-lovers/node/alpha")},
		{"certificate-without-principal", "a certificate without principal", principals, "", func(r *recipe) { r.manifest.Principals = []string{k.node.ID} }},
		{"certificate-without-key", "a certificate without key", principals, "", func(r *recipe) { r.drop(webKey) }},
		{"principal-of-another-node", "a principal of another node", principals, "", added(k.ca.Issue("/service/beta/db", "db"), "db")},
		{"another-node", "another node's own principal", principals, "", added(k.ca.Issue("/node/beta", "node beta"), "beta")},
		{"principal-of-another-trust-domain", "a principal of another trust domain, with a certificate", principals, "", added(k.ca.IssueFor("spiffe://elsewhere/user/eve", Key("eve")), "eve")},
		{"principal-of-no-kind", "a principal of no kind, with a certificate", principals, "", added(k.ca.Issue("/printer/x", "printer"), "x")},
	}
}

func (k *kitchen) leafRows() []bundleRow {
	const cert, webID = "FL2216 bad-certificate", "/service/alpha/web"
	web := func(i *Identity) func(*recipe) { return func(r *recipe) { r.identity(i) } }
	return []bundleRow{
		{"signer-as-principal", "a signer among the principals", cert, "SET-8", added(k.ca.Issue("/management-plane/primary", "primary"), "primary")},
		{"certificate-of-a-stranger", "a certificate of another CA", cert, "SET-8", web(k.rogue.Issue(webID, "service web"))},
		{"certificate-expired", "a certificate that has expired", cert, "SET-8", web(k.ca.Issue(webID, "service web", expired))},
		{"certificate-of-another-id", "a certificate of another ID", cert, "SET-8", web(k.ca.Issue("/service/alpha/db", "service web"))},
		{"certificate-of-two-ids", "a certificate of two IDs", cert, "SET-8", web(k.ca.Issue(webID, "service web", sans(k.web.ID, "spiffe://rete-lovers/user/eve")))},
		{"certificate-usage", "a service's certificate without serverAuth", cert, "SET-8 PKI-3", web(k.ca.Issue(webID, "service web", extUsages(2)))},
		{"certificate-of-a-ca", "a principal's certificate that may issue certificates", cert, "SET-8", web(k.ca.Issue(webID, "service web", asCA))},
		{"key-of-another", "a key that is not the certificate's", cert, "SET-8", func(r *recipe) { r.put(webKey, r.get("identity/certs/alpha.key")) }},
	}
}
