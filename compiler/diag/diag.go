package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says whether a diagnostic stops the compiler.
type Severity string

const (
	// Error is a fault: nothing is compiled while one stands.
	Error Severity = "error"
	// Warning is worth a look and stops nothing.
	Warning Severity = "warning"
)

// Position is a point in a text. Both numbers count from 1, and Column counts
// characters, not bytes. The zero Position is unknown.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Place is a range in a file. End lies one column behind the last character;
// the zero End means that only the start is known.
type Place struct {
	// File is the slash-separated path below the repository's root.
	File  string   `json:"file"`
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// WholeFile is the place of a fault that concerns a file as a whole.
func WholeFile(name string) Place {
	first := Position{Line: 1, Column: 1}
	return Place{File: name, Start: first, End: first}
}

// Known reports whether p names a place at all.
func (p Place) Known() bool { return p.File != "" }

// String gives file:line:column.
func (p Place) String() string {
	return fmt.Sprintf("%s:%d:%d", p.File, p.Start.Line, p.Start.Column)
}

// Compare orders places by file, then line, then column.
func (p Place) Compare(q Place) int {
	return cmp.Or(
		cmp.Compare(p.File, q.File),
		cmp.Compare(p.Start.Line, q.Start.Line),
		cmp.Compare(p.Start.Column, q.Start.Column),
	)
}

// Related is a second place that a reader needs to understand a diagnostic,
// such as the first of two equal names.
type Related struct {
	Message string `json:"message"`
	Place   Place  `json:"place"`
}

// Diagnostic is one finding about the operator's source.
type Diagnostic struct {
	// Code is the stable code, "FL" and four digits.
	Code string `json:"code"`
	// Reason is the code's kebab-case name.
	Reason   string   `json:"reason"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Place    Place    `json:"place"`
	// Related is empty when one place tells everything.
	Related []Related `json:"related,omitempty"`
	// Suggestion says what to write instead; empty when nothing better than the message is known.
	Suggestion string `json:"suggestion,omitempty"`
}

// Also returns d with a related place. An unknown place is left out.
func (d Diagnostic) Also(place Place, format string, args ...any) Diagnostic {
	if !place.Known() {
		return d
	}
	d.Related = append(slices.Clip(d.Related), Related{Message: fmt.Sprintf(format, args...), Place: place})
	return d
}

// Suggest returns d with a suggestion. An empty one changes nothing.
func (d Diagnostic) Suggest(format string, args ...any) Diagnostic {
	if format != "" {
		d.Suggestion = fmt.Sprintf(format, args...)
	}
	return d
}

// List collects diagnostics. The zero List is ready to use; it is not safe
// for concurrent use.
type List []Diagnostic

// Add appends diagnostics.
func (l *List) Add(found ...Diagnostic) { *l = append(*l, found...) }

// HasErrors reports whether the list holds anything but warnings.
func (l List) HasErrors() bool { return l.Count(Error) > 0 }

// Count tells how many diagnostics have the severity.
func (l List) Count(s Severity) int {
	n := 0
	for _, d := range l {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// Sorted returns the list ordered by place, then code, then message, each
// fault once. The receiver keeps its order.
func (l List) Sorted() List {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, compare)
	return slices.CompactFunc(sorted, func(a, b Diagnostic) bool { return compare(a, b) == 0 })
}

func compare(a, b Diagnostic) int {
	return cmp.Or(
		a.Place.Compare(b.Place),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Message, b.Message),
	)
}
