package diag

import (
	"bytes"
	"io"
	"net/url"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// Tool names the program that found what a SARIF log reports.
type Tool struct{ Name, Version, URL string }

// WriteSARIF writes the list as a SARIF 2.1.0 log for code scanners and editors,
// sorted, each fault once: a run of one tool, a rule for each code of rules, a
// result for each finding. Paths are relative to %SRCROOT%, the root of the
// repository; columns count characters.
func WriteSARIF(w io.Writer, list List, tool Tool, rules []Code) error {
	run := sarif.NewRunWithInformationURI(tool.Name, tool.URL).WithColumnKind("unicodeCodePoints")
	run.Tool.Driver.WithVersion(tool.Version)
	index := map[string]int{}
	for _, code := range rules {
		index[code.ID] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.AddRule(code.rule())
	}
	for _, d := range list.Sorted() {
		result := d.result()
		if i, known := index[d.Code]; known {
			result.WithRuleIndex(i)
		}
		run.AddResult(result)
	}
	var text bytes.Buffer
	if err := sarif.NewReport().AddRun(run).PrettyWrite(&text); err != nil {
		return err
	}
	text.WriteByte('\n')
	_, err := w.Write(text.Bytes())
	return err
}

func (c Code) rule() *sarif.ReportingDescriptor {
	text := func(s string) *sarif.MultiformatMessageString { return sarif.NewMultiformatMessageString().WithText(s) }
	return sarif.NewRule(c.ID).WithName(c.Reason).
		WithShortDescription(text(c.Title)).
		WithFullDescription(text(c.Cause)).
		WithHelp(text(c.Fix)).
		WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(c.Severity.level()))
}

func (s Severity) level() string {
	if s == Error {
		return sarif.LevelError
	}
	return sarif.LevelWarning
}

// result is a finding; its suggestion is a part of the message, which is all
// that most viewers show.
func (d Diagnostic) result() *sarif.Result {
	message := d.Message
	if d.Suggestion != "" {
		message += " (" + d.Suggestion + ")"
	}
	result := sarif.NewRuleResult(d.Code).
		WithLevel(d.Severity.level()).
		WithMessage(sarif.NewTextMessage(message)).
		AddLocation(d.Place.location())
	for i, r := range d.Related {
		result.AddRelatedLocation(r.Place.location().WithID(i).WithMessage(sarif.NewTextMessage(r.Message)))
	}
	return result
}

func (p Place) location() *sarif.Location {
	region := sarif.NewRegion().WithStartLine(p.Start.Line).WithStartColumn(p.Start.Column)
	if p.End != (Position{}) && p.End != p.Start {
		region.WithEndLine(p.End.Line).WithEndColumn(p.End.Column)
	}
	file := sarif.NewArtifactLocation().WithURI((&url.URL{Path: p.File}).String()).WithURIBaseID("%SRCROOT%")
	return sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().WithArtifactLocation(file).WithRegion(region))
}
