package envelope

import "strings"

// SchemaVersion is the envelope version that this package writes, and the
// newest that it reads (ENV-15).
const SchemaVersion = "1.0"

// Limits. A text over one of them is refused with a [Refusal] that names it.
const (
	MaxEnvelope   = 4 << 20   // bytes of one artifact
	MaxSetFetch   = 64 << 20  // bytes of a set document that a node fetches
	MaxSetPublish = 256 << 20 // bytes of a set document that is published
	MaxArtifacts  = 256       // artifacts of one node
	MaxMembers    = 1 << 20   // members of one set document, of however many nodes
	MaxDepth      = 64        // nested objects and arrays, the outermost counting as one
	MaxVersion    = 1<<53 - 1 // newest version of a stream; the oldest is 1
)

// AgentName is the name of a set's root (ENV-4, ENV-18).
const AgentName = "agent"

// ReservedName is the name that no artifact may bear (ENV-4).
const ReservedName = "manifest"

// PlaneKind says whose authority signs an artifact.
type PlaneKind string

// The two planes.
const (
	Mgmt PlaneKind = "mgmt" // the operator
	Ctrl PlaneKind = "ctrl" // a delegated control plane
)

// Core is the routing core of an artifact: what a relay needs to know (ENV-16).
type Core struct {
	SchemaVersion string
	Plane         PlaneKind
	Version       uint64 // 1 … MaxVersion
	Node, Name    string // safe by ENV-4
}

// Ref returns the address of the artifact.
func (c Core) Ref() Ref { return Ref{Node: c.Node, Plane: c.Plane, Name: c.Name} }

// Ref addresses one artifact, at whatever version.
type Ref struct {
	Node  string
	Plane PlaneKind
	Name  string
}

// String returns node/plane/name.
func (r Ref) String() string { return r.Node + "/" + string(r.Plane) + "/" + r.Name }

// maxName is the longest safe name, in bytes (ENV-4).
const maxName = 63

// SafeName refuses, with reason [UnsafeName], what is not a single safe path
// component by ENV-4: 1 to 63 characters of [A-Za-z0-9._-] that start with a
// letter or digit, do not end in a dot and do not form a basename that some
// operating system reserves (CON, COM1.txt, …).
func SafeName(s string) error {
	switch {
	case s == "":
		return refuse(UnsafeName, "a name may not be empty")
	case len(s) > maxName:
		return refuse(UnsafeName, "a name of %d characters is over the limit of %d", len(s), maxName)
	case !isAlnum(s[0]):
		return refuse(UnsafeName, "name %q must start with a letter or digit", s)
	case s[len(s)-1] == '.':
		return refuse(UnsafeName, "name %q may not end in a dot", s)
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && !strings.ContainsRune("._-", rune(s[i])) {
			return refuse(UnsafeName, "name %q may only contain letters, digits, dot, underscore and hyphen", s)
		}
	}
	if reservedBasename(s) {
		return refuse(UnsafeName, "name %q is reserved by an operating system", s)
	}
	return nil
}

// SameName tells whether two safe names are the same name: they are when they
// differ by case only (ENV-4).
func SameName(a, b string) bool { return FoldName(a) == FoldName(b) }

// FoldName returns the form in which names can be compared or used as map
// keys: two safe names are the same name exactly when their folded forms are
// equal (ENV-4).
func FoldName(s string) string { return strings.ToLower(s) }

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// reservedBasename tells whether s, up to its first dot, is a device name on
// systems that keep such names in every directory.
func reservedBasename(s string) bool {
	base, _, _ := strings.Cut(strings.ToLower(s), ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (base[:3] == "com" || base[:3] == "lpt") && '0' <= base[3] && base[3] <= '9'
}
