package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorded is a run of two nodes; rise is how much beta's vertex grows a second.
func recorded(rise float64) *recording {
	r := &recording{lasted: 3 * time.Minute}
	for _, name := range [][2]string{{"beta", "flor"}, {"alpha", "agent"}, {"alpha", "flor"}, {"alpha", "coordinator"}} {
		track := r.track(name[0], name[1])
		for m := range measures {
			track.points[m] = life(0, 180, func(s int) float64 {
				if name[0] == "beta" && m == memory {
					return 20 + rise*float64(s)
				}
				return float64(20 * (m + 1))
			})
		}
	}
	r.events = []event{{time.Second, "kill", "agent of <alpha>"}, {2 * time.Second, "publish", "edit 1"}, {3 * time.Second, "kill", "flor of beta"}}
	return r
}

func TestChartIsWellFormedAndComplete(t *testing.T) {
	t.Parallel()
	text := draw(recorded(0))
	elements := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	if elements["path"] != 4*len(measures) || elements["circle"] != 3 {
		t.Errorf("the chart has %d lines and %d events, want %d and 3", elements["path"], elements["circle"], 4*len(measures))
	}
	for _, want := range []string{"resident memory, MiB", "file descriptors", "goroutines", "restarts", "warnings", "60 s", "alpha/coordinator", "&lt;alpha&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("the chart has a point that is no number")
	}
}

func TestChartOfNothingIsStillAChart(t *testing.T) {
	t.Parallel()
	if text := draw(&recording{lasted: time.Minute}); strings.Contains(text, "NaN") || !strings.HasSuffix(text, "</svg>\n") {
		t.Errorf("drew %s", text)
	}
}

func TestTicksAreRoundAndReachTheTop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		most float64
		want []float64
	}{
		{1, []float64{0, 0.5, 1}},
		{37, []float64{0, 10, 20, 30, 40}},
		{180, []float64{0, 50, 100, 150, 200}},
	} {
		if diff := cmp.Diff(tt.want, niceTicks(tt.most, 4)); diff != "" {
			t.Errorf("up to %v: %s", tt.most, diff)
		}
	}
}

// The exit codes that a run ends with: 0 flat, 1 rising or unwell.
func TestReportComesToAnExitCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		rise float64
		well bool
		want int
	}{
		{"flat", 0, true, flat},
		{"one line rises", 0.1, true, rises},
		{"a node did not recover", 0, false, rises},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := plan{lasts: 3 * time.Minute, out: filepath.Join(t.TempDir(), "soak.svg")}
			var out, complaints strings.Builder
			if got := report(p, recorded(tt.rise), tt.well, &out, &complaints); got != tt.want {
				t.Errorf("exit code %d, want %d\n%s%s", got, tt.want, &out, &complaints)
			}
			if tt.rise > 0 && !strings.Contains(complaints.String(), "resident memory of beta/flor") {
				t.Errorf("the line that rises is not named: %s", &complaints)
			}
			if _, err := os.Stat(p.out); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWrongUsageIsRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--for", "1s"}, {"--for", "soon"}, {"more"}, {"--nonsense"}} {
		var complaints strings.Builder
		if got := run(t.Context(), args, io.Discard, &complaints); got != misused || complaints.Len() == 0 {
			t.Errorf("%q ended with %d and %q", args, got, &complaints)
		}
	}
}
