package compiler

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// DiffSchemaVersion is what a [Diff] says of itself in JSON. Members are added
// at a new minor; nothing changes its meaning but at a new major.
const DiffSchemaVersion = "1.0"

// Diff is what changes for the people and the machines of a rete when its
// source is compiled and every node has it (CLI-2). All lists are sorted and
// never nil.
type Diff struct {
	SchemaVersion string `json:"schema_version"`
	// Joined and Left are nodes by name.
	Joined []string `json:"nodes_joined"`
	Left   []string `json:"nodes_left"`
	// Gained and Lost tell who may reach what.
	Gained []AccessChange `json:"access_gained"`
	Lost   []AccessChange `json:"access_lost"`
	// Moves are the addresses, ports and other settings that change.
	Moves []Move `json:"moves"`
	// Workloads are those that notice, of nodes that stay.
	Workloads []WorkloadChange `json:"workloads"`
	// Road is nil while the coordinator stays where it is.
	Road *RoadMove `json:"road,omitempty"`
}

// Empty tells whether nothing changes.
func (d *Diff) Empty() bool {
	return len(d.Joined)+len(d.Left)+len(d.Gained)+len(d.Lost)+len(d.Moves)+len(d.Workloads) == 0 && d.Road == nil
}

// AccessChange is one principal and one service, by SPIFFE ID.
type AccessChange struct {
	Principal string `json:"principal"`
	Service   string `json:"service"`
}

// Move is one setting of something, before and after; From is empty for what is
// new, To for what is gone.
type Move struct {
	// Node is where the setting belongs to one machine, else empty.
	Node string `json:"node,omitempty"`
	// Subject is whose it is, such as "service api".
	Subject string `json:"subject"`
	// Setting is its name in the YAML, where it has one.
	Setting string `json:"setting"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// Action is what happens to a workload.
type Action string

// The actions. Swap means that the workload takes the new payload in place and
// no connection is cut (VTX-16); every agent takes its own in place.
const (
	Start   Action = "start"
	Stop    Action = "stop"
	Restart Action = "restart"
	Swap    Action = "swap"
)

// WorkloadChange is one workload of one node; the agent counts as one.
type WorkloadChange struct {
	Node     string `json:"node"`
	Workload string `json:"workload"`
	Action   Action `json:"action"`
}

// RoadMove says that nodes find the coordinator elsewhere (CMP-18).
type RoadMove struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Stranded are the nodes that never find it again unless they fetch the
	// new set before From stops serving.
	Stranded []string `json:"stranded"`
}

// Compare tells what changes from a compiled tree to the source (CLI-2). The
// sets of the tree are taken at their word: whether they are genuine is for
// Compile to judge. A tree that is nil has no set. An artifact that cannot be read
// is refused (ReasonTreeUnsuitable).
func Compare(ctx context.Context, v *View, tree *CompiledTree) (*Diff, error) {
	now, err := Project(ctx, v)
	if err != nil {
		return nil, err
	}
	was, err := tree.payloads(ctx)
	if err != nil {
		return nil, err
	}
	d := diffRetes(newRete(was), newRete(now))
	d.Workloads, err = workloadChanges(ctx, was, now)
	return d, err
}

// rete is one side of a comparison: what all sets together say.
type rete struct {
	nodes  map[string]bool
	access map[AccessChange]bool
	facts  facts
	road   road
}

func newRete(payloads []NodePayloads) *rete {
	r := &rete{nodes: map[string]bool{}, access: map[AccessChange]bool{}, facts: factsOf(payloads)}
	for _, p := range payloads {
		r.nodes[p.Node] = true
		for _, rule := range p.Vertex.Ingress {
			for _, initiator := range rule.Allow {
				r.access[AccessChange{Principal: initiator, Service: rule.Target}] = true
			}
		}
		if p.Coordinator != nil {
			r.road = road{node: p.Node, address: dialled(p.Vertex, p.Agent.Sync.Coordinator)}
		}
	}
	return r
}

// dialled is the address at which a vertex looks for a service.
func dialled(v *schema.Vertex, service string) string {
	for _, list := range v.Links {
		for _, link := range list.Members {
			if link.Peer == service {
				return link.Via.Addr
			}
		}
	}
	return ""
}

// diffRetes compares two sides; workloads are left to workloadChanges.
func diffRetes(was, is *rete) *Diff {
	d := &Diff{SchemaVersion: DiffSchemaVersion}
	d.Joined, d.Left = changes(was.nodes, is.nodes, strings.Compare)
	d.Gained, d.Lost = changes(was.access, is.access, func(a, b AccessChange) int {
		return cmp.Or(strings.Compare(a.Principal, b.Principal), strings.Compare(a.Service, b.Service))
	})
	d.Moves = movesOf(was.facts.staying(is.nodes), is.facts.staying(was.nodes))
	d.Road = roadMove(was, is)
	return d
}

// changes gives what is only in the one and what is only in the other set.
func changes[T comparable](was, is map[T]bool, compare func(a, b T) int) (added, removed []T) {
	added, removed = []T{}, []T{}
	for t := range is {
		if !was[t] {
			added = append(added, t)
		}
	}
	for t := range was {
		if !is[t] {
			removed = append(removed, t)
		}
	}
	slices.SortFunc(added, compare)
	slices.SortFunc(removed, compare)
	return added, removed
}

// roadMove names everybody who stays and does not run the coordinator that goes.
func roadMove(was, is *rete) *RoadMove {
	if was.road == (road{}) || was.road == is.road {
		return nil
	}
	move := &RoadMove{From: was.road.String(), To: is.road.String(), Stranded: []string{}}
	for _, node := range slices.Sorted(maps.Keys(is.nodes)) {
		if was.nodes[node] && node != was.road.node {
			move.Stranded = append(move.Stranded, node)
		}
	}
	return move
}

// workloadChanges tells what each agent of a node that stays will do (AGT-4).
func workloadChanges(ctx context.Context, was, is []NodePayloads) ([]WorkloadChange, error) {
	before := make(map[string]NodePayloads, len(was))
	for _, p := range was {
		before[p.Node] = p
	}
	byNode := make([][]WorkloadChange, len(is))
	err := eachNode(ctx, len(is), func(i int) (err error) {
		if old, stays := before[is[i].Node]; stays {
			byNode[i], err = actions(old, is[i])
		}
		return err
	})
	return append([]WorkloadChange{}, slices.Concat(byNode...)...), err
}

func actions(was, is NodePayloads) ([]WorkloadChange, error) {
	var list []WorkloadChange
	add := func(workload string, action Action) {
		list = append(list, WorkloadChange{Node: is.Node, Workload: workload, Action: action})
	}
	if same, err := samePayload(was.Agent, is.Agent); err != nil {
		return nil, err
	} else if !same {
		add(envelope.AgentName, Swap)
	}
	for _, w := range is.Agent.Workloads {
		action, err := actionFor(w, was, is)
		if err != nil {
			return nil, err
		}
		if action != "" {
			add(w.Name, action)
		}
	}
	for _, w := range was.Agent.Workloads {
		if _, stays := workload(is.Agent, w.Name); !stays {
			add(w.Name, Stop)
		}
	}
	return list, nil
}

// actionFor is what happens to a workload of the new inventory; empty when it
// does not notice.
func actionFor(w schema.Workload, was, is NodePayloads) (Action, error) {
	before, known := workload(was.Agent, w.Name)
	if !known {
		return Start, nil
	}
	same, err := samePayload(was.payload(w.Name), is.payload(w.Name))
	switch {
	case err != nil:
		return "", err
	case !slices.Equal(before.Run, w.Run):
		return Restart, nil
	case same:
		return "", nil
	case w.Name == VertexName && schema.Swappable(was.Vertex, is.Vertex):
		return Swap, nil
	}
	return Restart, nil
}

func workload(a *schema.Agent, name string) (schema.Workload, bool) {
	i := slices.IndexFunc(a.Workloads, func(w schema.Workload) bool { return w.Name == name })
	if i < 0 {
		return schema.Workload{}, false
	}
	return a.Workloads[i], true
}

// payload is the payload of that name, nil when the node has none.
func (p NodePayloads) payload(name string) any {
	for _, payload := range p.Payloads() {
		if payload.Name == name {
			return payload.Value
		}
	}
	return nil
}

// samePayload compares as nodes do, in canonical form (ENV-8), which is only
// worked out for texts that differ.
func samePayload(a, b any) (bool, error) {
	was, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	is, err := json.Marshal(b)
	if err != nil || bytes.Equal(was, is) {
		return err == nil, err
	}
	if was, err = envelope.Canonical(was); err != nil {
		return false, err
	}
	is, err = envelope.Canonical(is)
	return bytes.Equal(was, is), err
}
