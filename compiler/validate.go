package compiler

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

// ValidateOptions has what validation needs from outside.
type ValidateOptions struct {
	// Now is the time against which certificates are judged.
	Now time.Time
	// ReadFile reads a certificate by its path below the root of the
	// repository, slash-separated. It must refuse paths that leave the root,
	// and bound what it reads. Without it no certificate can be read, which is a
	// fault of each.
	ReadFile func(name string) ([]byte, error)
}

// Validate resolves and judges a source (CMP-3 … CMP-11). The view is nil when
// the list has errors; warnings leave it usable. The list is sorted, has every
// fault of the source once, and none that is only the echo of another, be it
// one that facade.Load has reported.
//
// It is a function of the source, the time and the certificate files, and safe
// for concurrent use with different sources.
func Validate(src *facade.Source, opts ValidateOptions) (*View, diag.List) {
	v := newValidator(src, opts)
	v.rete()
	v.declare()
	v.resolveAll()
	v.collect()
	v.proxyDefaults()
	v.view.computeAccess()
	v.reserved()
	v.addresses()
	v.sharedAddresses()
	v.sharedNames()
	v.ports()
	v.clients()
	found := v.found.Sorted()
	if found.HasErrors() {
		return nil, found
	}
	return v.view, found
}

// validator carries one run. The steps write to the view and to found; each
// later step works with what the earlier ones could make out.
type validator struct {
	src   *facade.Source
	opts  ValidateOptions
	view  *View
	found diag.List

	nodes    *table[facade.Node, Node]
	services *table[facade.Service, Service]
	groups   *table[facade.Group, Group]
	roles    *table[facade.Role, Role]
	users    *table[facade.User, User]

	suggested int
	meant     map[string]bool
}

func newValidator(src *facade.Source, opts ValidateOptions) *validator {
	if src == nil {
		src = new(facade.Source)
	}
	if opts.ReadFile == nil {
		opts.ReadFile = func(string) ([]byte, error) { return nil, errors.New("nothing was given to read files with") }
	}
	return &validator{
		src: src, opts: opts, view: &View{}, meant: map[string]bool{},
		nodes:    newTable[facade.Node, Node]("node", unknownNode),
		services: newTable[facade.Service, Service]("service", unknownService),
		groups:   newTable[facade.Group, Group]("group", unknownGroup),
		roles:    newTable[facade.Role, Role]("role", unknownRole),
		users:    newTable[facade.User, User]("user", diag.Code{}), // nothing refers to a user
	}
}

// declare enters every name before anything is resolved.
func (v *validator) declare() {
	for _, g := range v.src.Groups {
		v.checkName(g.Name, "group")
		v.groups.declare(v, g.Name, g.Again, g, &Group{Name: g.Name.V, At: g.Name.At})
	}
	for _, r := range v.src.Roles {
		v.checkName(r.Name, "role")
		v.roles.declare(v, r.Name, r.Again, r, &Role{Name: r.Name.V, At: r.Name.At, unsure: r.Faulty})
	}
	for _, n := range v.src.Nodes {
		v.declareNode(n)
	}
	for _, s := range v.src.Services {
		v.declareService(s)
	}
	for _, u := range v.src.Users {
		v.checkPrincipal(u.Name, u.Name.V, "user", v.checkName)
		user := &User{Principal: Principal{Name: u.Name.V, At: u.Name.At, unsure: u.Faulty}}
		v.users.declare(v, u.Name, u.Again, u, user)
	}
}

func (v *validator) resolveAll() {
	for _, e := range v.roles.all {
		e.view.Allow = v.groupRefs(e.written.Allow, "role "+e.view.Name, &e.view.unsure)
	}
	for _, e := range v.nodes.all {
		v.resolveNode(e.written, e.view)
	}
	for _, e := range v.services.all {
		v.resolveService(e)
	}
	for _, e := range v.users.all {
		v.resolveUser(e)
	}
}

// collect fills the lists of the view and gives everybody an identity.
func (v *validator) collect() {
	w := v.view
	w.Nodes, w.Services, w.Users = v.nodes.views(), v.services.views(), v.users.views()
	w.Groups, w.Roles = v.groups.views(), v.roles.views()
	slices.SortFunc(w.Nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Services, func(a, b *Service) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Users, func(a, b *User) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Groups, func(a, b *Group) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.Roles, func(a, b *Role) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range w.Services {
		if s.Node != nil {
			s.Node.Services = append(s.Node.Services, s)
		}
		for _, g := range s.Groups {
			g.Group.Members = append(g.Group.Members, s)
		}
	}
	for _, u := range w.Users {
		for _, d := range u.Devices {
			d.Node.Devices = append(d.Node.Devices, d)
		}
	}
	if node := v.roles.get(RoleNode); node != nil {
		for _, n := range w.Nodes {
			n.Roles = []RoleRef{{Role: node, At: node.At}}
		}
	}
	v.identities()
}

// groupRefs resolves a list of groups; unsure becomes true when one of them is
// not known.
func (v *validator) groupRefs(refs []facade.Text, where string, unsure *bool) []GroupRef {
	var list []GroupRef
	for _, ref := range v.distinct(refs, where) {
		g := resolve(v, v.groups, ref, where)
		if g == nil {
			*unsure = true
			continue
		}
		list = append(list, GroupRef{Group: g, At: ref.At})
	}
	return list
}

func (v *validator) roleRefs(refs []facade.Text, where string, unsure *bool) []RoleRef {
	var list []RoleRef
	for _, ref := range v.distinct(refs, where) {
		r := resolve(v, v.roles, ref, where)
		switch {
		case r == nil:
			*unsure = true
		case r.Name == RoleNode:
			v.found.Add(reservedGiven.At(ref.At, "%s is given the role %q, which belongs to nodes alone", where, RoleNode).Suggest("remove it"))
		default:
			list = append(list, RoleRef{Role: r, At: ref.At})
		}
	}
	return list
}

// distinct reports names that stand twice in a list, and leaves them out.
func (v *validator) distinct(refs []facade.Text, where string) []facade.Text {
	seen := make(map[string]diag.Place, len(refs))
	var list []facade.Text
	for _, ref := range refs {
		if first, twice := seen[ref.V]; twice {
			v.found.Add(repeated.At(ref.At, "%s names %q twice", where, ref.V).Also(first, "the first is here"))
			continue
		}
		seen[ref.V] = ref.At
		list = append(list, ref)
	}
	return list
}

// anchor is the place for faults about what is missing in the rete as a whole.
func (v *validator) anchor() diag.Place {
	switch r := v.src.Rete; {
	case r == nil:
		return diag.WholeFile(facade.RootFile)
	case r.Name.Given():
		return r.Name.At
	default:
		return r.At
	}
}

func sortDevices(devices []*Device) {
	slices.SortFunc(devices, func(a, b *Device) int { return strings.Compare(a.Node.Name, b.Node.Name) })
}

func (v *validator) missing(at diag.Place, what, example string) {
	v.found.Add(missingField.At(at, "%s is missing", what).Suggest("write %s", example))
}

func known(td spiffeid.TrustDomain) bool { return td != spiffeid.TrustDomain{} }
