package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// MaxShown is how many diagnostics [Render] shows before it only counts.
const MaxShown = 100

// Sources has the texts that diagnostics point into, by file name.
type Sources map[string][]byte

// Render writes the list for people, sorted, each fault once, at most
// [MaxShown] and a count of all. Colour is used when told, never by itself.
//
//	access.yaml:3:20: error FL0203 unknown-group: role "dev" allows the group "apii", which nobody declares
//	    3 |   dev: {allow: [apii]}
//	      |                 ^^^^
//	      = did you mean "api"?
//
// Texts that sources lacks are left out. The error is the writer's.
func Render(w io.Writer, list List, sources Sources, color bool) error {
	r := renderer{excerpts: newExcerpts(sources), paint: plain}
	if color {
		r.paint = ansi
	}
	sorted := list.Sorted()
	for _, d := range sorted[:min(len(sorted), MaxShown)] {
		r.diagnostic(d)
	}
	r.summary(sorted)
	_, err := w.Write(r.out.Bytes())
	return err
}

// Report is the JSON form of a list. SchemaVersion is MAJOR.MINOR; members are
// added at a new minor, and nothing changes its meaning but at a new major.
type Report struct {
	SchemaVersion string `json:"schema_version"`
	// Valid says that there are no errors; warnings do not count.
	Valid bool `json:"valid"`
	// Errors and Warnings count all findings; Diagnostics has all of them.
	Errors      int       `json:"error_count"`
	Warnings    int       `json:"warning_count"`
	Diagnostics []Finding `json:"diagnostics"`
}

// Finding is a diagnostic in a [Report], with what stands at its places.
type Finding struct {
	Diagnostic
	// Excerpt is absent where there is nothing to see: the file is not read, or
	// the line is empty.
	Excerpt *Excerpt       `json:"excerpt,omitempty"`
	Related []RelatedPlace `json:"related,omitempty"`
}

// RelatedPlace is a related place in a [Report].
type RelatedPlace struct {
	Related
	Excerpt *Excerpt `json:"excerpt,omitempty"`
}

// reportVersion is the form of a [Report]. 1.1 added the excerpts.
const reportVersion = "1.1"

// NewReport makes the JSON form of a list, sorted, each fault once.
func NewReport(list List, sources Sources) Report {
	sorted := list.Sorted()
	cutter := newExcerpts(sources)
	findings := make([]Finding, 0, len(sorted))
	for _, d := range sorted {
		findings = append(findings, cutter.finding(d))
	}
	return Report{
		SchemaVersion: reportVersion,
		Valid:         !sorted.HasErrors(),
		Errors:        sorted.Count(Error),
		Warnings:      sorted.Count(Warning),
		Diagnostics:   findings,
	}
}

func (e excerpts) finding(d Diagnostic) Finding {
	f := Finding{Diagnostic: d, Excerpt: e.plain(d.Place)}
	for _, r := range d.Related {
		f.Related = append(f.Related, RelatedPlace{Related: r, Excerpt: e.plain(r.Place)})
	}
	return f
}

// WriteJSON writes the [Report] of a list, indented, with a newline at its end.
func WriteJSON(w io.Writer, list List, sources Sources) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(NewReport(list, sources))
}

// style is what is painted in a colour of its own.
type style int

const (
	errorStyle style = iota
	warningStyle
	frameStyle
	hintStyle
)

func plain(_ style, s string) string { return s }

func ansi(st style, s string) string {
	code := map[style]string{errorStyle: "1;31", warningStyle: "1;33", frameStyle: "34", hintStyle: "36"}[st]
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (s Severity) style() style {
	if s == Error {
		return errorStyle
	}
	return warningStyle
}

type renderer struct {
	out      bytes.Buffer
	excerpts excerpts
	paint    func(style, string) string
}

func (r *renderer) diagnostic(d Diagnostic) {
	fmt.Fprintf(&r.out, "%s: %s %s: %s\n", printable(d.Place.String()),
		r.paint(d.Severity.style(), string(d.Severity)+" "+d.Code), d.Reason, printable(d.Message))
	r.excerpt(d.Place, d.Severity.style())
	for _, rel := range d.Related {
		fmt.Fprintf(&r.out, "  %s: %s\n", printable(rel.Place.String()), printable(rel.Message))
		r.excerpt(rel.Place, frameStyle)
	}
	if d.Suggestion != "" {
		fmt.Fprintf(&r.out, "      %s\n", r.paint(hintStyle, "= "+printable(d.Suggestion)))
	}
}

func (r *renderer) excerpt(p Place, st style) {
	e, ok := r.excerpts.of(p)
	if !ok {
		return
	}
	fmt.Fprintf(&r.out, "%s%s\n", r.paint(frameStyle, fmt.Sprintf("%5d | ", p.Start.Line)), e.text)
	fmt.Fprintf(&r.out, "%s%s%s\n", r.paint(frameStyle, "      | "), e.indent, r.paint(st, e.caret))
}

func (r *renderer) summary(sorted List) {
	if len(sorted) == 0 {
		return
	}
	fmt.Fprintf(&r.out, "%s, %s", plural(sorted.Count(Error), "error"), plural(sorted.Count(Warning), "warning"))
	if len(sorted) > MaxShown {
		fmt.Fprintf(&r.out, " (the first %d are shown)", MaxShown)
	}
	r.out.WriteByte('\n')
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// printable keeps text of an operator's file from steering the terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return unicode.ReplacementChar
	}, s)
}
