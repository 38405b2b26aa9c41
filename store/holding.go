package store

import (
	"errors"
	"fmt"

	"github.com/florete/flor/envelope"
)

// Holding is what an enrolled scope holds, by which an enrolment over it is
// judged (BND-3). It is a value: nothing on disk depends on it.
type Holding struct {
	Scope string
	Node  string        // empty where nothing readable names it
	Mark  uint64        // where the state is lost: the version of the newest set that can run
	Held  envelope.Held // anchor, signers of the active set and retired keys
	Lost  error         // why the record of trust cannot be read, if so: signers and retired keys are not known (SET-6)

	state State
}

// Holding reads what the scope holds and changes nothing. It asks for less than
// Load: a scope of which nothing can run any more still has its anchor, its
// mark and its retired keys. Without a usable anchor the reason is BadAnchor,
// with a state of a newer flor StateTooNew.
func (s *Scope) Holding() (*Holding, error) {
	pinned, err := s.Anchor()
	if err != nil {
		return nil, err
	}
	st, err := s.readState()
	if tooNew(err) {
		return nil, s.refuseTooNew(err)
	}
	if err != nil {
		return s.holdingByAnchor(pinned, err)
	}
	found, err := s.survey(st)
	if err != nil {
		return nil, err
	}
	st = found.holding(st)
	h := &Holding{Scope: s.name, Node: st.Node, Mark: st.Mark, state: st,
		Held: envelope.Held{Anchor: pinned, Retired: st.Retired}}
	record, ok := st.Record(st.Active)
	if !ok {
		h.Lost = errors.New("no admitted set is recorded")
		return h, nil
	}
	if h.Held.Signers, err = pinned.TrustSet(record.Trust); err != nil {
		h.Lost = fmt.Errorf("the trust recorded with %s: %w", setName(st.Active), err)
	}
	return h, nil
}

// holding is the state as a start would settle it; where nothing can run, what
// was active last counts, or else the newest that was admitted.
func (f *survey) holding(st State) State {
	if f.chosen.usable {
		return f.stateAfter(st)
	}
	st.Active = f.current
	if _, ok := st.Record(st.Active); !ok && len(st.Sets) > 0 {
		st.Active = st.Sets[len(st.Sets)-1].Version
	}
	return st.settled()
}

// holdingByAnchor tells what can be told where the state is lost: a set that
// can run by its signatures names node and version.
func (s *Scope) holdingByAnchor(pinned envelope.Anchor, lost error) (*Holding, error) {
	found, err := s.survey(State{})
	if err != nil {
		return nil, err
	}
	if err := s.chooseBySignature(&found, pinned); err != nil {
		return nil, err
	}
	h := &Holding{Scope: s.name, Held: envelope.Held{Anchor: pinned}, Lost: lost}
	if root, ok := found.chosen.set.Artifacts[envelope.AgentName]; ok {
		h.Node, h.Mark = root.Node, root.Version
	}
	return h, nil
}
