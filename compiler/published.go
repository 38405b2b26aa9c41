package compiler

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// publishedFile remembers what a coordinator took last, kept in git so that
// every operator of the rete knows.
const publishedFile = florDir + "/published.json"

// Published is what a coordinator accepted from this repository last. No
// coordinator tells who has fetched what (CRD-7), so this is the most that an
// operator knows of distant nodes: a node has this, or something older.
type Published struct {
	SchemaVersion string                   `json:"schema_version"`
	Nodes         map[string]PublishedNode `json:"nodes"`
}

// PublishedNode is one node's set: its version, who signed it, and which
// signers it lists, by name.
type PublishedNode struct {
	Version  uint64   `json:"version"`
	SignedBy string   `json:"signed_by"`
	Lists    []string `json:"lists"`
}

// ReadPublished reads what was published last from the repository at dir; the
// zero value when nothing was.
func ReadPublished(dir string) (Published, error) {
	fsys, closeRoot, err := peek(dir)
	if err != nil {
		return Published{}, err
	}
	defer closeRoot()
	return readPublished(fsys)
}

func readPublished(fsys durable.FS) (Published, error) {
	text, err := fsys.ReadFile(publishedFile, MaxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return Published{}, nil
	}
	if err != nil {
		return Published{}, err
	}
	if _, unmerged := facade.MergeConflict(text); unmerged {
		return Published{}, refuse(ReasonRecordDamaged, "%s: git left a merge conflict in it; take it as one side has it (git checkout --theirs %s), and publish again", publishedFile, publishedFile)
	}
	var p Published
	if err := json.Unmarshal(text, &p, json.RejectUnknownMembers(true)); err != nil {
		return p, refuse(ReasonRecordDamaged, "%s: %w; restore it from git, or remove it and publish again", publishedFile, err)
	}
	if p.SchemaVersion != LedgerSchemaVersion {
		return p, refuse(ReasonRecordDamaged, "%s has schema_version %q, this retectl knows %s: upgrade retectl", publishedFile, p.SchemaVersion, LedgerSchemaVersion)
	}
	for node, entry := range p.Nodes {
		if entry.Version > envelope.MaxVersion {
			return p, refuse(ReasonRecordDamaged, "%s: node %s: a version over %d", publishedFile, node, uint64(envelope.MaxVersion))
		}
	}
	return p, nil
}

// Unpublished is what the compiled tree has and no coordinator was given yet,
// as far as this repository knows.
type Unpublished struct {
	// First says that nothing was ever published.
	First bool
	// Newer are the nodes whose set is another than the published one, Gone
	// those whose set is published still and is no longer in the tree; by name.
	Newer, Gone []string
}

// Any reports whether there is something to publish.
func (u Unpublished) Any() bool { return len(u.Newer)+len(u.Gone) > 0 }

// ReadUnpublished compares the tree of the repository at dir, by its ledger,
// with what was published last. Of a repository that was never compiled there
// is nothing to publish.
func ReadUnpublished(dir string) (Unpublished, error) {
	fsys, closeRoot, err := peek(dir)
	if err != nil {
		return Unpublished{}, err
	}
	defer closeRoot()
	ledger, err := readLedger(fsys)
	if err != nil {
		return Unpublished{}, err
	}
	published, err := readPublished(fsys)
	return published.behind(ledger), err
}

// behind lists what the published sets lack of those in the ledger.
func (p Published) behind(ledger *Ledger) Unpublished {
	u := Unpublished{First: len(p.Nodes) == 0}
	for _, node := range sortedKeys(ledger.Nodes) {
		entry := ledger.Nodes[node]
		if len(entry.Files) > 0 && entry.Version != p.Nodes[node].Version {
			u.Newer = append(u.Newer, node)
		}
	}
	for _, node := range sortedKeys(p.Nodes) {
		if len(ledger.Nodes[node].Files) == 0 {
			u.Gone = append(u.Gone, node)
		}
	}
	return u
}

// write replaces the record unless it would not change.
func (p Published) write(fsys durable.FS) error {
	p.SchemaVersion = LedgerSchemaVersion
	text, err := json.Marshal(p, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode what was published: %w", err)
	}
	text = append(text, '\n')
	if before, err := fsys.ReadFile(publishedFile, MaxLedger); err == nil && string(before) == string(text) {
		return nil
	}
	return durable.ReplaceFile(fsys, publishedFile, text, fileMode)
}
