package compiler

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

// maxName is the longest name of anything, in bytes (CMP-5).
const maxName = 63

// checkPrincipal judges the name of a node, service, user, signer or vertex:
// its form by rule, and that it is not reserved (CMP-5). name is the part that
// becomes the last segment of an ID. A name that was refused as no string is not
// judged once more.
func (v *validator) checkPrincipal(at facade.Text, name, what string, rule func(facade.Text, string) bool) {
	if at.Refused || !rule(facade.Text{V: name, At: at.At}, what) {
		return
	}
	if why := reservedFor(name); why != "" {
		v.found.Add(reservedName.At(at.At, "the %s cannot be called %q: %s", what, name, why))
	}
}

// reservedFor tells who has a name already.
func reservedFor(name string) string {
	switch schema.Kind(name) {
	case schema.KindUser, schema.KindService, schema.KindNode, schema.KindVertex, schema.KindManagementPlane, schema.KindControlPlane:
		return "it is the word for a kind of principal"
	}
	switch {
	case name == envelope.AgentName, name == "manifest":
		return "it is the name of a file that each node has"
	case envelope.SafeName(name) != nil:
		return "some operating system reserves it"
	}
	return ""
}

// checkLabel wants a lower-case DNS label.
func (v *validator) checkLabel(name facade.Text, what string) bool {
	if isNameWith(name.V, "-") {
		return true
	}
	v.found.Add(suggestName(badLabel.At(name.At, "the %s %q has no DNS label for a name: %s", what, name.V, flaw(name.V, "-")), name.V, "-"))
	return false
}

// checkName wants what users, groups, roles and signers may be called.
func (v *validator) checkName(name facade.Text, what string) bool {
	if name.Refused || isNameWith(name.V, "._-") {
		return true
	}
	v.found.Add(suggestName(badName.At(name.At, "the %s %q has a malformed name: %s", what, name.V, flaw(name.V, "._-")), name.V, "._-"))
	return false
}

// isNameWith reports whether a name is 1 to 63 of a-z, 0-9 and the given
// characters, with a letter or digit at both ends.
func isNameWith(name, inner string) bool { return flaw(name, inner) == "" }

// flaw tells what is wrong with a name. A character that looks like another is
// told by its number.
func flaw(name, inner string) string {
	if name == "" {
		return "it is empty"
	}
	for _, c := range name {
		if c >= utf8.RuneSelf {
			return codePoint(c)
		}
		if !isLowerAlnum(byte(c)) && !strings.ContainsRune(inner, c) {
			return fmt.Sprintf("%q is not allowed", c)
		}
	}
	switch {
	case !isLowerAlnum(name[0]) || !isLowerAlnum(name[len(name)-1]):
		return "it must start and end with a letter or digit"
	case len(name) > maxName:
		return fmt.Sprintf("it has %d characters, %d are allowed", len(name), maxName)
	}
	return ""
}

func codePoint(c rune) string { return fmt.Sprintf("%q is U+%04X", c, c) }

// foreignLetter ends a sentence about a name that may look like another: it
// tells the first character that no name has.
func foreignLetter(name string) string {
	if i := strings.IndexFunc(name, func(c rune) bool { return c >= utf8.RuneSelf }); i >= 0 {
		c, _ := utf8.DecodeRuneInString(name[i:])
		return ": " + codePoint(c)
	}
	return ""
}

// shown is a name within a sentence, where nothing would be overlooked.
func shown(name string) string {
	if name == "" {
		return `""`
	}
	return name
}

func isLowerAlnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func suggestName(d diag.Diagnostic, name, inner string) diag.Diagnostic {
	if fixed := nearestName(name, inner); fixed != "" {
		return d.Suggest("call it %q", fixed)
	}
	return d.Suggest("use 1 to %d of a-z, 0-9 and %s", maxName, inner)
}

// nearestName makes an acceptable name out of another by changing nothing but
// case and separators, or none.
func nearestName(name, inner string) string {
	fixed := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" _.", c) && !strings.ContainsRune(inner, c) {
			return '-'
		}
		return c
	}, strings.ToLower(name))
	fixed = strings.Trim(fixed, "._-")
	if !isNameWith(fixed, inner) {
		return ""
	}
	return fixed
}

// identities gives every principal its SPIFFE ID. A name that has been refused
// may have none. The hostnames are tried as well (VTX-2): the longest that does
// not fit is reported at the name of the rete.
func (v *validator) identities() {
	td := v.view.TrustDomain
	if !known(td) {
		return
	}
	var h hostnames
	for _, n := range v.view.Nodes {
		n.ID, _ = schema.NodeID(td, n.Name)
		if n.Vertex != nil {
			n.Vertex.ID = h.checked(schema.VertexID(td, n.Name, n.Vertex.Name))
		}
	}
	for _, s := range v.view.Services {
		s.ID = h.checked(serviceID(td, s))
	}
	for _, u := range v.view.Users {
		u.ID, _ = schema.UserID(td, u.Name)
	}
	if h.longest != "" {
		v.found.Add(hostnameTooLong.At(v.anchor(), "%s can have no hostname in this rete: %s", strings.TrimPrefix(h.longest, "/"), h.why))
	}
}

// hostnames remembers the longest ID that has no hostname, and why.
type hostnames struct{ longest, why string }

// checked passes an ID on, after trying its hostname. A name that has been
// refused makes no ID, and is no news.
func (h *hostnames) checked(id spiffeid.ID, err error) spiffeid.ID {
	if err != nil {
		return spiffeid.ID{}
	}
	if _, err := schema.Hostname(id); err != nil && len(id.Path()) > len(h.longest) {
		h.longest = id.Path()
		_, h.why, _ = strings.Cut(err.Error(), ": ") // without a code of its own
	}
	return id
}

func serviceID(td spiffeid.TrustDomain, s *Service) (spiffeid.ID, error) {
	node, leaf, scoped := strings.Cut(s.Name, "/")
	if scoped {
		return schema.NodeServiceID(td, node, leaf)
	}
	return schema.ServiceID(td, s.Name)
}

// leaf is the last part of a service's name.
func (s *Service) leaf() string { return s.Name[strings.LastIndexByte(s.Name, '/')+1:] }

// bearer is somebody with a name.
type bearer struct {
	what string
	name string
	at   diag.Place
}

// sharedNames checks that users, nodes and services of the rete have different
// names, and that on each node so have all whose last segment becomes a file
// there, and the vertex (CMP-5).
func (v *validator) sharedNames() {
	taken := map[string]bearer{}
	for _, n := range v.view.Nodes {
		v.claim(taken, bearer{"node", n.Name, n.At}, "the rete")
	}
	for _, s := range v.view.Services {
		if !s.NodeScoped {
			v.claim(taken, bearer{"service", s.Name, s.At}, "the rete")
		}
	}
	for _, u := range v.view.Users {
		v.claim(taken, bearer{"user", u.Name, u.At}, "the rete")
	}
	for _, n := range v.view.Nodes {
		v.namesOn(n)
	}
}

// namesOn compares what is local to a node with everybody there. That two
// names of the rete are equal has been told already.
func (v *validator) namesOn(n *Node) {
	taken := map[string]bearer{envelope.FoldName(n.Name): {"node", n.Name, n.At}}
	for _, d := range n.Devices {
		taken[envelope.FoldName(d.User.Name)] = bearer{"user", d.User.Name, d.User.At}
	}
	for _, s := range n.Services {
		if !s.NodeScoped {
			taken[envelope.FoldName(s.Name)] = bearer{"service", s.Name, s.At}
		}
	}
	for _, s := range n.Services {
		if s.NodeScoped {
			v.claim(taken, bearer{"service", s.leaf(), s.At}, "node "+n.Name)
		}
	}
	if n.Vertex != nil {
		v.claim(taken, bearer{"vertex", n.Vertex.Name, n.Vertex.At}, "node "+n.Name)
	}
}

func (v *validator) claim(taken map[string]bearer, b bearer, where string) {
	folded := envelope.FoldName(b.name)
	if first, ok := taken[folded]; ok {
		v.found.Add(nameTaken.At(b.at, "the %s %q has the name of a %s in %s", b.what, b.name, first.what, where).Also(first.at, "the %s is here", first.what))
		return
	}
	taken[folded] = b
}
