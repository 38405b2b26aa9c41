package compiler

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// before is what is known of a node's set from earlier compiles.
type before struct {
	// current is the version of the set in the tree, 0 when there is none.
	current uint64
	// last is the highest version that is known of the node; the next is one more.
	last uint64
	// digests are those of the files in the tree.
	digests map[string]string
	// doubt says why the set in the tree cannot stay, whatever the payloads say.
	doubt string
	// taken says that somebody else has a set at this version or above.
	taken []string
	// address is where the set dials the coordinator. It is read only where it
	// may not be what the source gives: from a set in doubt, or one whose vertex
	// changes.
	address string
}

// standingSet is a node's set in the tree, while it is being compared.
type standingSet struct {
	before
	files setFiles
}

// setReader finds out what is known of a node.
type setReader struct {
	tree   durable.FS
	anchor envelope.Anchor
	ledger *Ledger
	floor  uint64
}

func (r setReader) read(node string) (standingSet, error) {
	files, err := readSetIn(r.tree, node)
	if err != nil {
		return standingSet{}, fmt.Errorf("read the compiled set of node %s: %w", node, err)
	}
	entry, known := r.ledger.Nodes[node]
	b := before{last: max(r.ledger.last(node), r.floor), digests: files.digests()}
	switch {
	case len(files) == 0:
		return standingSet{before: b}, nil
	case known && maps.Equal(b.digests, entry.Files):
		b.current = entry.Version
	case known:
		b.current = entry.Version
		b.doubt = editedByHand(entry.Files, b.digests)
		b.trustIfGenuine(files, r.anchor, node)
	default:
		b.doubt = "in the compiled tree, but not signed by this rete"
		if b.trustIfGenuine(files, r.anchor, node) {
			b.doubt = ""
		}
	}
	if floor := max(entry.Floor, r.floor); b.doubt == "" && floor >= b.current {
		b.taken = []string{fmt.Sprintf("version %d is taken already", floor)}
	}
	return standingSet{before: b, files: files}, nil
}

// trustIfGenuine believes the version that the files state, when the rete's
// own authority stands behind it.
func (b *before) trustIfGenuine(files setFiles, anchor envelope.Anchor, node string) bool {
	version, ok := files.genuineVersion(anchor, node)
	if !ok {
		return false
	}
	b.current = version
	b.last = max(b.last, version)
	return true
}

// editedByHand names the files that are not as they were written.
func editedByHand(recorded, found map[string]string) string {
	var names []string
	for _, name := range sortedKeys(found) {
		if recorded[name] != found[name] {
			names = append(names, name)
		}
	}
	for _, name := range sortedKeys(recorded) {
		if _, stands := found[name]; !stands {
			names = append(names, name)
		}
	}
	return "edited by hand: " + strings.Join(names, ", ")
}

// names lists the artifacts of the set, sorted.
func (s standingSet) names() []string {
	names := sortedKeys(s.files)
	for i, file := range names {
		names[i] = strings.TrimSuffix(path.Base(file), fileSuffix)
	}
	return names
}

// artifact parses one member; the zero value when it cannot be.
func (s standingSet) artifact(name string) envelope.Artifact {
	artifact, _ := envelope.Parse(withoutNewline(s.files[name+fileSuffix]))
	return artifact
}

// differs names what tells a payload from the one in the set; nothing when it
// is the same.
func (s standingSet) differs(now Payload) (string, error) {
	text, stands := s.files[now.Name+fileSuffix]
	if !stands {
		return "added", nil
	}
	encoded, err := json.Marshal(now.Value, payloadIndent...)
	if err != nil {
		return "", err
	}
	if bytes.Equal(encoded, payloadText(text)) {
		return "", nil
	}
	canonical, err := envelope.Canonical(encoded)
	if err != nil {
		return "", err
	}
	old := s.artifact(now.Name)
	if old.Payload() == nil {
		return "payload", nil
	}
	return changedMembers(old.CanonicalPayload(), canonical), nil
}

// payloadIndent makes a payload look as it does within an artifact (ENV-9).
var payloadIndent = []json.Options{json.Deterministic(true), jsontext.WithIndentPrefix("  "), jsontext.WithIndent("  ")}

var (
	payloadStart = []byte("\n  \"payload\": ")
	payloadEnd   = []byte(",\n  \"signature\": ")
)

// payloadText cuts the payload out of an artifact as the compiler writes it,
// without reading it; nil when it looks otherwise. A line break stands in no
// JSON string, so that nothing but the member itself can look like it.
func payloadText(artifact []byte) []byte {
	_, rest, found := bytes.Cut(artifact, payloadStart)
	end := bytes.LastIndex(rest, payloadEnd)
	if !found || end < 0 {
		return nil
	}
	return rest[:end]
}

// trust is the trust block that the set lists.
func (s standingSet) trust() envelope.Block {
	agent, err := schema.ParseAgent(s.artifact(envelope.AgentName).Payload())
	if err != nil {
		return envelope.Block{}
	}
	return agent.Trust
}

// signedByAnother says that somebody else than the listed signer of that name
// signed the set; nothing when name is empty.
func (s standingSet) signedByAnother(name string) []string {
	if name == "" {
		return nil
	}
	by := signerName(s.artifact(envelope.AgentName).Signature.KeyID)
	if by == name {
		return nil
	}
	return []string{fmt.Sprintf("signer: %s → %s", by, name)}
}

// signerName is the name of a management signer, out of its SPIFFE ID.
func signerName(id string) string { return path.Base(id) }
