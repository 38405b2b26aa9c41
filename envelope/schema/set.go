package schema

import (
	"fmt"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Set is a verified, coherent mgmt set of one node. [VerifySet] makes it. It is
// not changed once made, and may be read from several goroutines.
type Set struct {
	Node    string
	Version uint64
	Agent   *Agent              // payload of the root
	Members []envelope.Verified // root first, then in the order of the inventory
	Trust   *envelope.TrustSet  // of the root's block, for [envelope.Held.Adopt]
}

// Member returns the member of that name.
func (s *Set) Member(name string) (envelope.Verified, bool) {
	for _, m := range s.Members {
		if m.Core().Name == name {
			return m, true
		}
	}
	return envelope.Verified{}, false
}

// SetError says why members do not form a coherent set (ENV-18).
type SetError struct {
	Reason   Reason
	Artifact envelope.Ref // the member that it is about; zero if the set as a whole
	Err      error        // in words; never nil
}

// Error prints code, reason, member and words.
func (e *SetError) Error() string {
	if e.Artifact == (envelope.Ref{}) {
		return fmt.Sprintf("%s %s: %v", e.Code(), e.Reason, e.Err)
	}
	return fmt.Sprintf("%s %s: %s: %v", e.Code(), e.Reason, e.Artifact, e.Err)
}

// Code returns the stable code of the reason.
func (e *SetError) Code() string { return e.Reason.Code() }

// Unwrap returns the cause.
func (e *SetError) Unwrap() error { return e.Err }

func incoherent(reason Reason, ref envelope.Ref, format string, args ...any) error {
	return &SetError{reason, ref, fmt.Errorf(format, args...)}
}

// CheckSet checks that verified members form a coherent mgmt set of the node in
// the trust domain, and returns the root's payload (ENV-18). The order of the
// members does not matter. Each failure is its own reason of a [*SetError].
func CheckSet(td spiffeid.TrustDomain, node string, members []envelope.Verified) (*Agent, error) {
	root, err := findRoot(cores(members))
	if err != nil {
		return nil, err
	}
	agent, err := ParseAgent(members[root].Payload())
	if err != nil {
		return nil, incoherent(RootUnread, members[root].Core().Ref(), "%w", err)
	}
	if err := checkSet(td, node, members, root, agent); err != nil {
		return nil, err
	}
	return agent, nil
}

func cores(members []envelope.Verified) []envelope.Core {
	cores := make([]envelope.Core, len(members))
	for i, m := range members {
		cores[i] = m.Core()
	}
	return cores
}

// findRoot returns the index of the one member that is named agent.
func findRoot(members []envelope.Core) (int, error) {
	if len(members) > envelope.MaxArtifacts {
		return 0, incoherent(TooManyMembers, envelope.Ref{}, "%d artifacts are over the limit of %d", len(members), envelope.MaxArtifacts)
	}
	root := -1
	for i, m := range members {
		if m.Name != envelope.AgentName {
			continue
		}
		if root >= 0 {
			return 0, incoherent(TwoRoots, m.Ref(), "the set has a root already")
		}
		root = i
	}
	if root < 0 {
		return 0, incoherent(NoRoot, envelope.Ref{}, "none of %d members is named %s", len(members), envelope.AgentName)
	}
	return root, nil
}

// checkSet checks members of which one is the root with the payload agent.
func checkSet(td spiffeid.TrustDomain, node string, members []envelope.Verified, root int, agent *Agent) error {
	if err := checkMembers(node, members, members[root]); err != nil {
		return err
	}
	if err := checkInventory(agent, members, members[root]); err != nil {
		return err
	}
	for _, text := range agent.ids() {
		if id, err := spiffeid.FromString(text); err != nil || id.TrustDomain() != td {
			return incoherent(ForeignID, members[root].Core().Ref(), "%s is not of the scope's trust domain, %s", text, td)
		}
	}
	return nil
}

// checkMembers checks what each member has in common with the root.
func checkMembers(node string, members []envelope.Verified, root envelope.Verified) error {
	names := make(map[string]bool, len(members))
	for _, m := range members {
		core := m.Core()
		name := envelope.FoldName(core.Name)
		switch {
		case core.Plane != envelope.Mgmt:
			return incoherent(WrongPlane, core.Ref(), "a mgmt set has no artifact of plane %q", core.Plane)
		case core.Node != node:
			return incoherent(WrongNode, core.Ref(), "it is for node %s, and a set of node %q is wanted", core.Node, node)
		case core.Version != root.Core().Version:
			return incoherent(WrongVersion, core.Ref(), "it has version %d, and the root %d", core.Version, root.Core().Version)
		case names[name]:
			return incoherent(DuplicateMember, core.Ref(), "another member has this name, by case or exactly")
		case m.KeyID() != root.KeyID():
			return incoherent(MixedSigners, core.Ref(), "it is signed by %s, and the root by %s", m.KeyID(), root.KeyID())
		}
		names[name] = true
	}
	return nil
}

// checkInventory checks that members other than the root and the inventory
// name each other.
func checkInventory(agent *Agent, members []envelope.Verified, root envelope.Verified) error {
	present := make(map[string]bool, len(members))
	for _, m := range members {
		present[m.Core().Name] = true
	}
	listed := map[string]bool{envelope.AgentName: true}
	for _, w := range agent.Workloads {
		listed[w.Name] = true
		if !present[w.Name] {
			return incoherent(MissingMember, root.Core().Ref(), "workload %s of the inventory is not in the set", w.Name)
		}
	}
	for _, m := range members {
		if !listed[m.Core().Name] {
			return incoherent(UnlistedMember, m.Core().Ref(), "the root's inventory does not name it")
		}
	}
	return nil
}

// VerifySet verifies the texts of a set for admission by a node that holds h:
// the root by [envelope.Held.VerifyRoot] at the time now, the other members by
// the root's signer (ENV-12), all of them together by [CheckSet]. It is the one
// way from bytes to a [Set].
//
// The error matches, with errors.As, an [*envelope.Refusal] or a [*SetError].
func VerifySet(h envelope.Held, node string, members [][]byte, now time.Time) (*Set, error) {
	at, err := probeRoot(members)
	if err != nil {
		return nil, err
	}
	v := rootReader{}
	root, trust, err := h.VerifyRoot(members[at], v.block, now)
	if err != nil {
		return nil, payloadVersion(err, members[at])
	}
	verified, err := verifyMembers(trust, members, at, root)
	if err != nil {
		return nil, err
	}
	if err := checkSet(h.Anchor.TrustDomain, node, verified, at, v.agent); err != nil {
		return nil, err
	}
	s := &Set{Node: node, Version: root.Core().Version, Agent: v.agent, Trust: trust}
	s.Members = inOrder(v.agent, verified)
	return s, nil
}

// rootReader reads the root's payload once, for its block and for the set.
type rootReader struct{ agent *Agent }

func (r *rootReader) block(payload []byte) (envelope.Block, error) {
	agent, err := ParseAgent(payload)
	if err != nil {
		return envelope.Block{}, err
	}
	r.agent = agent
	return agent.Trust, nil
}

// probeRoot finds the root among texts that are not verified yet.
func probeRoot(members [][]byte) (int, error) {
	if len(members) > envelope.MaxArtifacts {
		return findRoot(make([]envelope.Core, len(members)))
	}
	probed := make([]envelope.Core, len(members))
	for i, text := range members {
		core, err := envelope.Probe(text)
		if err != nil {
			return 0, fmt.Errorf("member %d of the set: %w", i+1, err)
		}
		probed[i] = core
	}
	return findRoot(probed)
}

func verifyMembers(trust *envelope.TrustSet, members [][]byte, at int, root envelope.Verified) ([]envelope.Verified, error) {
	verified := make([]envelope.Verified, len(members))
	for i, text := range members {
		if i == at {
			verified[i] = root
			continue
		}
		m, err := trust.Verify(text)
		if err != nil {
			return nil, err
		}
		verified[i] = m
	}
	return verified, nil
}

// inOrder returns the members of a coherent set in the order of a [Set].
func inOrder(agent *Agent, members []envelope.Verified) []envelope.Verified {
	byName := make(map[string]envelope.Verified, len(members))
	for _, m := range members {
		byName[m.Core().Name] = m
	}
	ordered := []envelope.Verified{byName[envelope.AgentName]}
	for _, w := range agent.Workloads {
		ordered = append(ordered, byName[w.Name])
	}
	return ordered
}

// payloadVersion explains a root that cannot be parsed by the version of its
// payload, where that is the reason (ENV-14).
func payloadVersion(err error, root []byte) error {
	if _, strict := envelope.Parse(root); strict == nil {
		return err
	}
	_, version := envelope.PeekSchemaVersions(root)
	return envelope.OrVersion(err, "the agent payload", version, AgentVersion)
}
