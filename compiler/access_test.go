package compiler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
)

// baseView is the view of testdata/base.txtar.
func baseView(t *testing.T, more ...string) *compiler.View {
	t.Helper()
	dir := t.TempDir()
	base, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range base.Files {
		writeFile(t, dir, f.Name, string(f.Data))
	}
	for i, text := range more {
		writeFile(t, dir, fmt.Sprintf("more%d.yaml", i), text)
	}
	view, found, texts := validateDir(dir)
	if view == nil {
		diag.Render(os.Stderr, found, texts, false)
		t.Fatal("the rete has faults")
	}
	return view
}

func writeFile(t interface{ Fatal(...any) }, dir, name, text string) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultsAreApplied(t *testing.T) {
	t.Parallel()
	v := baseView(t, `
nodes:
  six: {vertices: [{kind: link, type: quic, address: "[2001:db8::1]:4433"}]}
  home: {vertices: [{kind: link, type: quic, address: 127.0.0.5:4433}], socks5_proxy: 127.0.0.5:1081}
  bound: {vertices: [{kind: link, type: quic, address: 5.6.7.8:4433, listen: 10.0.0.1:5533}]}
users: {zoe: {roles: [developer], nodes: [{at: six}, {at: home, socks5_proxy: 127.0.0.5:9}]}}
`)
	var got []string
	for _, n := range v.Nodes {
		got = append(got, fmt.Sprintf("%s: %s %v %v, socks5 %v", n.ID, n.Vertex.ID, n.Vertex.Address, n.Vertex.Listen, n.SOCKS5))
		for _, d := range n.Devices {
			got = append(got, fmt.Sprintf("  %s: socks5 %v, %d forwards", d.User.ID, d.SOCKS5, len(d.Forwards)))
		}
		for _, s := range n.Services {
			got = append(got, fmt.Sprintf("  %s: %v, socks5 %v, node scope %t", s.ID, s.Upstream, s.SOCKS5, s.NodeScoped))
		}
	}
	want := []string{
		"spiffe://rete-lovers/node/alpha: spiffe://rete-lovers/vertex/alpha/public 1.2.3.4:4433 0.0.0.0:4433, socks5 127.0.0.1:1081",
		"  spiffe://rete-lovers/service/alpha/ssh: 127.0.0.1:22, socks5 invalid AddrPort, node scope true",
		"  spiffe://rete-lovers/service/api: 127.0.0.1:8000, socks5 127.0.0.1:18000, node scope false",
		"spiffe://rete-lovers/node/bound: spiffe://rete-lovers/vertex/bound/quic 5.6.7.8:4433 10.0.0.1:5533, socks5 127.0.0.1:1081",
		"spiffe://rete-lovers/node/home: spiffe://rete-lovers/vertex/home/quic 127.0.0.5:4433 127.0.0.5:4433, socks5 127.0.0.5:1081",
		"  spiffe://rete-lovers/user/zoe: socks5 127.0.0.5:9, 0 forwards",
		"spiffe://rete-lovers/node/laptop: spiffe://rete-lovers/vertex/laptop/quic invalid AddrPort invalid AddrPort, socks5 127.0.0.1:1081",
		"  spiffe://rete-lovers/user/alice: socks5 invalid AddrPort, 1 forwards",
		"  spiffe://rete-lovers/user/fyodor: socks5 127.0.0.1:1082, 0 forwards",
		"spiffe://rete-lovers/node/mgmt01: spiffe://rete-lovers/vertex/mgmt01/public 9.10.11.12:4433 0.0.0.0:4433, socks5 127.0.0.1:1081",
		"  spiffe://rete-lovers/service/coordinator: 127.0.0.1:9000, socks5 invalid AddrPort, node scope false",
		"  spiffe://rete-lovers/service/coordinator-publisher: 127.0.0.1:9001, socks5 invalid AddrPort, node scope false",
		"spiffe://rete-lovers/node/six: spiffe://rete-lovers/vertex/six/quic [2001:db8::1]:4433 [::]:4433, socks5 127.0.0.1:1081",
		"  spiffe://rete-lovers/user/zoe: socks5 127.0.0.1:1080, 0 forwards",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("view differs (-want +got):\n%s", diff)
	}
	if v.Management.Name != "mgmt01" || v.Coordinator.Name != "coordinator" || v.Publisher.Name != "coordinator-publisher" {
		t.Errorf("management is %v, %v, %v", v.Management, v.Coordinator, v.Publisher)
	}
	const hours = 24 * 60 * 60 * 1e9
	if want := (compiler.Validity{CA: 3650 * hours, Signers: 365 * hours, Principals: 90 * hours}); v.Validity != want || v.PollInterval != 0 {
		t.Errorf("validity is %v, poll interval %v", v.Validity, v.PollInterval)
	}
}

func TestAccessTellsWhoAndWhy(t *testing.T) { // CMP-11
	t.Parallel()
	v := baseView(t)
	var got []string
	for _, p := range v.Principals() {
		for _, s := range p.Targets() {
			for _, g := range p.Grants(s) {
				got = append(got, fmt.Sprintf("%s reaches %s: %s at %s, %s at %s, joined at %s", p.Name, s.Name, g.Role.Name, g.Given, g.Group.Name, g.Allowed, g.Joined))
			}
		}
	}
	want := []string{
		"alpha reaches coordinator: node at access.yaml:3:3, coordinator-sync at access.yaml:3:18, joined at services.yaml:2:60",
		"laptop reaches coordinator: node at access.yaml:3:3, coordinator-sync at access.yaml:3:18, joined at services.yaml:2:60",
		"mgmt01 reaches coordinator: node at access.yaml:3:3, coordinator-sync at access.yaml:3:18, joined at services.yaml:2:60",
		"api reaches alpha/ssh: backend at services.yaml:4:96, admin at access.yaml:6:21, joined at services.yaml:5:44",
		"alice reaches api: developer at users.yaml:3:19, api at access.yaml:5:23, joined at services.yaml:4:82",
		"fyodor reaches coordinator-publisher: operator at users.yaml:2:20, coordinator-publish at access.yaml:4:22, joined at services.yaml:3:70",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("access differs (-want +got):\n%s", diff)
	}
}

// aRete draws the entries of a rete beside those of the base: names and
// references are drawn from small pools, so that collisions and unresolved
// names are frequent when faulty, and absent otherwise.
func aRete(t *rapid.T, faulty bool) []string {
	pool := func(label string, n int) func() string {
		return func() string {
			if faulty && rapid.IntRange(0, 19).Draw(t, "odd "+label) == 0 {
				return rapid.SampledFrom([]string{"gone", "no", "Alpha", "node", "operator", "coordinator-sync", "agent", "a", "api"}).Draw(t, label)
			}
			return fmt.Sprintf("%s%d", label, rapid.IntRange(0, n-1).Draw(t, label))
		}
	}
	node, group, role := pool("n", 4), pool("g", 4), pool("r", 4)
	list := func(one func() string) string {
		names := rapid.SliceOfNDistinct(rapid.Custom(func(*rapid.T) string { return one() }), 1, 3, rapid.ID).Draw(t, "list")
		return "[" + strings.Join(names, ", ") + "]"
	}
	var entries []string
	for i := range 4 {
		entries = append(entries,
			fmt.Sprintf("nodes: {n%d: {vertices: [{kind: link, type: quic, address: 10.0.0.%d:4433}]}}", i, i+1),
			fmt.Sprintf("groups: {g%d: }", i),
			fmt.Sprintf("roles: {r%d: {allow: %s}}", i, list(group)),
			fmt.Sprintf("users: {u%d: {roles: %s, nodes: [{at: %s, socks5_proxy: 127.0.0.1:%d}]}}", i, list(role), node(), 2000+i),
			fmt.Sprintf("services: {s%d: {at: %s, addr: 127.0.0.1:%d, groups: %s}}", i, node(), 3000+i, list(group)),
			fmt.Sprintf("services: {%s/t%d: {addr: embedded, groups: %s, roles: %s}}", fmt.Sprintf("n%d", i), i, list(group), list(role)),
		)
	}
	return entries
}

// validateSplit writes entries over so many files in that order, beside the
// base, and validates.
func validateSplit(t *rapid.T, dir string, entries []string, files int) (*compiler.View, diag.List) {
	base, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]map[string][]string, files)
	for i, e := range entries {
		section, entry, _ := strings.Cut(e, ": {")
		if texts[i%files] == nil {
			texts[i%files] = map[string][]string{}
		}
		texts[i%files][section] = append(texts[i%files][section], "  "+strings.TrimSuffix(entry, "}")+"\n")
	}
	for _, f := range base.Files {
		writeFile(t, dir, f.Name, string(f.Data))
	}
	for i, sections := range texts {
		var b strings.Builder
		for section, lines := range sections {
			b.WriteString(section + ":\n" + strings.Join(lines, ""))
		}
		writeFile(t, dir, fmt.Sprintf("file%d.yaml", i), b.String())
	}
	view, found, _ := validateDir(dir)
	return view, found
}

// TestAccessIsExactlyWhatRolesAllow compares access with its definition, each
// principal with each service (CMP-11).
func TestAccessIsExactlyWhatRolesAllow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		view, found := validateSplit(rt, t.TempDir(), aRete(rt, false), 1)
		if view == nil {
			rt.Fatalf("unexpected faults: %v", found)
		}
		for _, p := range view.Principals() {
			for _, s := range view.Services {
				want := reaches(p, s)
				if got := slices.Contains(p.Targets(), s); got != want {
					rt.Errorf("%s has %s among its targets: %t, want %t", p.Name, s.Name, got, want)
				}
				if got := slices.Contains(s.Initiators(), p); got != want {
					rt.Errorf("%s has %s among its initiators: %t, want %t", s.Name, p.Name, got, want)
				}
				if got := len(p.Grants(s)) > 0; got != want {
					rt.Errorf("%s has a grant for %s: %t, want %t", p.Name, s.Name, got, want)
				}
			}
			if !ascending(p.Targets()) {
				rt.Errorf("the targets of %s are not sorted, or one is there twice", p.Name)
			}
		}
	})
}

// ascending reports whether services are ordered by ID, each once.
func ascending(services []*compiler.Service) bool {
	for i := 1; i < len(services); i++ {
		if services[i-1].ID.String() >= services[i].ID.String() {
			return false
		}
	}
	return true
}

// reaches is the definition of access.
func reaches(p *compiler.Principal, s *compiler.Service) bool {
	for _, r := range p.Roles {
		for _, allowed := range r.Role.Allow {
			if slices.ContainsFunc(s.Groups, func(g compiler.GroupRef) bool { return g.Group == allowed.Group }) {
				return true
			}
		}
	}
	return false
}

// TestTheOrderOfFilesChangesNothing writes one rete in two ways: the entries in
// another order, over another number of files (CMP-2). What is found, and the
// view, are the same.
func TestTheOrderOfFilesChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		entries := aRete(rt, rapid.Bool().Draw(rt, "faulty"))
		view, found := validateSplit(rt, t.TempDir(), entries, 1)
		mixed := rapid.Permutation(entries).Draw(rt, "order")
		again, foundAgain := validateSplit(rt, t.TempDir(), mixed, rapid.IntRange(2, 9).Draw(rt, "files"))
		if diff := cmp.Diff(messages(found), messages(foundAgain)); diff != "" {
			rt.Errorf("the findings differ:\n%s", diff)
		}
		if diff := cmp.Diff(summary(view), summary(again)); diff != "" {
			rt.Errorf("the views differ:\n%s", diff)
		}
	})
}

// messages are what was found, without places.
func messages(found diag.List) []string {
	var list []string
	for _, d := range found {
		list = append(list, d.Code+" "+d.Message)
	}
	slices.Sort(list)
	return list
}

// summary is a view without places.
func summary(v *compiler.View) []string {
	if v == nil {
		return nil
	}
	var list []string
	for _, p := range v.Principals() {
		line := p.ID.String() + " ->"
		for _, s := range p.Targets() {
			line += " " + s.ID.String()
		}
		list = append(list, line)
	}
	for _, n := range v.Nodes {
		list = append(list, fmt.Sprint(n.Name, " ", n.Vertex.Listen, n.SOCKS5, len(n.Services), len(n.Devices)))
	}
	return list
}

// TestNoFaultIsReportedTwice is a law of every list (CMP-4): whatever the
// source, each finding is there once, has a place, and stands in order.
func TestNoFaultIsReportedTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		entries := aRete(rt, true)
		twice := rapid.SliceOfN(rapid.SampledFrom(entries), 0, 5).Draw(rt, "twice")
		view, found := validateSplit(rt, t.TempDir(), append(entries, twice...), 3)
		seen := map[string]bool{}
		for _, d := range found {
			key := fmt.Sprint(d.Place, d.Code, d.Message)
			if seen[key] || !d.Place.Known() {
				rt.Errorf("%s is there twice, or has no place", key)
			}
			seen[key] = true
		}
		if (view == nil) != found.HasErrors() {
			rt.Errorf("view is nil: %t, errors: %t", view == nil, found.HasErrors())
		}
	})
}

func TestCodesHaveOneMeaning(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range compiler.Registry() {
		if seen[c.ID] {
			t.Errorf("%s is registered twice", c.ID)
		}
		seen[c.ID] = true
	}
	if len(compiler.Codes()) < len(validationCodes())+1 {
		t.Error("Codes lacks some of this package")
	}
}
