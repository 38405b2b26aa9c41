package mint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Vector is one case: a directory of files, and what must be said of them.
type Vector struct {
	Name         string            // group/name, the directory below vectors/
	Title        string            // a sentence without full stop
	Requirements []string          // rule numbers, ascending importance aside
	Refuse       string            // code and reason, "FL1003 duplicate-name"; empty: accepted
	Output       string            // what is printed when it is accepted; empty: anything
	Files        map[string][]byte // by name
}

// Code is the code of the refusal, or empty.
func (v Vector) Code() string {
	code, _, _ := strings.Cut(v.Refuse, " ")
	return code
}

// Reason is the reason of the refusal, or empty.
func (v Vector) Reason() string {
	_, reason, _ := strings.Cut(v.Refuse, " ")
	return reason
}

// Vectors returns all of them, sorted by name.
func Vectors() []Vector {
	w := newWorld()
	all := slices.Concat(
		w.envelopeVectors(), w.numberVectors(), w.signatureVectors(), w.versionVectors(),
		canonicalVectors(), w.trustVectors(), w.certificateVectors(), w.setVectors(), w.markVectors(),
		w.routeVectors(), hostnameVectors(), w.agentVectors(), vertexVectors(), newKitchen().bundleVectors(),
	)
	slices.SortFunc(all, func(a, b Vector) int { return strings.Compare(a.Name, b.Name) })
	for i := range all[1:] {
		if all[i].Name == all[i+1].Name {
			panic("two vectors are named " + all[i].Name)
		}
	}
	return all
}

// rules splits "ENV-1 ENV-2".
func rules(text string) []string { return strings.Fields(text) }

// textVectors makes vectors of one file each, from a table.
func textVectors(group, file, requirements string, rows []textRow) []Vector {
	var all []Vector
	for _, r := range rows {
		all = append(all, Vector{
			Name: group + "/" + r.name, Title: r.title, Refuse: r.refuse, Output: r.output,
			Requirements: rules(requirements + " " + r.more),
			Files:        map[string][]byte{file: []byte(r.text)},
		})
	}
	return all
}

// textRow is a vector of one file.
type textRow struct {
	name, title  string
	refuse       string
	text, output string
	more         string // requirements beside those of the table
}

// FileNames are the names of a vector's files, sorted.
func (v Vector) FileNames() []string { return slices.Sorted(maps.Keys(v.Files)) }

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
