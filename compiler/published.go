package compiler

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
