package agent

import (
	"bytes"
	"fmt"
)

// maxJump is how far above the mark an offered version may lie (AGT-4.2): a
// version near 2^53 would otherwise be the last one the node ever accepts.
const maxJump = 1 << 20

// held is what admission compares an offered set with.
type held struct {
	// active is the version of the active set, mark the newest version this
	// node has accepted.
	active, mark uint64
	// members has the canonical form of each member of the active set that is
	// intact, by name, the root included.
	members map[string][]byte
	// damaged is set when members of the active set are missing from members,
	// so that the same set, offered again, is a repair (SET-5).
	damaged bool
}

// offered is a verified set as admission sees it.
type offered struct {
	version uint64
	members map[string][]byte
	// byFile says that a person handed it in, and no coordinator offers it.
	byFile bool
}

// verdict is what admission says of a set that it does not refuse.
type verdict int

const (
	admit verdict = iota
	unchanged
)

// judge decides by version and content whether a verified set is admitted
// (AGT-4.2). A refusal is a *Refusal with held and offered version.
func judge(h held, o offered) (verdict, error) {
	floor := max(h.mark, h.active)
	switch {
	case o.version < floor:
		return 0, refuseVersion(Replay, floor, o.version, "the node has accepted v%d, %s", floor, o.olderWords())
	case o.version > h.mark && o.version-h.mark > maxJump:
		return 0, refuseVersion(VersionJump, h.mark, o.version, "v%d is more than %d above the mark v%d", o.version, maxJump, h.mark)
	case o.version == h.active:
		return judgeEqual(h, o)
	}
	return admit, nil
}

// olderWords say where an older set came from, and what to do about it.
func (o offered) olderWords() string {
	if o.byFile {
		return fmt.Sprintf("the file has v%d: hand in a set that is not older", o.version)
	}
	return fmt.Sprintf("the coordinator offers v%d: publish the newest tree there again", o.version)
}

func judgeEqual(h held, o offered) (verdict, error) {
	if name := firstDifference(h, o); name != "" {
		return 0, refuseVersion(Equivocation, h.active, o.version, "v%d is active, and its %q differs from the one offered as v%d", h.active, name, o.version)
	}
	if h.damaged {
		return admit, nil
	}
	return unchanged, nil
}

// firstDifference names a member in which the two differ, or is empty. A member
// that the damaged active set has lost is no difference.
func firstDifference(h held, o offered) string {
	for name, text := range h.members {
		if !bytes.Equal(text, o.members[name]) {
			return name
		}
	}
	for name := range o.members {
		if _, ok := h.members[name]; !ok && !h.damaged {
			return name
		}
	}
	return ""
}

func refuseVersion(reason Reason, held, offered uint64, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Held: held, Offered: offered, Err: fmt.Errorf(format, args...)}
}
