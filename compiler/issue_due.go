package compiler

import (
	"slices"
	"time"
)

// DueBundle is a node with principals that have no certificate there: its
// machine cannot be them until it enrols with a new bundle.
type DueBundle struct {
	Node string
	// Principals are those without a certificate, as [Described] words them, in
	// the order of the bundle.
	Principals []string
	// First tells that no bundle was ever issued for the node.
	First bool
}

// DueBundles lists the nodes of a rete, by name, that need a new bundle. A
// published set only names principals; their keys travel in bundles alone
// (PKI-4), so that a user or service that is new on a node is served by nobody
// until the machine enrols anew.
//
// It judges by the issuance log: a certificate counts that went into a bundle
// of the node, or was issued by itself, has not expired and was not revoked.
// Whether a bundle has been used is known on its machine alone. A log that
// cannot be read is refused with ReasonRecordDamaged.
func DueBundles(dir string, v *View, now time.Time) ([]DueBundle, error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	fsys, closeRoot, err := peek(dir)
	if err != nil {
		return nil, err
	}
	defer closeRoot()
	issued, err := readIssued(fsys)
	if err != nil {
		return nil, err
	}
	past := sumIssued(issued, v.Revoked, now)
	var due []DueBundle
	for _, n := range v.Nodes {
		if d := past.due(n); len(d.Principals) > 0 {
			due = append(due, d)
		}
	}
	return due, nil
}

// bearerOn is a principal, by the path of its ID, on a node; on none for a
// certificate that was issued by itself.
type bearerOn struct{ node, path string }

// issuance is what the log says, by what is asked of it.
type issuance struct {
	// bundled are the nodes for which a bundle was ever issued.
	bundled map[string]bool
	// good has who holds a certificate that vertices believe now.
	good map[bearerOn]bool
}

// sumIssued takes revoked as a [View] has it, sorted.
func sumIssued(issued []Issued, revoked []string, now time.Time) issuance {
	past := issuance{bundled: map[string]bool{}, good: map[bearerOn]bool{}}
	for _, i := range issued {
		past.bundled[i.Node] = true
		if _, void := slices.BinarySearch(revoked, i.Fingerprint); !void && now.Before(i.NotAfter) {
			past.good[bearerOn{i.Node, "/" + i.Kind + "/" + i.Name}] = true
		}
	}
	return past
}

func (p issuance) due(n *Node) DueBundle {
	d := DueBundle{Node: n.Name, First: !p.bundled[n.Name]}
	for _, l := range localsOf(n) {
		path := l.principal.ID.Path()
		if !p.good[bearerOn{n.Name, path}] && !p.good[bearerOn{"", path}] {
			d.Principals = append(d.Principals, Described(l.principal.ID.String()))
		}
	}
	return d
}
