package diag_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/florete/flor/compiler/diag"
)

// sarifLog is what the tests read of a log.
type sarifLog struct {
	Runs []struct {
		ColumnKind string
		Tool       struct {
			Driver struct {
				Name  string
				Rules []struct{ ID, Name string }
			}
		}
		Results []struct {
			RuleID           string
			RuleIndex        int
			Level            string
			Message          struct{ Text string }
			Locations        []sarifLocation
			RelatedLocations []sarifLocation
		}
	}
}

type sarifLocation struct {
	Message          struct{ Text string }
	PhysicalLocation struct {
		ArtifactLocation struct{ URI, URIBaseID string }
		Region           struct{ StartLine, StartColumn, EndLine, EndColumn int }
	}
}

func writeSARIF(t *testing.T, list diag.List) []byte {
	t.Helper()
	var b bytes.Buffer
	tool := diag.Tool{Name: "retectl", Version: "v1.2.3", URL: "https://example.org/retectl"}
	if err := diag.WriteSARIF(&b, list, tool, registry.Codes()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSARIFIsValid judges logs by the schema of SARIF 2.1.0.
func TestSARIFIsValid(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]diag.List{
		"nothing found": nil,
		"with all there is": {
			unknown.At(span("dir/ä b#1.yaml", 3, 20, 24), "an error").Also(span("x.yaml", 1, 1, 1), "the first is here").Suggest("did you mean %q?", "api"),
			unused.At(diag.WholeFile("x.yaml"), "a warning"),
		},
		"a place without an end": {unused.At(diag.Place{File: "x.yaml", Start: diag.Position{Line: 7, Column: 3}}, "a warning")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, err := sarif.FromBytes(writeSARIF(t, list), sarif.WithStrictValidation())
			if err != nil {
				t.Fatal(err)
			}
			if err := log.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSARIFHasEachFindingAtItsPlace(t *testing.T) {
	t.Parallel()
	var log sarifLog
	text := writeSARIF(t, diag.List{
		unused.At(span("x.yaml", 9, 1, 3), "not used"),
		unknown.At(span("dir/ä b.yaml", 3, 20, 24), "not known").Also(span("x.yaml", 1, 2, 5), "the first is here").Suggest("write %q", "api"),
	})
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range log.Runs[0].Results {
		got = append(got, r.RuleID+" "+log.Runs[0].Tool.Driver.Rules[r.RuleIndex].Name+" "+r.Level+" "+r.Message.Text)
	}
	want := []string{`FL9002 unknown-thing error not known (write "api")`, "FL9001 unused-thing warning not used"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results differ (-want +got):\n%s", diff)
	}
	first := log.Runs[0].Results[0]
	place := first.Locations[0].PhysicalLocation
	if uri := place.ArtifactLocation.URI; uri != "dir/%C3%A4%20b.yaml" || place.ArtifactLocation.URIBaseID != "%SRCROOT%" {
		t.Errorf("the file is %q below %q", uri, place.ArtifactLocation.URIBaseID)
	}
	if r := place.Region; r.StartLine != 3 || r.StartColumn != 20 || r.EndLine != 3 || r.EndColumn != 24 {
		t.Errorf("the region is %+v", r)
	}
	if related := first.RelatedLocations[0]; related.Message.Text != "the first is here" || related.PhysicalLocation.Region.StartColumn != 2 {
		t.Errorf("the related location is %+v", related)
	}
}
