package agent

import (
	"bytes"
	"fmt"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// MaxVersionJump is how far above the mark an offered version may lie
// (AGT-4.2): a version near 2^53 would otherwise be the last one the node ever
// accepts.
const MaxVersionJump = 1 << 20

// Held is what an offered set is compared with. The zero value is a node that
// has accepted nothing yet.
type Held struct {
	// Active is the version of the active set, Mark the newest version that this
	// node has accepted.
	Active, Mark uint64
	// Members has what of the active set is intact, as [Contents] gives it.
	Members map[string][]byte
	// Damaged tells that Members lacks some of the active set, so that the same
	// set, offered again, is a repair (SET-5).
	Damaged bool
}

// Offered is a set that has been verified ([schema.VerifySet]), as admission
// sees it.
type Offered struct {
	Version uint64
	// Members is what [Contents] gives.
	Members map[string][]byte
	// ByFile says that a person handed the set in, and no coordinator offers it.
	// It changes the words of a refusal and nothing else.
	ByFile bool
}

// Verdict is what admission says of a set that it does not refuse.
type Verdict int

// The verdicts: the set is taken in, or it is the one that is active.
const (
	Admit Verdict = iota
	Unchanged
)

// Contents is what a verified set holds, for comparison: the canonical form of
// each member, the root included, by its name with the case folded.
func Contents(set *schema.Set) map[string][]byte {
	texts := make(map[string][]byte, len(set.Members))
	for _, member := range set.Members {
		texts[envelope.FoldName(member.Core().Name)] = member.Canonical()
	}
	return texts
}

// Judge decides by version and content whether a verified set is admitted
// (AGT-4.2). A refusal is a *[Refusal] with held and offered version: [Replay]
// below the mark or the active version, [VersionJump] more than [MaxVersionJump]
// above the mark, [Equivocation] for the active version with other content. It
// is a function of values.
func Judge(h Held, o Offered) (Verdict, error) {
	floor := max(h.Mark, h.Active)
	switch {
	case o.Version < floor:
		return 0, refuseVersion(Replay, floor, o.Version, "the node has accepted v%d, %s", floor, o.olderWords())
	case o.Version > h.Mark && o.Version-h.Mark > MaxVersionJump:
		return 0, refuseVersion(VersionJump, h.Mark, o.Version, "v%d is more than %d above the mark v%d: compile it again with the ledger that made v%d", o.Version, MaxVersionJump, h.Mark, h.Mark)
	case o.Version == h.Active:
		return judgeEqual(h, o)
	}
	return Admit, nil
}

// olderWords say where an older set came from, and what to do about it.
func (o Offered) olderWords() string {
	if o.ByFile {
		return fmt.Sprintf("the file has v%d: hand in a set that is not older", o.Version)
	}
	return fmt.Sprintf("the coordinator offers v%d: publish the newest tree there again", o.Version)
}

func judgeEqual(h Held, o Offered) (Verdict, error) {
	if name := firstDifference(h, o); name != "" {
		return 0, refuseVersion(Equivocation, h.Active, o.Version, "v%d is active, and its %q differs from the one offered as v%d: two sets were signed under one version, publish a newer one", h.Active, name, o.Version)
	}
	if h.Damaged {
		return Admit, nil
	}
	return Unchanged, nil
}

// firstDifference names a member in which the two differ, or is empty. A member
// that the damaged active set has lost is no difference.
func firstDifference(h Held, o Offered) string {
	for name, text := range h.Members {
		if !bytes.Equal(text, o.Members[name]) {
			return name
		}
	}
	for name := range o.Members {
		if _, ok := h.Members[name]; !ok && !h.Damaged {
			return name
		}
	}
	return ""
}

func refuseVersion(reason Reason, held, offered uint64, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Held: held, Offered: offered, Err: fmt.Errorf(format, args...)}
}
