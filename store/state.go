package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/florete/flor/envelope"
)

// StateVersion is the schema_version of agent/state.json that this package
// writes, and the newest that it reads.
const StateVersion = "1.0"

// maxState bounds agent/state.json, in bytes.
const maxState = 16 << 20

// State is what a node remembers of the sets it admitted (SET-6). It is a
// value: changing it changes nothing on disk.
type State struct {
	Node    string
	Mark    uint64      // high-water mark: never falls
	Pending uint64      // admitted, not yet confirmed; 0: none
	Active  uint64      // the active set; not stored here but in artifacts/mgmt/current
	Sets    []SetRecord // one for each retained set, ascending
	Retired []string    // public keys, standard base64, that must never sign again
}

// SetRecord is what was found true of a set when it was admitted.
type SetRecord struct {
	Version uint64            `json:"version"`
	Members map[string]string `json:"members"` // name → sha256 hex of the canonical text, signature included
	Trust   envelope.Block    `json:"trust"`   // of the set's root
}

// Record returns the record of a retained set.
func (st State) Record(version uint64) (SetRecord, bool) {
	i := slices.IndexFunc(st.Sets, func(r SetRecord) bool { return r.Version == version })
	if i < 0 {
		return SetRecord{}, false
	}
	return st.Sets[i], true
}

// withRecord returns st with r in place of what it has for that version.
func (st State) withRecord(r SetRecord) State {
	st = st.keeping(func(version uint64) bool { return version != r.Version })
	st.Sets = append(st.Sets, r)
	slices.SortFunc(st.Sets, func(a, b SetRecord) int {
		if a.Version < b.Version {
			return -1
		}
		return 1
	})
	return st
}

// keeping returns st with the records of the versions that keep names.
func (st State) keeping(keep func(version uint64) bool) State {
	st.Sets = slices.DeleteFunc(slices.Clone(st.Sets), func(r SetRecord) bool { return !keep(r.Version) })
	return st
}

// settled returns st as it is when the active set is known. A set that was
// recorded and never became active is forgotten; so are the retirements that it
// would have brought: its root never replaced the held block.
func (st State) settled() State {
	if st.Pending == 0 || st.Pending == st.Active {
		return st
	}
	unflipped := st.Pending
	st.Pending = 0
	if unflipped < st.Active {
		return st
	}
	st = st.keeping(func(version uint64) bool { return version != unflipped })
	held, _ := st.Record(st.Active)
	listed := func(key string) bool {
		return slices.ContainsFunc(slices.Concat(held.Trust.Mgmt, held.Trust.Ctrl),
			func(e envelope.Entry) bool { return e.Pubkey == key })
	}
	st.Retired = slices.DeleteFunc(slices.Clone(st.Retired), listed)
	return st
}

// document is agent/state.json.
type document struct {
	SchemaVersion string      `json:"schema_version"`
	Node          string      `json:"node"`
	Mark          uint64      `json:"mark"`
	Pending       uint64      `json:"pending,omitzero"`
	Sets          []SetRecord `json:"sets"`
	Retired       []string    `json:"retired"`
}

func formatState(st State) ([]byte, error) {
	text, err := json.Marshal(document{
		SchemaVersion: StateVersion, Node: st.Node, Mark: st.Mark, Pending: st.Pending,
		Sets: st.Sets, Retired: st.Retired,
	}, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(text, '\n'), err
}

// parseState reads agent/state.json, closed. The version is judged before the
// rest, because a newer document may have members that we do not know.
func parseState(text []byte) (State, error) {
	if err := gateState(text); err != nil {
		return State{}, err
	}
	var d document
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return State{}, err
	}
	st := State{Node: d.Node, Mark: d.Mark, Pending: d.Pending, Sets: d.Sets, Retired: d.Retired}
	return st, st.check()
}

func gateState(text []byte) error {
	var head struct {
		SchemaVersion string `json:"schema_version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	return envelope.CheckSchemaVersion(stateFile, head.SchemaVersion, StateVersion)
}

// check refuses a document that no flor of ours wrote.
func (st State) check() error {
	if err := envelope.SafeName(st.Node); err != nil {
		return err
	}
	if st.Mark > envelope.MaxVersion || st.Pending > envelope.MaxVersion {
		return errors.New("a version is over its limit")
	}
	last := uint64(0)
	for _, r := range st.Sets {
		if r.Version <= last || r.Version > envelope.MaxVersion {
			return fmt.Errorf("the record of version %d is out of order", r.Version)
		}
		if err := r.check(); err != nil {
			return fmt.Errorf("the record of version %d: %w", r.Version, err)
		}
		last = r.Version
	}
	return nil
}

func (r SetRecord) check() error {
	if r.Members[envelope.AgentName] == "" {
		return errors.New("it has no root")
	}
	for name, digest := range r.Members {
		raw, err := hex.DecodeString(digest)
		if err != nil || len(raw) != 32 {
			return fmt.Errorf("the digest of %.80q is not a SHA-256", name)
		}
	}
	return nil
}
