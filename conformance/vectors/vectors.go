// Package vectors holds the published vectors of the conformance suite: for
// each case a directory of files that an implementation must accept or refuse,
// and index.json, which says what must be said of it (CNF-2). README.md of
// package conformance tells how to use them without Go.
//
// The files are made by package mint from seeds; go test ./conformance -update
// writes them again. Their keys are published: they must never protect anything.
package vectors

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

// SchemaVersion is the version of index.json.
const SchemaVersion = "1.0"

// IndexName is the index's file name.
const IndexName = "index.json"

//go:embed all:index.json all:agent-payload all:bundle all:canonical all:envelope all:hostname all:mark all:number all:route all:set all:signature all:signer all:trust all:version all:vertex-payload
var files embed.FS

// Index is index.json.
type Index struct {
	SchemaVersion string  `json:"schema_version"`
	Cases         []Entry `json:"cases"` // sorted by name
}

// Entry is one case of the index.
type Entry struct {
	Name         string   `json:"name"`    // the directory, group/name
	Feature      string   `json:"feature"` // what one must have built to answer it
	Title        string   `json:"title"`
	Expect       Verdict  `json:"expect"`
	Code         string   `json:"code,omitempty"`   // of the refusal
	Reason       string   `json:"reason,omitempty"` // the code in a word
	Output       string   `json:"output,omitempty"` // standard output where it is accepted; absent: anything
	Requirements []string `json:"requirements"`
}

// Verdict is what an implementation must say.
type Verdict string

// The verdicts.
const (
	Accept Verdict = "accept"
	Refuse Verdict = "refuse"
)

// Load reads the index that this program was built with.
func Load() (Index, error) {
	var index Index
	text, err := files.ReadFile(IndexName)
	if err != nil {
		return index, err
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return index, fmt.Errorf("%s: %w", IndexName, err)
	}
	return index, nil
}

// Files returns the directory of a case.
func (e Entry) Files() (fs.FS, error) { return fs.Sub(files, e.Name) }
