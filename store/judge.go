package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// Set is a set as it stands on disk, checked against what was recorded when it
// was admitted.
type Set struct {
	Version    uint64
	Agent      *schema.Agent                // payload of the root
	Artifacts  map[string]envelope.Artifact // by name; the members that passed their check, the root included
	Unverified []string                     // workloads whose artifact did not, in list order
}

// judge decides whether a member is what was admitted. There are two: by the
// record (SET-6), and by signature where the record is lost.
type judge func(name string, text []byte) (envelope.Artifact, error)

// candidate is a retained set and what was found wrong with it.
type candidate struct {
	set    Set
	usable bool  // its root passed: the members that passed can run
	fault  error // nil when the set is whole
}

func (c candidate) whole() bool { return c.usable && c.fault == nil }

// tooNew tells that something is of a newer contract, and must be left as it is.
func tooNew(err error) bool {
	var r *envelope.Refusal
	return errors.As(err, &r) && r.Reason == envelope.SchemaTooNew
}

// byRecord judges members by the digests of an admission record: integrity
// only, since what was admitted stays admitted (ENV-13).
func byRecord(r SetRecord) judge {
	return func(name string, text []byte) (envelope.Artifact, error) {
		canonical, err := envelope.Canonical(text)
		if err != nil {
			return envelope.Artifact{}, err
		}
		if digest(canonical) != r.Members[name] {
			return envelope.Artifact{}, errors.New("it is not the text that was admitted")
		}
		return envelope.Parse(text)
	}
}

func digest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// bySignature judges members by the root's own trust block under the anchor.
func bySignature(pinned envelope.Anchor, root []byte) (judge, error) {
	parsed, err := envelope.Parse(root)
	if err != nil {
		return nil, err
	}
	agent, err := schema.ParseAgent(parsed.Payload())
	if err != nil {
		return nil, err
	}
	signers, err := pinned.TrustSet(agent.Trust)
	if err != nil {
		return nil, err
	}
	return func(_ string, text []byte) (envelope.Artifact, error) {
		v, err := signers.Verify(text)
		if err == nil && v.Artifact().Signature.KeyID != parsed.Signature.KeyID {
			err = fmt.Errorf("it is signed by %s, the root by %s", v.KeyID(), parsed.Signature.KeyID)
		}
		return v.Artifact(), err
	}, nil
}

// inspect reads a set and judges each of its members.
func (s *Scope) inspect(version uint64, node string, judgeFor func(root []byte) (judge, error)) candidate {
	c := candidate{set: Set{Version: version, Artifacts: map[string]envelope.Artifact{}}}
	text, err := s.readMember(version, envelope.AgentName)
	if err != nil {
		c.fault = err
		return c
	}
	judge, err := judgeFor(text)
	if err != nil {
		c.fault = err
		return c
	}
	if c.fault = c.admitRoot(judge, text, node); c.fault != nil {
		return c
	}
	c.usable = true
	for _, w := range c.set.Agent.Workloads {
		if err := s.inspectMember(&c, judge, w.Name); err != nil {
			c.set.Unverified = append(c.set.Unverified, w.Name)
			c.fault = errors.Join(c.fault, fmt.Errorf("%s of %s: %w", w.Name, setName(version), err))
		}
	}
	return c
}

func (c *candidate) admitRoot(judge judge, text []byte, node string) error {
	root, err := judge(envelope.AgentName, text)
	if err != nil {
		return fmt.Errorf("the root of %s: %w", setName(c.set.Version), err)
	}
	if node == "" {
		node = root.Node
	}
	if err := c.checkCore(root, node, envelope.AgentName); err != nil {
		return err
	}
	agent, err := schema.ParseAgent(root.Payload())
	if err != nil {
		return fmt.Errorf("the root of %s: %w", setName(c.set.Version), err)
	}
	c.set.Agent, c.set.Artifacts[envelope.AgentName] = agent, root
	return nil
}

func (s *Scope) inspectMember(c *candidate, judge judge, name string) error {
	text, err := s.readMember(c.set.Version, name)
	if err != nil {
		return err
	}
	a, err := judge(name, text)
	if err != nil {
		return err
	}
	if err := c.checkCore(a, c.set.Artifacts[envelope.AgentName].Node, name); err != nil {
		return err
	}
	c.set.Artifacts[name] = a
	return nil
}

// checkCore refuses an artifact that stands in the wrong place.
func (c *candidate) checkCore(a envelope.Artifact, node, name string) error {
	want := envelope.Ref{Node: node, Plane: envelope.Mgmt, Name: name}
	if a.Ref() != want || a.Version != c.set.Version {
		return fmt.Errorf("%s@v%d stands where %s@v%d is due", a.Ref(), a.Version, want, c.set.Version)
	}
	return nil
}

func (s *Scope) readMember(version uint64, name string) ([]byte, error) {
	return s.fsys.ReadFile(path.Join(setDir(version), artifactFile(name)), envelope.MaxEnvelope)
}

// coherent returns c, or a candidate that nobody may use where its members,
// whole by signature, do not form a set (ENV-18).
func (c candidate) coherent(pinned envelope.Anchor) candidate {
	if !c.whole() {
		return c
	}
	signers, err := pinned.TrustSet(c.set.Agent.Trust)
	if err != nil {
		return candidate{fault: err}
	}
	var members []envelope.Verified
	for _, a := range c.set.Artifacts {
		v, err := signers.Verify(a.Raw())
		if err != nil {
			return candidate{fault: err}
		}
		members = append(members, v)
	}
	node := c.set.Artifacts[envelope.AgentName].Node
	if _, err := schema.CheckSet(pinned.TrustDomain, node, members); err != nil {
		return candidate{fault: fmt.Errorf("%s: %w", setName(c.set.Version), err)}
	}
	return c
}
