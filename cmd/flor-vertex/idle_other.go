//go:build !linux

package main

import "time"

// idleTime is not known here.
func idleTime() (idle time.Duration, known bool) { return 0, false }
