package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTicks is USER_HZ, which is 100 on every Linux that Go runs on.
const clockTicks = 100

// cpuTime is what processes have used so far; ok is false where it is unknown.
func cpuTime(procs []*os.Process) (total time.Duration, ok bool) {
	for _, p := range procs {
		fields, err := stat(p)
		if err != nil {
			return 0, false
		}
		for _, i := range []int{11, 12} { // utime, stime, counted from after the name
			ticks, err := strconv.ParseInt(fields[i], 10, 64)
			if err != nil {
				return 0, false
			}
			total += time.Duration(ticks) * time.Second / clockTicks
		}
	}
	return total, len(procs) > 0
}

// resident is the memory that processes hold, in bytes.
func resident(procs []*os.Process) (total int64, ok bool) {
	for _, p := range procs {
		fields, err := stat(p)
		if err != nil {
			return 0, false
		}
		pages, err := strconv.ParseInt(fields[21], 10, 64)
		if err != nil {
			return 0, false
		}
		total += pages * int64(os.Getpagesize())
	}
	return total, len(procs) > 0
}

// stat is /proc/PID/stat after the name of the program, which may hold blanks.
func stat(p *os.Process) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 22 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", p.Pid, len(fields))
	}
	return fields, nil
}
