// # Ledger and compiled tree
//
// [Compile] compares each node's payloads, in canonical form, with the set that
// stands in .flor/compiled, and moves a node to its next version only when a
// payload or the membership differs. .flor/ledger.json has the highest version
// of every node, departed ones included, and the digest of every file.
//
// Where the contract is silent: a set of which a file was edited, added or
// removed by hand is signed anew, at a version above the recorded one and, if
// its signatures hold, above its own; so is every node whose version a
// coordinator or --floor says is taken. A ledger that is missing is made anew
// from the sets whose signatures hold; one that is damaged or newer is refused,
// because guessing could use a version twice. Only *.json files of a node's
// directory count. The Check option takes no lock and refuses to judge a tree
// that an unfinished compile left.
//
// New sets are written and synced in .flor/staging, then .flor/journal.json
// records what moves where: that is the decision. Files are then renamed into
// the tree, the ledger is replaced, the journal removed. A run that finds a
// journal finishes it, one that finds only staging drops it, so that a crash
// leaves the old tree or the new. Between the decision and its end a reader may
// see files of both: publish and issue take the same lock as Compile.
//
// # What is remembered beside the tree
//
// [Issue] records each certificate in .flor/issued.jsonl, synced, before it hands
// out the bundle. [Revoke] takes certificates from there to .flor/revoked.jsonl,
// and [Load] gives those that have not expired to every vertex (PKI-6).
// .flor/published.json has what a coordinator took last. The ledger also keeps
// the keys that left the trust block: a source that lists one again is refused,
// since nodes that saw it go refuse it for ever (ENV-12).
//
// [Rotation] leads through the exchange of a signer. Moving a line of the YAML
// moves no version, so the second step is asked for by CompileOptions.Resign.
//
// CMP-18 is judged by the address that the sets dial: a move is refused when a
// set that is as it was written dials another one, or when no such set is left
// to tell. Nobody is stranded before a node has a certificate; until then it is
// allowed.
package compiler

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope"
)

const (
	// LedgerSchemaVersion is what ledger.json says of itself.
	LedgerSchemaVersion = "1.0"
	// MaxLedger is the most bytes that are read as a ledger: 256 artifacts of
	// 10,000 nodes fit several times over.
	MaxLedger = 256 << 20
	// MaxFloorStep is how far above our own version a floor that a coordinator
	// reports is believed (CMP-15). A coordinator is not trusted with more: it
	// could use up the version numbers of a node.
	MaxFloorStep = 1 << 9
)

// Ledger remembers the highest version that was ever signed for each node
// (CMP-15). It is .flor/ledger.json, kept in git. Nodes that left stay in it.
type Ledger struct {
	SchemaVersion string                `json:"schema_version"`
	Nodes         map[string]LedgerNode `json:"nodes"`
	// Retired maps each signing key that once stood in a trust block and no
	// longer does, in standard base64, to the SPIFFE ID it signed as. Nodes
	// never take it back (ENV-12).
	Retired map[string]string `json:"retired,omitempty"`
}

// LedgerNode is one node's line in the ledger.
type LedgerNode struct {
	// Version is the highest version that was signed for the node here.
	Version uint64 `json:"version"`
	// Floor is a version that somebody else has seen of this node: the next
	// set must be above it. 0 when none was learnt.
	Floor uint64 `json:"floor"`
	// Files maps each file of the node's compiled set to its SHA-256 in hex;
	// empty for a node that left.
	Files map[string]string `json:"files"`
}

// emptyLedger is that of a repository which was never compiled.
func emptyLedger() *Ledger {
	return &Ledger{SchemaVersion: LedgerSchemaVersion, Nodes: map[string]LedgerNode{}}
}

// parseLedger reads a ledger strictly: one that was damaged or written by a
// newer retectl is refused, never repaired by guessing.
func parseLedger(text []byte) (*Ledger, error) {
	if len(text) > MaxLedger {
		return nil, ledgerDamaged(fmt.Errorf("it is over %d bytes", MaxLedger))
	}
	if _, unmerged := facade.MergeConflict(text); unmerged {
		return nil, ledgerUnmerged()
	}
	var l Ledger
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return nil, ledgerUnreadable(text, err)
	}
	if l.SchemaVersion != LedgerSchemaVersion {
		return nil, ledgerNewer(l.SchemaVersion)
	}
	if err := l.check(); err != nil {
		return nil, ledgerDamaged(err)
	}
	if l.Nodes == nil {
		l.Nodes = map[string]LedgerNode{}
	}
	return &l, nil
}

// ledgerUnreadable tells a ledger of a newer form from one that is broken.
func ledgerUnreadable(text []byte, cause error) error {
	var probe struct {
		SchemaVersion string `json:"schema_version"`
	}
	if json.Unmarshal(text, &probe) == nil && probe.SchemaVersion != LedgerSchemaVersion && probe.SchemaVersion != "" {
		return ledgerNewer(probe.SchemaVersion)
	}
	return ledgerDamaged(cause)
}

func (l *Ledger) check() error {
	for node, entry := range l.Nodes {
		if err := envelope.SafeName(node); err != nil {
			return fmt.Errorf("node %q: %w", node, err)
		}
		if entry.Version > envelope.MaxVersion || entry.Floor > envelope.MaxVersion {
			return fmt.Errorf("node %s: a version over %d", node, uint64(envelope.MaxVersion))
		}
	}
	return nil
}

// text is the ledger as it is written: sorted, indented, one newline at the end.
func (l *Ledger) text() ([]byte, error) {
	text, err := json.Marshal(l, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encode ledger: %w", err)
	}
	return append(text, '\n'), nil
}

// clone lets a caller change nodes without touching l.
func (l *Ledger) clone() *Ledger {
	return &Ledger{SchemaVersion: LedgerSchemaVersion, Nodes: maps.Clone(l.Nodes), Retired: maps.Clone(l.Retired)}
}

// retire remembers keys that fell out of the rete's trust block.
func (l *Ledger) retire(entries []envelope.Entry) {
	if l.Retired == nil && len(entries) > 0 {
		l.Retired = map[string]string{}
	}
	for _, e := range entries {
		l.Retired[e.Pubkey] = e.SPIFFEID
	}
}

// same tells whether both ledgers say the same.
func (l *Ledger) same(other *Ledger) bool {
	return maps.Equal(l.Retired, other.Retired) && maps.EqualFunc(l.Nodes, other.Nodes, func(a, b LedgerNode) bool {
		return a.Version == b.Version && a.Floor == b.Floor && maps.Equal(a.Files, b.Files)
	})
}

// last is the highest version that is known of node, by whoever signed it.
func (l *Ledger) last(node string) uint64 {
	entry := l.Nodes[node]
	return max(entry.Version, entry.Floor)
}

// Conflict is what a coordinator says of one node whose offered version it
// cannot take (coordinator's 409).
type Conflict struct {
	Node            string
	Stored, Offered uint64
}

// Learn returns the ledger with the stored versions of conflicts as floors
// (CMP-15), and the conflicts that are not believed because they lie more than
// MaxFloorStep above what was offered or ever signed here.
func (l *Ledger) Learn(conflicts []Conflict) (learnt *Ledger, unbelieved []Conflict) {
	learnt = l.clone()
	for _, c := range conflicts {
		entry, known := learnt.Nodes[c.Node]
		if !known || c.Stored > entry.Version+MaxFloorStep {
			unbelieved = append(unbelieved, c)
			continue
		}
		entry.Floor = max(entry.Floor, c.Stored)
		learnt.Nodes[c.Node] = entry
	}
	return learnt, unbelieved
}
