package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
)

// generation is a set as the agent runs it. It does not change once made.
type generation struct {
	node    string
	version uint64
	agent   *schema.Agent
	// artifacts has each intact member, by its name in the inventory; the root
	// is "agent".
	artifacts map[string]envelope.Artifact
	// unverified says why a workload's member cannot be used (SET-5).
	unverified map[string]string
	// needs is the version that last changed what a workload runs on, 0 when
	// any process of it was spawned with this payload.
	needs map[string]uint64
}

// verifiedGeneration makes a generation of a set that admission may take in.
func verifiedGeneration(set *schema.Set) *generation {
	g := &generation{node: set.Node, version: set.Version, agent: set.Agent, artifacts: map[string]envelope.Artifact{}}
	for _, name := range append([]string{envelope.AgentName}, inventory(set.Agent)...) {
		if member, ok := set.Member(name); ok {
			g.artifacts[name] = member.Artifact()
		}
	}
	return g
}

func inventory(a *schema.Agent) []string {
	names := make([]string, 0, len(a.Workloads))
	for _, w := range a.Workloads {
		names = append(names, w.Name)
	}
	return names
}

// members is the generation as planning sees it.
func (g *generation) members() []member {
	if g == nil {
		return nil
	}
	members := make([]member, 0, len(g.agent.Workloads))
	for _, w := range g.agent.Workloads {
		m := member{name: w.Name, run: w.Run[0]}
		if artifact, ok := g.artifacts[w.Name]; ok {
			m.payload = artifact.CanonicalPayload()
		}
		members = append(members, m)
	}
	return members
}

// canonical is the generation's content as admission compares it.
func (g *generation) canonical() map[string][]byte {
	texts := make(map[string][]byte, len(g.artifacts))
	for name, artifact := range g.artifacts {
		texts[envelope.FoldName(name)] = artifact.Canonical()
	}
	return texts
}

func (g *generation) damaged() bool { return len(g.unverified) > 0 }

// tag is what a process spawned with this generation carries in status.
func (g *generation) tag() string { return tagOf(g.version) }

func tagOf(version uint64) string { return "v" + strconv.FormatUint(version, 10) }

// versionOf reads a tag, 0 when it is none.
func versionOf(tag string) uint64 {
	version, err := strconv.ParseUint(strings.TrimPrefix(tag, "v"), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// revision names what a workload runs on: its executable and its canonical
// payload, so that neither a version stamp nor white space restarts it (ENV-8).
func (m member) revision() string {
	sum := sha256.New()
	sum.Write([]byte(m.run))
	sum.Write([]byte{0})
	sum.Write(m.payload)
	return hex.EncodeToString(sum.Sum(nil))
}

// carry notes which version each workload needs to run on, given the steps
// that lead here from prev.
func (g *generation) carry(prev *generation, steps []step) {
	g.needs = make(map[string]uint64, len(steps))
	for _, s := range steps {
		switch {
		case s.action == stop:
		case s.action == keep:
			g.needs[s.name] = prev.needs[s.name]
		default:
			g.needs[s.name] = g.version
		}
	}
}

// inbound is the address that sync dials: the inbound of its principal.
func (g *generation) inbound() string {
	for _, in := range g.agent.Inbounds {
		if in.Principal == g.agent.Sync.Principal {
			return in.Via.Addr
		}
	}
	return ""
}

// answers tells that a workload's program serves a control channel whenever it
// serves: those that ship with flor do.
func (g *generation) answers(name string) bool {
	w := g.workload(name)
	return len(w.Run) > 0 && ships(w.Run[0])
}

// workload gives the inventory's entry of that name.
func (g *generation) workload(name string) schema.Workload {
	for _, w := range g.agent.Workloads {
		if w.Name == name {
			return w
		}
	}
	return schema.Workload{}
}

// damagedWords are what status says of a member that failed its check.
const damagedWords = "its artifact on disk is not the one that was admitted; the next sync replaces it"

// spoiled is g once these of its members have gone bad on disk. What they were
// is kept: processes run on it, and it is what a repair has to bring.
func (g *generation) spoiled(members map[string]string) *generation {
	next := *g
	next.unverified = members
	return &next
}

// loadedGeneration makes a generation of what a start found on disk.
func loadedGeneration(loaded *store.Loaded) *generation {
	active := loaded.Active
	g := &generation{
		node: active.Artifacts[envelope.AgentName].Node, version: active.Version, agent: active.Agent,
		artifacts: active.Artifacts, unverified: map[string]string{},
	}
	for _, name := range active.Unverified {
		g.unverified[name] = damagedWords
	}
	return g
}

// syncNeeds is what has to be there for the next sync.
func (g *generation) syncNeeds() syncNeeds {
	return syncNeeds{addr: g.inbound(), principal: g.agent.Sync.Principal}
}
