package relay

// Reason is a kebab-case word for a refusal; each has its own registry code.
type Reason string

// Reasons for which the structural gate refuses a tree (CRD-2).
const (
	MalformedDocument Reason = "malformed-document"
	MalformedArtifact Reason = "malformed-artifact"
	EmptyTree         Reason = "empty-tree"
	WrongPlane        Reason = "wrong-plane"
	NoRoot            Reason = "no-root"
	DuplicateArtifact Reason = "duplicate-artifact"
	DuplicateNode     Reason = "duplicate-node"
	MixedVersions     Reason = "mixed-versions"
	TooManyArtifacts  Reason = "too-many-artifacts"
	ArtifactTooLarge  Reason = "artifact-too-large"
	SetTooLarge       Reason = "set-too-large"
	TreeTooLarge      Reason = "tree-too-large"
)

// Reasons for everything else.
const (
	versionConflict Reason = "version-conflict"
	notStored       Reason = "not-stored"
	outcomeUnknown  Reason = "outcome-unknown"
	treeDamaged     Reason = "tree-damaged"
	floorsDamaged   Reason = "floors-damaged"
	stateTooNew     Reason = "state-too-new"
	stateInUse      Reason = "state-in-use"
	busy            Reason = "busy"
	badQuery        Reason = "bad-query"
)

var registry = map[Reason]struct{ code, meaning string }{
	badQuery: {"FL3001", "a fetch with a node, have or wait that is not of the protocol"},

	MalformedDocument: {"FL3101", "the body of a publish is not a set document"},
	MalformedArtifact: {"FL3102", "a member of the tree has no readable routing core"},
	EmptyTree:         {"FL3103", "the tree has no artifact"},
	WrongPlane:        {"FL3104", "a member of the tree is not of plane mgmt"},
	NoRoot:            {"FL3105", "a node of the tree has no artifact named agent"},
	DuplicateArtifact: {"FL3106", "two artifacts of a node have one name, case aside"},
	DuplicateNode:     {"FL3107", "two nodes of the tree have one name, case aside"},
	MixedVersions:     {"FL3108", "the artifacts of a node do not have one version"},
	TooManyArtifacts:  {"FL3109", "a node has more artifacts than an agent takes"},
	ArtifactTooLarge:  {"FL3110", "an artifact is larger than an agent takes"},
	SetTooLarge:       {"FL3111", "the set of a node is larger than an agent fetches"},
	TreeTooLarge:      {"FL3112", "the tree is larger than it may be published"},
	versionConflict:   {"FL3120", "a version is below the record, equal with other bytes, or too far above it"},
	notStored:         {"FL3121", "the tree could not be written; nothing changed"},
	outcomeUnknown:    {"FL3122", "a write was renamed into place but not synced; what is on disk is read at the next start"},
	treeDamaged:       {"FL3123", "the stored tree was unreadable and is set aside; publish again"},
	floorsDamaged:     {"FL3124", "the record of versions was unreadable and is set aside"},
	stateTooNew:       {"FL3125", "the state was written by a newer program"},
	stateInUse:        {"FL3126", "the state directory is held by another process"},
	busy:              {"FL3127", "other uploads hold all the memory that uploads may have; try again shortly"},
}

// Code is the registry code of the reason.
func (r Reason) Code() string { return registry[r].code }

// Codes is the registry of the refusals and failures that this package raises.
func Codes() map[string]string {
	codes := make(map[string]string, len(registry))
	for reason, entry := range registry {
		codes[entry.code] = string(reason) + ": " + entry.meaning
	}
	return codes
}
