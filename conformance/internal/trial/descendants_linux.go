package trial

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Descendants lists the processes that descend from one, itself left out, as long
// as each one's parent lives.
func Descendants(pid int) []Descendant {
	parents := map[int][]Descendant{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if d, parent, ok := readStat(path); ok {
			parents[parent] = append(parents[parent], d)
		}
	}
	var found []Descendant
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, d := range parents[next[0]] {
			found, next = append(found, d), append(next, d.PID)
		}
	}
	return found
}

// Group lists the processes of a process group that have not ended.
func Group(pgid int) []int {
	var found []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if d, _, ok := readStat(path); ok && d.Group == pgid && !d.ended {
			found = append(found, d.PID)
		}
	}
	return found
}

// readStat reads one process; one that has just ended is not ok.
func readStat(path string) (d Descendant, parent int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return d, 0, false
	}
	head, rest, _ := strings.Cut(string(text), "(")
	end := strings.LastIndexByte(rest, ')')
	if end < 0 {
		return d, 0, false
	}
	d.Name = rest[:end]
	d.PID, _ = strconv.Atoi(strings.TrimSpace(head))
	var state string
	if _, err := fmt.Sscan(rest[end+1:], &state, &parent, &d.Group); err != nil {
		return d, 0, false
	}
	d.ended = state == "Z" || state == "X"
	environ, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
	d.Environ = string(bytes.TrimRight(environ, "\x00")) + "\x00"
	return d, parent, err == nil
}
