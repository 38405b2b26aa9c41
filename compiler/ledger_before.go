package compiler

import (
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// before is what is known of a node's set from earlier compiles.
type before struct {
	// current is the version of the set in the tree, 0 when there is none.
	current uint64
	// last is the highest version that is known of the node; the next is one more.
	last uint64
	// members are the artifacts in the tree by name; set when doubt is empty.
	members map[string]envelope.Artifact
	// digests are those of the files in the tree.
	digests map[string]string
	// doubt says why the set in the tree cannot stay, whatever the payloads say.
	doubt string
}

// setReader finds out what is known of a node.
type setReader struct {
	fsys   durable.FS
	anchor envelope.Anchor
	ledger *Ledger
	floor  uint64
}

func (r setReader) read(node string) (before, error) {
	files, err := readSet(r.fsys, node)
	if err != nil {
		return before{}, fmt.Errorf("read the compiled set of node %s: %w", node, err)
	}
	entry, known := r.ledger.Nodes[node]
	b := before{last: max(r.ledger.last(node), r.floor), digests: files.digests()}
	switch {
	case len(files) == 0:
		return b, nil
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
		b.doubt = fmt.Sprintf("version %d is taken already", floor)
	}
	b.parse(files)
	return b, nil
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

// parse fills in the members, unless they are in doubt already.
func (b *before) parse(files setFiles) {
	if b.doubt != "" {
		return
	}
	b.members = make(map[string]envelope.Artifact, len(files))
	for file, text := range files {
		artifact, err := envelope.Parse(withoutNewline(text))
		if err != nil {
			b.doubt = fmt.Sprintf("%s cannot be read: %v", file, err)
			return
		}
		b.members[strings.TrimSuffix(path.Base(file), fileSuffix)] = artifact
	}
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
