package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/florete/flor/supervise/control"
)

// render draws a status document for a person: what is wrong first (AGT-10).
func render(w io.Writer, doc control.StatusDoc, now time.Time) {
	verdict := "healthy"
	if n := len(doc.Health); n > 0 {
		verdict = fmt.Sprintf("degraded, %d %s", n, plural(n, "problem"))
	}
	fmt.Fprintf(w, "%s: node %s of %s: %s\n", doc.Scope, doc.Node, doc.TrustDomain, verdict)
	for _, problem := range doc.Health {
		fmt.Fprintf(w, "  ! %s\n", problem)
	}
	fmt.Fprintf(w, "set        %s\n", setLine(doc.Set))
	fmt.Fprintf(w, "sync       %s\n", syncLine(doc, now))
	renderWorkloads(w, doc.Workloads, now)
	for _, c := range doc.Identity {
		fmt.Fprintf(w, "identity   %s, %s\n", c.ID, validity(c, now))
	}
	fmt.Fprintf(w, "agent      pid %d, up %s, %s\n", doc.Agent.PID, age(time.Duration(doc.Agent.UptimeMS)*time.Millisecond), doc.Agent.Build)
}

func validity(c control.Certificate, now time.Time) string {
	switch left := c.NotAfter.Sub(now); {
	case now.Before(c.NotBefore):
		return "not valid before " + c.NotBefore.Format(time.RFC3339)
	case left > 0:
		return "valid for " + age(left)
	}
	return "expired " + age(now.Sub(c.NotAfter)) + " ago"
}

func renderWorkloads(w io.Writer, workloads []control.Workload, now time.Time) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range workloads {
		row := fmt.Sprintf("workload   %s\t%s %s\t%s", l.Name, l.State, age(now.Sub(l.Since)), processOf(l))
		if history := historyOf(l); history != "" {
			row += "\t" + history
		}
		fmt.Fprintln(table, row)
	}
	table.Flush()
}

// setLine tells the active set, and the others that are kept.
func setLine(s control.Set) string {
	line := fmt.Sprintf("v%d active", s.Active)
	switch {
	case s.TrustStateLost:
		line += ", what was admitted is not known"
	case s.Pending != 0:
		line += fmt.Sprintf(", not confirmed yet (mark v%d)", s.Mark)
	case s.Mark != s.Active:
		line += fmt.Sprintf(" (mark v%d)", s.Mark)
	}
	var kept []string
	for _, v := range s.Retained {
		if v != s.Active {
			kept = append(kept, "v"+strconv.FormatUint(v, 10))
		}
	}
	if len(kept) > 0 {
		line += ", kept " + strings.Join(kept, " ")
	}
	return line
}

// syncLine tells the last sync and the last contact.
func syncLine(doc control.StatusDoc, now time.Time) string {
	line := "none yet"
	if last := doc.LastSync; last != nil {
		line = fmt.Sprintf("%s %s ago by %s%s", last.Result, age(now.Sub(last.When)), last.Trigger, turnedDown(*last))
	}
	if doc.LastContact.IsZero() {
		line += ", no coordinator reached yet"
	} else {
		line += fmt.Sprintf(", last contact %s ago", age(now.Sub(doc.LastContact)))
	}
	if !doc.NextSync.IsZero() {
		line += ", next in " + age(doc.NextSync.Sub(now))
	}
	return line
}

// turnedDown tells why a sync did not end well, and with which versions.
func turnedDown(r control.SyncResult) string {
	if r.Reason == "" {
		return ""
	}
	why := fmt.Sprintf(" (%s: v%d held", strings.TrimSpace(r.Code+" "+r.Reason), r.Held)
	if r.Offered != 0 {
		why += fmt.Sprintf(", v%d offered", r.Offered)
	}
	return why + ")"
}

func processOf(l control.Workload) string {
	if l.PID == 0 {
		return "no process"
	}
	return fmt.Sprintf("pid %d on v%d (%s)", l.PID, l.Set, l.Via)
}

// historyOf tells restarts, the last end of a process, and the next try.
func historyOf(l control.Workload) string {
	var parts []string
	if l.Restarts > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", l.Restarts, plural(l.Restarts, "restart")))
	}
	if l.LastExit != nil {
		parts = append(parts, "last end: "+exitOf(*l.LastExit))
	}
	if !l.NextTry.IsZero() {
		parts = append(parts, "next try "+l.NextTry.Format(time.TimeOnly))
	}
	return strings.Join(parts, ", ")
}

func exitOf(e control.Exit) string {
	how := "exit " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		how = "signal " + e.Signal
	}
	return how + " at " + e.At.Format(time.TimeOnly)
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// age gives a time span in its largest units, for people.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}
