package main

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// userTick is the unit of times in /proc, the same for all programs.
const userTick = time.Second / 100

// idleTime is how long the processors of this machine, added up, have had nothing
// to do since it was booted, waiting for disks included.
func idleTime() (idle time.Duration, known bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	return parseIdle(text)
}

// parseIdle reads the idle and iowait columns of the line of all processors, the
// first one: cpu user nice system idle iowait (proc_stat(5)).
func parseIdle(stat []byte) (idle time.Duration, known bool) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	columns := bytes.Fields(line)
	if len(columns) < 6 || string(columns[0]) != "cpu" {
		return 0, false
	}
	for _, column := range columns[4:6] {
		ticks, err := strconv.ParseUint(string(column), 10, 63)
		if err != nil {
			return 0, false
		}
		idle += time.Duration(ticks) * userTick
	}
	return idle, true
}
