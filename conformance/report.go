package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Target is what was checked.
type Target struct {
	Tool    string   `json:"tool"`    // name and version of the program that checks
	Command []string `json:"command"` // what it was pointed at
}

// Outcome is what a whole run says.
type Outcome string

// The outcomes of a run.
const (
	Success  Outcome = "success"   // everything was claimed, and all cases that ran passed
	Partial  Outcome = "partial"   // what was claimed passed; see Report.Unclaimed
	Failure  Outcome = "failure"   // a claimed feature failed
	NoResult Outcome = "no-result" // no case ran
)

// Report is the result of a run (CNF-3).
type Report struct {
	SchemaVersion string   `json:"schema_version"`
	Target        Target   `json:"target"`
	Seed          uint64   `json:"seed"`
	Repeat        int      `json:"repeat"`
	Outcome       Outcome  `json:"outcome"`
	Unclaimed     []string `json:"unclaimed"` // features
	Total         int      `json:"total"`     // cases there are; those in Cases were selected
	Passed        int      `json:"passed"`
	Failed        int      `json:"failed"`
	Skipped       int      `json:"skipped"`
	Cases         []Result `json:"cases"`
}

// Result is how one case ended.
type Result struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Feature      string   `json:"feature"`
	Requirements []string `json:"requirements"`
	Verdict      Verdict  `json:"verdict"`
	Words        string   `json:"words,omitempty"` // why it failed or was skipped
}

// Lasting is the report without what differs between two runs of the same source:
// version and seed. It is what is committed.
func (r Report) Lasting() Report {
	r.Target.Tool, _, _ = strings.Cut(r.Target.Tool, " ")
	r.Seed, r.Repeat = 0, 1
	return r
}

func newResult(c Case) Result {
	return Result{ID: c.ID(), Title: c.Title, Feature: c.Feature, Requirements: c.Requirements}
}

func (r *Result) conclude(v Verdict, err error) {
	r.Verdict = v
	if err != nil {
		r.Words = err.Error()
	}
}

// settle counts, and decides the outcome.
func (r *Report) settle(claimed []string, all []Case) {
	r.SchemaVersion = "1.0"
	r.Unclaimed = unclaimed(claimed, all)
	for _, c := range r.Cases {
		switch c.Verdict {
		case Pass:
			r.Passed++
		case Fail:
			r.Failed++
		case Skip:
			r.Skipped++
		}
	}
	r.Outcome = r.outcome()
}

func (r *Report) outcome() Outcome {
	switch {
	case r.Failed > 0:
		return Failure
	case r.Passed == 0:
		return NoResult
	case len(r.Unclaimed) > 0:
		return Partial
	}
	return Success
}

// ExitCode is that of the outcome.
func (r *Report) ExitCode() int { return r.Outcome.ExitCode() }

// ExitCode is 0 only if every claimed feature passed and at least one case ran;
// 1 for a failure, 3 when nothing ran (CNF-3).
func (o Outcome) ExitCode() int {
	switch o {
	case Success, Partial:
		return 0
	case Failure:
		return 1
	}
	return 3
}

// WriteTable writes the report for people: every case, and one line that sums
// them up. Words that many cases fail with are told once.
func (r *Report) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	causes := causesOf(r.Cases)
	for _, c := range r.Cases {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Verdict, c.ID, strings.Join(c.Requirements, " "), c.Title)
		if c.Verdict == Fail {
			fmt.Fprintf(table, "\t\t\t  %s\n", causes.tell(c))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, c := range causes {
		if len(c.ids) >= manyAlike {
			fmt.Fprintf(w, "%d cases fail alike: %s\n", len(c.ids), oneLine(c.words))
		}
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

// manyAlike is how many cases have to fail with the same words for these to be
// told once more before the last line.
const manyAlike = 5

// cause is the words of failures, and the cases that fail with them.
type cause struct {
	words string
	ids   []string
}

type causes []cause

// causesOf gathers why cases failed, what most of them failed with last.
func causesOf(results []Result) causes {
	at := map[string]int{}
	var all causes
	for _, r := range results {
		if r.Verdict != Fail {
			continue
		}
		i, known := at[r.Words]
		if !known {
			i, all = len(all), append(all, cause{words: r.Words})
			at[r.Words] = i
		}
		all[i].ids = append(all[i].ids, r.ID)
	}
	slices.SortStableFunc(all, func(a, b cause) int { return len(a.ids) - len(b.ids) })
	return all
}

// tell gives the words of a failure, or the case before it that has the same.
func (cs causes) tell(r Result) string {
	i := slices.IndexFunc(cs, func(c cause) bool { return c.words == r.Words })
	if first := cs[i].ids[0]; first != r.ID {
		return "as " + first
	}
	return oneLine(r.Words)
}

func oneLine(words string) string { return strings.ReplaceAll(words, "\n", " ") }

// Summary is the report in one line.
func (r *Report) Summary() string {
	line := fmt.Sprintf("%s: %d passed, %d failed, %d skipped", r.Outcome, r.Passed, r.Failed, r.Skipped)
	if len(r.Cases) < r.Total {
		line += fmt.Sprintf(" of %d selected among %d", len(r.Cases), r.Total)
	}
	if len(r.Unclaimed) > 0 {
		line += "; not claimed: " + strings.Join(r.Unclaimed, ", ")
	}
	return fmt.Sprintf("%s (seed %d)", line, r.Seed)
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error { return encodeJSON(w, r) }

// The elements of JUnit's XML that the readers in use agree on.
type (
	junitSuite struct {
		XMLName    xml.Name        `xml:"testsuite"`
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes the report in JUnit's XML.
func (r *Report) WriteJUnit(w io.Writer) error { return encodeXML(w, r.junit()) }

func (r *Report) junit() junitSuite {
	suite := junitSuite{
		Name: "flor-conformance", Tests: len(r.Cases), Failures: r.Failed, Skipped: r.Skipped,
		Properties: []junitProperty{
			{"outcome", string(r.Outcome)}, {"seed", fmt.Sprint(r.Seed)}, {"tool", r.Target.Tool},
			{"command", r.Target.name()}, {"unclaimed", strings.Join(r.Unclaimed, " ")},
		},
	}
	for _, c := range r.Cases {
		suite.Cases = append(suite.Cases, c.junit())
	}
	return suite
}

func (r Result) junit() junitCase {
	class, _, _ := strings.Cut(r.ID, "/")
	c := junitCase{Class: class, Name: fmt.Sprintf("%s [%s]", r.ID, strings.Join(r.Requirements, " "))}
	switch r.Verdict {
	case Fail:
		c.Failure = &junitMessage{r.Words}
	case Skip:
		c.Skipped = &junitMessage{r.Words}
	}
	return c
}
