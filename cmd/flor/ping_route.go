package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/program"
)

// activeSet is what the set on disk says of the vertex.
type activeSet struct {
	node       string
	version    uint64
	domain     spiffeid.TrustDomain
	workloads  []string
	vertexName string
	vertex     *schema.Vertex
}

// readActive reads the active set of a scope as its agent has verified it.
func readActive(layout store.Layout, scope string) (activeSet, error) {
	root, err := memberOf(layout, scope, envelope.AgentName)
	if err != nil {
		return activeSet{}, err
	}
	agent, err := schema.ParseAgent(root.Payload())
	if err != nil {
		return activeSet{}, err
	}
	coordinator, err := spiffeid.FromString(agent.Sync.Coordinator)
	if err != nil {
		return activeSet{}, err
	}
	set := activeSet{node: root.Node, version: root.Version, domain: coordinator.TrustDomain()}
	for _, w := range agent.Workloads {
		set.workloads = append(set.workloads, w.Name)
		member, err := memberOf(layout, scope, w.Name)
		if err != nil {
			return activeSet{}, err
		}
		if vertex, err := schema.ParseVertex(member.Payload()); err == nil && set.vertex == nil {
			set.vertexName, set.vertex = w.Name, vertex
		}
	}
	if set.vertex == nil {
		return activeSet{}, errors.New("it has no vertex")
	}
	return set, nil
}

func memberOf(layout store.Layout, scope, name string) (envelope.Artifact, error) {
	paths, err := layout.Locate(scope, name, "")
	if err != nil {
		return envelope.Artifact{}, err
	}
	member, err := program.ReadArtifact(paths.Artifact)
	if err != nil {
		return envelope.Artifact{}, fmt.Errorf("%s: %w", filepath.Base(paths.Artifact), err)
	}
	return member, nil
}

// target reads the name of a service: as an ID, a hostname, node/name or name.
func (s activeSet) target(service string) (spiffeid.ID, error) {
	switch node, name, ofNode := strings.Cut(service, "/"); {
	case strings.HasPrefix(service, "spiffe://"):
		return spiffeid.FromString(service)
	case strings.HasSuffix(strings.TrimSuffix(strings.ToLower(service), "."), ".rete"):
		return schema.ParseHostname(service, s.domain)
	case ofNode:
		return schema.NodeServiceID(s.domain, node, name)
	}
	return schema.ServiceID(s.domain, service)
}

// route is how a set leads to a target.
type route struct {
	set    activeSet
	target spiffeid.ID
	link   string // where the target's vertex is; empty: it is this one
	local  string // the upstream of a target on this very vertex
}

// resolve is the step "name": does this node's set lead to the target?
func (s activeSet) resolve(r *pingReport, target spiffeid.ID) (route, bool) {
	way := route{set: s, target: target}
	r.Target = target.String()
	r.Hostname, _ = schema.Hostname(target)
	for _, w := range s.vertex.Workloads {
		for _, io := range w.IO {
			if w.SPIFFEID == r.Target && io.Upstream != "" {
				way.local = io.Upstream
			}
		}
	}
	for _, list := range s.vertex.Links {
		for _, link := range list.Members {
			if link.Peer == r.Target {
				way.link = link.Via.Addr
			}
		}
	}
	switch {
	case way.local != "":
		r.found(stepName, fmt.Sprintf("%s is served by this node (set v%d)", target, s.version))
	case way.link != "":
		r.found(stepName, fmt.Sprintf("%s is at %s (set v%d of node %s)", target, way.link, s.version, s.node))
	default:
		r.stop(step{stepName, refused, "FL4103",
			fmt.Sprintf("set v%d of node %s does not lead to %s: there is no such service, or nobody on this node may reach it; a set does not tell which", s.version, s.node, target),
			"your operator can tell: retectl access --why; if it is new: flor agent sync"})
		return way, true
	}
	return way, false
}

// may tells whether the set lets a principal of this node call the target. That
// of a target on this very node knows the target's own list, too.
func (w route) may(id string) bool {
	target := w.target.String()
	return allows(w.set.vertex.Egress, target, id) && (w.local == "" || allows(w.set.vertex.Ingress, target, id))
}

func allows(rules []schema.Rule, target, id string) bool {
	return slices.ContainsFunc(rules, func(r schema.Rule) bool {
		return r.Target == target && slices.Contains(r.Allow, id)
	})
}

// callers map the principals that programs on this node can call as to where
// they connect.
func (w route) callers() map[string]string {
	callers := map[string]string{}
	for _, workload := range w.set.vertex.Workloads {
		for _, io := range workload.IO {
			if io.Kind == schema.SOCKS5 {
				callers[workload.SPIFFEID] = io.Listen
			}
		}
	}
	return callers
}

// caller is the step "caller": as whom, and may they, as far as this node knows?
func (w route) caller(r *pingReport, as string) (id string, ended bool, err error) {
	callers := w.callers()
	id, err = chooseCaller(callers, w.may, as)
	if err != nil {
		return "", false, err
	}
	if id == "" {
		r.stop(step{stepCaller, refused, "FL4101",
			fmt.Sprintf("set v%d lets nobody on node %s call %s", w.set.version, w.set.node, w.target),
			"your operator can tell why: retectl access --why"})
		return "", true, nil
	}
	r.Caller, r.Inbound = id, callers[id]
	if !w.may(id) {
		r.stop(step{stepCaller, refused, "FL4101",
			fmt.Sprintf("set v%d does not let %s call %s", w.set.version, id, w.target),
			"your operator can tell why: retectl access --why; if access was just granted: flor agent sync"})
		return id, true, nil
	}
	r.found(stepCaller, id+" may call it, as far as this node knows")
	return id, false, nil
}

// chooseCaller picks the principal that --as names, by ID or name, or the only
// one that may. Nobody is no error: then nobody may.
func chooseCaller(callers map[string]string, may func(id string) bool, as string) (string, error) {
	var fit, all []string
	for id := range callers {
		all = append(all, id)
		if named := as != "" && (id == as || strings.HasSuffix(id, "/"+as)); named || (as == "" && may(id)) {
			fit = append(fit, id)
		}
	}
	slices.Sort(fit)
	slices.Sort(all)
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return "", refuse(wrongUsage, "name one of %s with --as", strings.Join(fit, ", "))
	case as != "":
		return "", refuse(wrongUsage, "nobody on this node calls as %q; with --as name one of %s", as, strings.Join(all, ", "))
	}
	return "", nil
}
