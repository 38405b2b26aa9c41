//go:build !linux

package main

import (
	"os"
	"time"
)

// cpuTime and resident are known on Linux only.
func cpuTime([]*os.Process) (time.Duration, bool) { return 0, false }

func resident([]*os.Process) (int64, bool) { return 0, false }
