package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// saw is one line of the scenarios' table: what users saw, and for how long; 0:
// for no time at all.
type saw struct {
	scenario, what string
	lasted         time.Duration
}

// table is what all scenarios of this run saw.
type table struct {
	mu   sync.Mutex
	rows []saw
}

func (t *table) add(row saw) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, row)
}

// print draws the table, scenario by scenario; nothing when there was none.
func (t *table) print(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rows) == 0 {
		return
	}
	slices.SortStableFunc(t.rows, func(a, b saw) int { return strings.Compare(a.scenario, b.scenario) })
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nscenario\tfor\twhat users and operators saw")
	last := ""
	for _, row := range t.rows {
		scenario := row.scenario
		if scenario == last {
			scenario = ""
		}
		last = row.scenario
		fmt.Fprintf(w, "%s\t%s\t%s\n", scenario, span(row.lasted), row.what)
	}
	_ = w.Flush()
}

func span(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}
