package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// measurement measures one way and gives as many values as the figure has rows.
type measurement func(context.Context, load) ([]float64, error)

// figure is something that is measured.
type figure struct {
	name    string
	rows    []string // one for each value, with its unit
	measure measurement
}

// figures are what is measured, in this order: memory first, while processes
// are fresh.
var figures = []figure{
	{"memory", []string{"memory, KiB/idle connection"}, memoryPerIdle},
	{"bulk-up-1", []string{"bulk up, 1 connection, MB/s"}, bulkUp(1)},
	{"bulk-up-4", []string{"bulk up, 4 connections, MB/s"}, bulkUp(4)},
	{"bulk-up-64", []string{"bulk up, 64 connections, MB/s"}, bulkUp(64)},
	{"bulk-down-1", []string{"bulk down, 1 connection, MB/s"}, bulkDown(1)},
	{"bulk-down-4", []string{"bulk down, 4 connections, MB/s"}, bulkDown(4)},
	{"bulk-down-64", []string{"bulk down, 64 connections, MB/s"}, bulkDown(64)},
	{"requests-1", requestRows("1 connection"), requests(1)},
	{"requests-64", requestRows("64 connections"), requests(64)},
	{"requests-1000", requestRows("1,000 connections"), requests(1000)},
	{"connects-1", []string{"connects, 1 client, 1/s"}, connects(1)},
	{"connects-32", []string{"connects, 32 clients, 1/s"}, connects(32)},
	{"connects-256", []string{"connects, 256 clients, 1/s"}, connects(256)},
	{"cpu", []string{"CPU, s/GB"}, cpuPerGigabyte},
	{"quiet-connects", quietRows("new connections, 1/s"), besideFlood(floodConnects)},
	{"quiet-bulk", quietRows("64 bulk streams, MB/s"), besideFlood(floodBulk)},
	{"quiet-handshakes", quietRows("refused handshakes, 1/s"), besideFlood(floodHandshakes)},
}

func requestRows(n string) []string {
	return []string{"requests, " + n + ", 1/s", "  median, µs", "  99th percentile, µs", "  CPU each, µs"}
}

// results are the values of all rounds.
type results struct {
	ways   []string
	order  []figure
	values map[string][][]float64 // by figure and way: rounds of values
}

func newResults() *results { return &results{values: map[string][][]float64{}} }

func (r *results) add(f figure, way string, values []float64) {
	if !slices.Contains(r.ways, way) {
		r.ways = append(r.ways, way)
	}
	if !slices.ContainsFunc(r.order, func(have figure) bool { return have.name == f.name }) {
		r.order = append(r.order, f)
	}
	key := f.name + " " + way
	r.values[key] = append(r.values[key], values)
}

// median of one row of a figure over the rounds.
func (r *results) median(f figure, way string, row int) float64 {
	var column []float64
	for _, values := range r.values[f.name+" "+way] {
		if !math.IsNaN(values[row]) {
			column = append(column, values[row])
		}
	}
	if len(column) == 0 {
		return math.NaN()
	}
	slices.Sort(column)
	return column[len(column)/2]
}

// references are the ways to which the others are compared.
var references = []string{"direct", "stunnel4"}

// print writes the medians as a table, each with its ratio to the references.
func (r *results) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "median of the rounds\t")
	for _, way := range r.ways {
		fmt.Fprintf(w, "%s\t", way)
		for _, ref := range r.references(way) {
			fmt.Fprintf(w, "/%s\t", ref)
		}
	}
	fmt.Fprintln(w)
	for _, f := range r.order {
		for row, name := range f.rows {
			r.printRow(w, f, row, name)
		}
	}
	return w.Flush()
}

func (r *results) printRow(w io.Writer, f figure, row int, name string) {
	fmt.Fprintf(w, "%s\t", name)
	for _, way := range r.ways {
		value := r.median(f, way, row)
		fmt.Fprintf(w, "%s\t", number(value))
		for _, ref := range r.references(way) {
			fmt.Fprintf(w, "%s\t", number(value/r.median(f, ref, row)))
		}
	}
	fmt.Fprintln(w)
}

// references gives those with which a way is compared.
func (r *results) references(way string) []string {
	var refs []string
	for _, ref := range references {
		if ref != way && !slices.Contains(references, way) && slices.Contains(r.ways, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
