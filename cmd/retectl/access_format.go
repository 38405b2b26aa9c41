package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/envelope/schema"
)

// writeAccessTable writes a line for each principal and service, or with why
// one for each grant.
func writeAccessTable(w io.Writer, answer []compiler.Reach, why bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if why {
		fmt.Fprintln(table, "WHO\tREACHES\tON\tROLE\tGIVEN AT\tGROUP\tALLOWED AT\tJOINED AT")
	} else {
		fmt.Fprintln(table, "WHO\tREACHES\tON\tROLE\tGROUP")
	}
	for _, r := range answer {
		head := fmt.Sprintf("%s %s\t%s\t%s", kindOf(r.Principal), r.Principal.Name, r.Service.Name, r.Service.Node.Name)
		if !why {
			fmt.Fprintf(table, "%s\t%s\t%s\n", head, uniqueGrants(r.Grants, roleName), uniqueGrants(r.Grants, groupName))
			continue
		}
		for _, g := range r.Grants {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", head, g.Role.Name, g.Given, g.Group.Name, g.Allowed, g.Joined)
		}
	}
	return table.Flush()
}

func roleName(g compiler.Grant) string  { return g.Role.Name }
func groupName(g compiler.Grant) string { return g.Group.Name }

// writeAccessCSV writes a record for each grant, under a header.
func writeAccessCSV(w io.Writer, answer []compiler.Reach) error {
	records := csv.NewWriter(w)
	records.Write([]string{"kind", "principal", "service", "node", "role", "group", "given_at", "allowed_at", "joined_at"})
	for _, r := range answer {
		for _, g := range r.Grants {
			records.Write([]string{
				string(kindOf(r.Principal)), r.Principal.Name, r.Service.Name, r.Service.Node.Name,
				g.Role.Name, g.Group.Name, g.Given.String(), g.Allowed.String(), g.Joined.String(),
			})
		}
	}
	records.Flush()
	return records.Error()
}

// accessDocument is the JSON form of an answer. Members are added at a new
// minor of schema_version, and nothing changes its meaning but at a new major.
type accessDocument struct {
	SchemaVersion string       `json:"schema_version"`
	Access        []accessLine `json:"access"`
}

type accessLine struct {
	Principal accessEnd     `json:"principal"`
	Service   accessEnd     `json:"service"`
	Grants    []accessGrant `json:"grants"`
}

// accessEnd is a principal, or with its node a service.
type accessEnd struct {
	Kind     schema.Kind `json:"kind"`
	Name     string      `json:"name"`
	SPIFFEID string      `json:"spiffe_id"`
	Node     string      `json:"node,omitempty"`
}

type accessGrant struct {
	Role    string     `json:"role"`
	Group   string     `json:"group"`
	Given   diag.Place `json:"given"`
	Allowed diag.Place `json:"allowed"`
	Joined  diag.Place `json:"joined"`
}

func accessReport(answer []compiler.Reach) accessDocument {
	doc := accessDocument{SchemaVersion: "1.0", Access: []accessLine{}}
	for _, r := range answer {
		line := accessLine{Principal: accessEndOf(r.Principal), Service: accessEndOf(&r.Service.Principal)}
		line.Service.Node = r.Service.Node.Name
		for _, g := range r.Grants {
			line.Grants = append(line.Grants, accessGrant{Role: g.Role.Name, Group: g.Group.Name, Given: g.Given, Allowed: g.Allowed, Joined: g.Joined})
		}
		doc.Access = append(doc.Access, line)
	}
	return doc
}

func accessEndOf(p *compiler.Principal) accessEnd {
	return accessEnd{Kind: kindOf(p), Name: p.Name, SPIFFEID: p.ID.String()}
}

// graphNodes numbers the principals of an answer, in order of appearance, and
// calls declare for each when it is met first.
type graphNodes struct {
	number  map[*compiler.Principal]int
	declare func(n int, p *compiler.Principal)
}

func (g *graphNodes) of(p *compiler.Principal) int {
	n, known := g.number[p]
	if !known {
		n = len(g.number)
		g.number[p] = n
		g.declare(n, p)
	}
	return n
}

// edgeLabel is why the edge is there.
func edgeLabel(r compiler.Reach) string {
	return uniqueGrants(r.Grants, roleName) + " / " + uniqueGrants(r.Grants, groupName)
}

// writeAccessDOT writes a graph for graphviz: services are boxes.
func writeAccessDOT(w io.Writer, answer []compiler.Reach) error {
	var b strings.Builder
	b.WriteString("digraph access {\n  rankdir=LR;\n")
	nodes := &graphNodes{number: map[*compiler.Principal]int{}, declare: func(n int, p *compiler.Principal) {
		shape := "ellipse"
		if kindOf(p) == schema.KindService {
			shape = "box"
		}
		fmt.Fprintf(&b, "  n%d [label=%q, shape=%s];\n", n, string(kindOf(p))+" "+p.Name, shape)
	}}
	for _, r := range answer {
		from, to := nodes.of(r.Principal), nodes.of(&r.Service.Principal)
		fmt.Fprintf(&b, "  n%d -> n%d [label=%q];\n", from, to, edgeLabel(r))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAccessMermaid writes a flowchart, which Markdown viewers draw.
func writeAccessMermaid(w io.Writer, answer []compiler.Reach) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	nodes := &graphNodes{number: map[*compiler.Principal]int{}, declare: func(n int, p *compiler.Principal) {
		opening, closing := "([", "])"
		if kindOf(p) == schema.KindService {
			opening, closing = "[", "]"
		}
		fmt.Fprintf(&b, "  n%d%s\"%s %s\"%s\n", n, opening, kindOf(p), p.Name, closing)
	}}
	for _, r := range answer {
		from, to := nodes.of(r.Principal), nodes.of(&r.Service.Principal)
		fmt.Fprintf(&b, "  n%d -->|\"%s\"| n%d\n", from, edgeLabel(r), to)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
