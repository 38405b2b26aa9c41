package compiler

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/florete/flor/envelope/schema"
)

// model is a random rete in the plainest form: who has which roles, what is
// where. It computes access by itself, by looking at everything.
type model struct {
	nodes    []string
	services map[string]modelService
	roles    map[string][]string // role -> groups
	users    map[string]modelUser
}

type modelService struct {
	at            string
	groups, roles []string
}

type modelUser struct {
	roles, nodes []string
}

func drawModel(t *rapid.T) model {
	pick := func(label string, from []string, max int) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, min(max, len(from)), rapid.ID[string]).Draw(t, label)
	}
	m := model{services: map[string]modelService{}, roles: map[string][]string{}, users: map[string]modelUser{}}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		m.nodes = append(m.nodes, fmt.Sprint("n", i))
	}
	groups, roles := numbered("g", 4), numbered("r", 4)
	for _, role := range roles {
		m.roles[role] = pick("allow", groups, 3)
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "services") {
		m.services[fmt.Sprint("s", i)] = modelService{
			at:     rapid.SampledFrom(m.nodes).Draw(t, "at"),
			groups: pick("groups", groups, 3),
			roles:  pick("service roles", roles, 2),
		}
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "users") {
		m.users[fmt.Sprint("u", i)] = modelUser{roles: pick("user roles", roles, 2), nodes: pick("devices", m.nodes, 2)}
	}
	m.users["op"] = modelUser{roles: []string{"operator"}, nodes: []string{"n0"}}
	return m
}

func numbered(stem string, n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint(stem, i))
	}
	return names
}

func (m model) yaml() string {
	var b strings.Builder
	b.WriteString("nodes:\n")
	for i, n := range m.nodes {
		fmt.Fprintf(&b, "  %s: {vertices: [{name: v, kind: link, type: quic, address: 10.0.0.%d:4433}], socks5_proxy: 127.0.0.1:1900}\n", n, i+1)
	}
	b.WriteString("services:\n  coordinator: {at: n0, addr: 127.0.0.1:9000, groups: [coordinator-sync]}\n" +
		"  coordinator-publisher: {at: n0, addr: 127.0.0.1:9001, groups: [coordinator-publish]}\n")
	for i, name := range slices.Sorted(maps.Keys(m.services)) {
		s := m.services[name]
		fmt.Fprintf(&b, "  %s: {at: %s, addr: 127.0.0.1:%d, groups: [%s]", name, s.at, 8000+i, strings.Join(s.groups, ", "))
		if len(s.roles) > 0 {
			fmt.Fprintf(&b, ", roles: [%s], socks5_proxy: 127.0.0.1:%d", strings.Join(s.roles, ", "), 7000+i)
		}
		b.WriteString("}\n")
	}
	b.WriteString("groups: {coordinator-sync: , coordinator-publish: , g0: , g1: , g2: , g3: }\n" +
		"roles:\n  node: {allow: [coordinator-sync]}\n  operator: {allow: [coordinator-publish]}\n")
	for _, role := range slices.Sorted(maps.Keys(m.roles)) {
		fmt.Fprintf(&b, "  %s: {allow: [%s]}\n", role, strings.Join(m.roles[role], ", "))
	}
	b.WriteString("users:\n")
	for i, name := range slices.Sorted(maps.Keys(m.users)) {
		u := m.users[name]
		var devices []string
		for _, n := range u.nodes {
			devices = append(devices, fmt.Sprintf("{at: %s, socks5_proxy: 127.0.0.1:%d}", n, 6000+i))
		}
		fmt.Fprintf(&b, "  %s: {roles: [%s], nodes: [%s]}\n", name, strings.Join(u.roles, ", "), strings.Join(devices, ", "))
	}
	return b.String()
}

// may tells by the definition of CMP-11 whether roles reach the groups.
func (m model) may(roles, groups []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool {
		return slices.ContainsFunc(m.roles[role], func(g string) bool { return slices.Contains(groups, g) })
	})
}

// wanted is the access of the model: pairs "initiator target".
func (m model) wanted() map[string]bool {
	pairs := map[string]bool{lovers + "user/op " + lovers + "service/coordinator-publisher": true}
	for _, n := range m.nodes {
		pairs[lovers+"node/"+n+" "+lovers+"service/coordinator"] = true
	}
	for target, s := range m.services {
		for name, u := range m.users {
			if m.may(u.roles, s.groups) {
				pairs[lovers+"user/"+name+" "+lovers+"service/"+target] = true
			}
		}
		for name, from := range m.services {
			if m.may(from.roles, s.groups) {
				pairs[lovers+"service/"+name+" "+lovers+"service/"+target] = true
			}
		}
	}
	return pairs
}

// lawWorld is one directory in which random networks are projected.
type lawWorld struct{ *world }

func newLawWorld(t *testing.T) lawWorld {
	w := newWorld(t)
	for name := range loversYAML {
		w.remove(name)
	}
	w.write("rete.yaml", reteYAML)
	return lawWorld{w}
}

func (w lawWorld) project(t *rapid.T, m model) []NodePayloads {
	if err := os.WriteFile(filepath.Join(w.dir, "net.yaml"), []byte(m.yaml()), 0o644); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(w.source())
	if faults, ok := err.(*SourceError); ok {
		t.Fatalf("%v\n%s", faults.Diagnostics, m.yaml())
	}
	if err != nil {
		t.Fatal(err)
	}
	projected, err := Project(context.Background(), loaded.View)
	if err != nil {
		t.Fatal(err)
	}
	return projected
}

// pairsOf collects the rows of a table over all nodes.
func pairsOf(nodes []NodePayloads, table func(*schema.Vertex) []schema.Rule) map[string]bool {
	pairs := map[string]bool{}
	for _, n := range nodes {
		for _, row := range table(n.Vertex) {
			for _, initiator := range row.Allow {
				pairs[initiator+" "+row.Target] = true
			}
		}
	}
	return pairs
}

func ingress(v *schema.Vertex) []schema.Rule { return v.Ingress }
func egress(v *schema.Vertex) []schema.Rule  { return v.Egress }

// CMP-11, CMP-13: for every network, what the rows allow is exactly what the
// roles say; each way out has its way in, its link, and the right address.
func TestRowsAllowExactlyWhatRolesSay(t *testing.T) {
	t.Parallel()
	w := newLawWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		nodes := w.project(t, m)
		in, out := pairsOf(nodes, ingress), pairsOf(nodes, egress)
		if want := m.wanted(); !maps.Equal(want, in) {
			t.Fatalf("ingress %v, the roles say %v\n%s", in, want, m.yaml())
		}
		for pair := range out {
			if !in[pair] {
				t.Fatalf("a way out without a way in: %s\n%s", pair, m.yaml())
			}
		}
		for _, n := range nodes {
			m.checkLinks(t, n)
			checkEgress(t, n, in)
		}
	})
}

// checkEgress: whoever lives here and may reach something finds the way out, and
// lists are sorted, so that one network has one text.
func checkEgress(t *rapid.T, n NodePayloads, in map[string]bool) {
	out := pairsOf([]NodePayloads{n}, egress)
	for pair := range in {
		initiator, _, _ := strings.Cut(pair, " ")
		lives := slices.ContainsFunc(n.Vertex.Workloads, func(w schema.VertexWorkload) bool { return w.SPIFFEID == initiator })
		if lives && !out[pair] {
			t.Fatalf("node %s has no way out for %s", n.Node, pair)
		}
	}
	for _, row := range slices.Concat(n.Vertex.Egress, n.Vertex.Ingress) {
		if !slices.IsSorted(row.Allow) {
			t.Fatalf("node %s: the allow list of %s is not sorted: %v", n.Node, row.Target, row.Allow)
		}
	}
}

// checkLinks: links and egress name the same targets, each at its node, and all
// principals in egress live here.
func (m model) checkLinks(t *rapid.T, n NodePayloads) {
	linked := map[string]string{}
	for _, list := range n.Vertex.Links {
		for _, link := range list.Members {
			linked[link.Peer] = link.Via.Addr
		}
	}
	local := map[string]bool{}
	for _, workload := range n.Vertex.Workloads {
		local[workload.SPIFFEID] = true
	}
	if len(linked) != len(n.Vertex.Egress) {
		t.Fatalf("node %s has %d links and %d egress rows", n.Node, len(linked), len(n.Vertex.Egress))
	}
	for _, row := range n.Vertex.Egress {
		if want := m.addressOf(row.Target); linked[row.Target] != want {
			t.Fatalf("node %s: %s is linked at %q, its node is at %q", n.Node, row.Target, linked[row.Target], want)
		}
		for _, initiator := range row.Allow {
			if !local[initiator] {
				t.Fatalf("node %s: %s may go out, and does not live here", n.Node, initiator)
			}
		}
	}
}

func (m model) addressOf(target string) string {
	at := "n0"
	if s, ok := m.services[strings.TrimPrefix(target, lovers+"service/")]; ok {
		at = s.at
	}
	return fmt.Sprintf("10.0.0.%d:4433", slices.Index(m.nodes, at)+1)
}

// CMP-14: a principal appears on its own nodes and where it may go, nowhere
// else; and once removed, nowhere at all.
func TestRemovingAPrincipalRemovesEveryMention(t *testing.T) {
	t.Parallel()
	w := newLawWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		candidates := slices.Sorted(maps.Keys(m.users))
		gone := rapid.SampledFrom(candidates).Filter(func(s string) bool { return s != "op" || len(candidates) == 1 }).Draw(t, "gone")
		if gone == "op" {
			t.Skip("only the operator is left, and a rete needs one")
		}
		id := lovers + "user/" + gone
		for _, n := range w.project(t, m) {
			if mentioned(t, n, id) && !m.concerns(n.Node, gone) {
				t.Fatalf("node %s mentions %s without need\n%s", n.Node, id, m.yaml())
			}
		}
		delete(m.users, gone)
		for _, n := range w.project(t, m) {
			if mentioned(t, n, id) {
				t.Fatalf("node %s still mentions %s\n%s", n.Node, id, m.yaml())
			}
		}
	})
}

func mentioned(t *rapid.T, n NodePayloads, id string) bool {
	for _, p := range n.Payloads() {
		text, err := json.Marshal(p.Value)
		if err != nil {
			t.Fatal(err)
		}
		if contains(text, `"`+id+`"`) {
			return true
		}
	}
	return false
}

// concerns: the user works on the node, or may reach a service there.
func (m model) concerns(node, user string) bool {
	u := m.users[user]
	if slices.Contains(u.nodes, node) {
		return true
	}
	for _, s := range m.services {
		if s.at == node && m.may(u.roles, s.groups) {
			return true
		}
	}
	return false
}
