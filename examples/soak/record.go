package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// measure is something that is measured of every process.
type measure struct {
	name, unit string
	rule       *rule // nil: shown and not judged
}

// The measures, in the order in which they are shown.
var measures = []measure{
	{"resident memory", "MiB", &rule{least: 4, share: 0.15}},
	{"file descriptors", "", &rule{least: 8, share: 0.15}},
	{"goroutines", "", &rule{least: 16, share: 0.15}},
	{"restarts so far", "", nil},
	{"warnings so far", "", nil},
}

const (
	memory = iota
	descriptors
	goroutines
	restarts
	warnings
)

// track is what was measured of one process of a node, through all its lives.
type track struct {
	node, program string
	points        [][]point // by measure
}

func (t *track) name() string { return t.node + "/" + t.program }

// event is something that was done to the rete.
type event struct {
	at   time.Duration
	kind string
	what string
}

// recording is a whole run. Its methods are for one goroutine.
type recording struct {
	lasted time.Duration
	tracks []*track
	events []event
}

// track is the one of a process, made when it is first seen.
func (r *recording) track(node, program string) *track {
	for _, t := range r.tracks {
		if t.node == node && t.program == program {
			return t
		}
	}
	t := &track{node: node, program: program, points: make([][]point, len(measures))}
	r.tracks = append(r.tracks, t)
	slices.SortFunc(r.tracks, func(a, b *track) int { return slices.Compare([]string{a.node, a.program}, []string{b.node, b.program}) })
	return t
}

func (t *track) add(m int, at time.Duration, value float64) {
	t.points[m] = append(t.points[m], point{at, value})
}

// leaks lists the lines that rise.
func (r *recording) leaks() []string {
	var found []string
	for _, t := range r.tracks {
		for m, what := range measures {
			if what.rule == nil {
				continue
			}
			if v := judge(t.points[m], r.lasted/2, *what.rule); v.leaks {
				found = append(found, fmt.Sprintf("%s of %s: %+.1f %s over the second half, median %.1f", what.name, t.name(), v.growth, what.unit, v.median))
			}
		}
	}
	return found
}

// print draws the table: a process a line, each judged measure with its median
// over the second half, how much it grew there, and the verdict.
func (r *recording) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "process")
	for _, m := range measures {
		fmt.Fprintf(w, "\t%s", title(m))
	}
	fmt.Fprintln(w)
	for _, t := range r.tracks {
		fmt.Fprint(w, t.name())
		for m, what := range measures {
			fmt.Fprintf(w, "\t%s", t.cell(m, what, r.lasted))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func title(m measure) string {
	if m.unit == "" {
		return m.name
	}
	return m.name + ", " + m.unit
}

func (t *track) cell(m int, what measure, lasted time.Duration) string {
	if what.rule == nil {
		return fmt.Sprintf("%.0f", last(t.points[m]))
	}
	v := judge(t.points[m], lasted/2, *what.rule)
	return fmt.Sprintf("%.1f, %s", v.median, v)
}

func last(points []point) float64 {
	if len(points) == 0 {
		return 0
	}
	return points[len(points)-1].value
}

// counts tells how often each kind of event happened, by name.
func (r *recording) counts() string {
	times := map[string]int{}
	var kinds []string
	for _, e := range r.events {
		if times[e.kind]++; times[e.kind] == 1 {
			kinds = append(kinds, e.kind)
		}
	}
	slices.Sort(kinds)
	text := ""
	for i, kind := range kinds {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d × %s", times[kind], kind)
	}
	return text
}
