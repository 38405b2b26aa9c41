package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/envelope/schema"
)

func accessCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:        "access",
		Usage:       "say who reaches what, and why",
		Description: "The answer is that of the YAML, not of the compiled tree. JSON and CSV always have the reasons.",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "who", Usage: "only what the node, service or user `NAME` reaches"},
			&cli.StringFlag{Name: "to", Usage: "only who reaches the `SERVICE`"},
			&cli.BoolFlag{Name: "why", Usage: "in the table: a line for each grant, with file and line"},
			formatFlag("access"),
		),
		Action: c.access,
	}
}

func (c *console) access(_ context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	format, err := chosenFormat(cmd)
	if err != nil {
		return err
	}
	_, v, err := c.openSource(cmd)
	if err != nil {
		return err
	}
	query, err := accessQuery(v, cmd.String("who"), cmd.String("to"))
	if err != nil {
		return err
	}
	answer := v.Access(query)
	if len(answer) == 0 {
		c.say("%s", whyNot(query))
	}
	return c.writeAccess(format, answer, cmd.Bool("why"))
}

func (c *console) writeAccess(format string, answer []compiler.Reach, why bool) error {
	switch format {
	case formatJSON:
		return c.writeJSON(accessReport(answer))
	case formatCSV:
		return writeAccessCSV(c.out, answer)
	case formatDOT:
		return writeAccessDOT(c.out, answer)
	case formatMermaid:
		return writeAccessMermaid(c.out, answer)
	}
	return writeAccessTable(c.out, answer, why)
}

// accessQuery finds the principals that are asked about.
func accessQuery(v *compiler.View, who, to string) (compiler.AccessQuery, error) {
	var q compiler.AccessQuery
	if who != "" {
		if q.Who = v.Principal(who); q.Who == nil {
			return q, unknownName("node, service or user", who, principalNames(v))
		}
	}
	if to != "" {
		if q.To = v.Service(to); q.To == nil {
			return q, unknownName("service", to, serviceNames(v))
		}
	}
	return q, nil
}

func unknownName(what, name string, known []string) error {
	if near, ok := diag.Nearest(name, known); ok {
		return refuse(reasonUnknownName, "the rete has no %s %q; did you mean %q?", what, name, near)
	}
	if few := diag.Few(known); few != "" {
		return refuse(reasonUnknownName, "the rete has no %s %q; name %s", what, name, few)
	}
	return refuse(reasonUnknownName, "the rete has no %s %q; \"retectl access\" lists who there is", what, name)
}

func principalNames(v *compiler.View) []string {
	var names []string
	for _, p := range v.Principals() {
		names = append(names, p.Name)
	}
	return names
}

func serviceNames(v *compiler.View) []string {
	var names []string
	for _, s := range v.Services {
		names = append(names, s.Name)
	}
	return names
}

// whyNot says what would have to be otherwise, when the answer is nobody.
func whyNot(q compiler.AccessQuery) string {
	switch {
	case q.Who != nil && q.To != nil:
		return q.Who.Name + " may not reach " + q.To.Name + ": " + q.To.Name + " is in " + named("group", groupsOf(q.To)) +
			", and " + q.Who.Name + " has " + named("role", rolesOf(q.Who))
	case q.Who != nil:
		return q.Who.Name + " reaches nothing: it has " + named("role", rolesOf(q.Who))
	case q.To != nil:
		return "nobody reaches " + q.To.Name + ": it is in " + named("group", groupsOf(q.To))
	}
	return "nobody reaches anything"
}

// named writes a list of roles or groups as a part of a sentence.
func named(what string, names []string) string {
	switch len(names) {
	case 0:
		return "no " + what
	case 1:
		return "the " + what + " " + names[0]
	}
	return "the " + what + "s " + strings.Join(names, ", ")
}

func groupsOf(s *compiler.Service) []string {
	var names []string
	for _, g := range s.Groups {
		names = append(names, g.Group.Name)
	}
	return names
}

// rolesOf says with each role what it allows.
func rolesOf(p *compiler.Principal) []string {
	var names []string
	for _, r := range p.Roles {
		var allowed []string
		for _, g := range r.Role.Allow {
			allowed = append(allowed, g.Group.Name)
		}
		names = append(names, r.Role.Name+" (allows "+strings.Join(allowed, ", ")+")")
	}
	return names
}

// kindOf is the kind of a principal, which its ID states.
func kindOf(p *compiler.Principal) schema.Kind {
	kind, err := schema.KindOf(p.ID)
	if err != nil {
		return ""
	}
	return kind
}

// uniqueGrants names roles or groups of grants, each once, in order.
func uniqueGrants(grants []compiler.Grant, name func(compiler.Grant) string) string {
	var names []string
	for _, g := range grants {
		if n := name(g); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}
