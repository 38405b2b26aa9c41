package schema

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/florete/flor/envelope"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// MaxFaults is how many faults of one payload are told at most, so that a
// hostile payload does not grow into a huge error.
const MaxFaults = 1000

// Fault is one thing that is wrong with a payload.
type Fault struct {
	Reason  Reason
	Path    string // of the member, such as workloads[2].run
	Message string
}

// Code returns the stable code of the fault's reason.
func (f Fault) Code() string { return f.Reason.Code() }

func (f Fault) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Code(), f.Reason, f.Path, f.Message)
}

// PayloadError lists every fault of a payload, up to [MaxFaults]. It has at
// least one.
type PayloadError struct {
	Family string // agent or vertex
	Faults []Fault
}

// Error prints each fault on a line of its own.
func (e *PayloadError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = e.Family + " payload: " + f.String()
	}
	return strings.Join(lines, "\n")
}

// Code returns the stable code of the first fault.
func (e *PayloadError) Code() string { return e.Faults[0].Code() }

// checker collects the faults of one payload.
type checker struct {
	faults []Fault
	seen   map[unique]string // where each was seen first
}

// unique is what a payload may have once: a key of one sort.
type unique struct{ sort, key string }

// result returns the faults that were collected as an error, or nil.
func (c *checker) result(family string) error {
	if len(c.faults) == 0 {
		return nil
	}
	return &PayloadError{Family: family, Faults: c.faults}
}

func (c *checker) fault(reason Reason, path, format string, args ...any) {
	if len(c.faults) < MaxFaults {
		c.faults = append(c.faults, Fault{reason, path, fmt.Sprintf(format, args...)})
	}
}

// version holds a payload's schema_version against the family's own ladder.
func (c *checker) version(family, version, own string) {
	if err := envelope.CheckSchemaVersion("the "+family+" payload", version, own); err != nil {
		c.fault(BadVersion, "schema_version", "%v", err)
	}
}

// present faults an empty string.
func (c *checker) present(path, s string) bool {
	if s == "" {
		c.fault(Missing, path, "is required")
	}
	return s != ""
}

// word faults what is none of the words.
func (c *checker) word(path, s string, words ...string) {
	if c.present(path, s) && !slices.Contains(words, s) {
		c.fault(UnknownWord, path, "%.80q is not %s", s, strings.Join(words, " or "))
	}
}

// id faults what is not a SPIFFE ID of one of the kinds, and returns it else.
func (c *checker) id(path, s string, kinds ...Kind) (spiffeid.ID, bool) {
	if !c.present(path, s) {
		return spiffeid.ID{}, false
	}
	id, err := spiffeid.FromString(s)
	if err != nil {
		c.fault(BadID, path, "%.80q: %v", s, err)
		return spiffeid.ID{}, false
	}
	kind, err := KindOf(id)
	if err != nil || !slices.Contains(kinds, kind) {
		c.fault(WrongKind, path, "%.300s is not the SPIFFE ID of a %s", s, orList(kinds))
		return spiffeid.ID{}, false
	}
	return id, true
}

// addr faults what is not an IP literal with a port other than 0.
func (c *checker) addr(path, s string) (netip.AddrPort, bool) {
	if !c.present(path, s) {
		return netip.AddrPort{}, false
	}
	addr, err := netip.ParseAddrPort(s)
	if err != nil || addr.Port() == 0 {
		c.fault(BadAddress, path, "%.80q is not an IP literal with a port, such as 127.0.0.1:1080 or [::1]:1080", s)
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()), true
}

// listen is addr for an address that nobody else in the payload may listen on.
func (c *checker) listen(path, s string) {
	if addr, ok := c.addr(path, s); ok {
		c.unique(path, "listen address", addr.String())
	}
}

// unique faults the second of two equal keys of one sort.
func (c *checker) unique(path, sort, key string) {
	if c.seen == nil {
		c.seen = make(map[unique]string)
	}
	entry := unique{sort, key}
	if first, ok := c.seen[entry]; ok {
		c.fault(Duplicate, path, "%s %.300s is already in %s", sort, key, first)
		return
	}
	c.seen[entry] = path
}

// field is one string member of a variant.
type field struct{ name, value string }

// variant faults fields that are not of the variant.
func (c *checker) variant(path, kind string, fields []field, own []string) {
	for _, f := range fields {
		if f.value != "" && !slices.Contains(own, f.name) {
			c.fault(Stray, path+"."+f.name, "does not belong to %s", kind)
		}
	}
}

// element is the path of one element of a list.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func orList(kinds []Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, " or ")
}
