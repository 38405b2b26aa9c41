package relay

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/florete/flor/envelope"
)

// floorsVersion is the form of floors.json; a newer one is refused.
const floorsVersion = "1.0"

// maxFloors bounds floors.json, in bytes: room for some 800,000 nodes.
const maxFloors = 64 << 20

type floorsDocument struct {
	SchemaVersion string            `json:"schema_version"`
	Floors        map[string]uint64 `json:"floors"`
}

// floorsError says that floors.json is not what it must be.
type floorsError struct{ err error }

func (e *floorsError) Error() string { return "record of versions: " + e.err.Error() }
func (e *floorsError) Unwrap() error { return e.err }

// StateTooNew says that a state file was written by a newer program. Nothing was
// touched.
type StateTooNew struct{ Name, Version string }

// Code is the registry code.
func (*StateTooNew) Code() string { return stateTooNew.Code() }

func (e *StateTooNew) Error() string {
	return fmt.Sprintf("%s %s: %s has schema_version %s, which this program does not know: upgrade flor-coordinator",
		e.Code(), stateTooNew, e.Name, e.Version)
}

// Document writes the record as one JSON text, nodes in order of name: the form in
// which a Storage keeps it, floors.json in a FileStore. A record of more than
// 64 MiB is an error.
func (f Floors) Document() ([]byte, error) {
	doc := floorsDocument{SchemaVersion: floorsVersion, Floors: make(map[string]uint64, len(f.byName))}
	for _, floor := range f.byName {
		doc.Floors[floor.node] = floor.version
	}
	text, err := json.Marshal(doc, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write the record of versions: %w", err)
	}
	if len(text) >= maxFloors {
		return nil, fmt.Errorf("the record of versions would have %d bytes, the limit is %d: reset the coordinator", len(text), maxFloors)
	}
	return append(text, '\n'), nil
}

// ParseFloors reads what Document wrote. Its error is a *StateTooNew for a record of
// a newer program, which must not be replaced, and otherwise says what is wrong
// with the text: a Storage reports that as Damage.
func ParseFloors(text []byte) (Floors, error) {
	var doc floorsDocument
	if err := json.Unmarshal(text, &doc, json.RejectUnknownMembers(true)); err != nil {
		return Floors{}, newerOr(floorsFile, floorsVersion, text, &floorsError{err: err})
	}
	if doc.SchemaVersion != floorsVersion {
		return Floors{}, newerOr(floorsFile, floorsVersion, text, &floorsError{err: fmt.Errorf("schema_version %q", doc.SchemaVersion)})
	}
	floors := Floors{byName: make(map[string]floor, len(doc.Floors))}
	for node, version := range doc.Floors {
		if err := floors.read(node, version); err != nil {
			return Floors{}, &floorsError{err: err}
		}
	}
	return floors, nil
}

func (f Floors) read(node string, version uint64) error {
	if err := envelope.SafeName(node); err != nil {
		return err
	}
	if version < 1 || version > envelope.MaxVersion {
		return errors.New("node " + node + " has a version out of range")
	}
	f.lift(node, version)
	return nil
}

// newerForm is a schema_version of this major or a later one.
var newerForm = regexp.MustCompile(`^[1-9][0-9]*\.(0|[1-9][0-9]*)$`)

// newerOr tells a file of a newer program, which must not be touched, from a
// broken one. known is the schema_version that this program writes into it, empty
// for a file that has none.
func newerOr(name, known string, text []byte, broken error) error {
	var glance struct {
		SchemaVersion string `json:"schema_version"`
	}
	if json.Unmarshal(text, &glance) != nil || glance.SchemaVersion == known ||
		!newerForm.MatchString(glance.SchemaVersion) {
		return broken
	}
	return &StateTooNew{Name: name, Version: glance.SchemaVersion}
}
