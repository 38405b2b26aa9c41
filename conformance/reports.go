package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Reports are those of several runs, such as of all our own programs.
type Reports []Report

// Outcome is the worst of them; none at all is [NoResult].
func (rs Reports) Outcome() Outcome {
	if len(rs) == 0 {
		return NoResult
	}
	badness := []Outcome{Success, Partial, NoResult, Failure}
	worst := slices.MaxFunc(rs, func(a, b Report) int {
		return slices.Index(badness, a.Outcome) - slices.Index(badness, b.Outcome)
	})
	return worst.Outcome
}

// ExitCode is that of the outcome.
func (rs Reports) ExitCode() int { return rs.Outcome().ExitCode() }

// Summary counts all cases in one line.
func (rs Reports) Summary() string {
	var passed, failed, skipped int
	for _, r := range rs {
		passed, failed, skipped = passed+r.Passed, failed+r.Failed, skipped+r.Skipped
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped in %d runs", rs.Outcome(), passed, failed, skipped, len(rs))
}

// WriteTable writes each report under the name of what was checked, then the
// line of each once more, every failure once more, and the line that sums them up:
// the end of a long output tells what to do.
func (rs Reports) WriteTable(w io.Writer) error {
	for _, r := range rs {
		if _, err := fmt.Fprintf(w, "== %s\n", r.Target.name()); err != nil {
			return err
		}
		if err := r.WriteTable(w); err != nil {
			return err
		}
	}
	for _, r := range rs {
		if _, err := fmt.Fprintf(w, "%s: %s\n", r.Target.name(), r.Summary()); err != nil {
			return err
		}
	}
	for _, r := range rs {
		for _, c := range r.Cases {
			if c.Verdict == Fail {
				fmt.Fprintf(w, "fail: %s: %s: %s\n", r.Target.name(), c.ID, oneLine(c.Words))
			}
		}
	}
	_, err := fmt.Fprintln(w, rs.Summary())
	return err
}

func (t Target) name() string { return strings.Join(t.Command, " ") }

// WriteJSON writes the reports for programs.
func (rs Reports) WriteJSON(w io.Writer) error {
	return encodeJSON(w, struct {
		SchemaVersion string   `json:"schema_version"`
		Outcome       Outcome  `json:"outcome"`
		Reports       []Report `json:"reports"`
	}{"1.0", rs.Outcome(), rs})
}

func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// WriteJUnit writes the reports in JUnit's XML.
func (rs Reports) WriteJUnit(w io.Writer) error {
	var all struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	for _, r := range rs {
		all.Suites = append(all.Suites, r.junit())
	}
	return encodeXML(w, all)
}

func encodeXML(w io.Writer, v any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
