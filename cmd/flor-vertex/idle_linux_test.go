package main

import (
	"testing"
	"time"
)

func TestIdleTimeIsReadFromTheFirstLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"cpu  10 20 30 400 50 6 7 0 0 0\ncpu0 1 1 1 1 1\n": 4500 * time.Millisecond,
		"cpu  10 20 30 400 50":                             4500 * time.Millisecond,
		"":                                                 -1,
		"cpu 1 2 3 4":                                      -1,
		"cpu0 1 2 3 4 5":                                   -1,
		"cpu 1 2 3 x 5":                                    -1,
		"cpu 1 2 3 4 -5":                                   -1,
	} {
		idle, known := parseIdle([]byte(text))
		if known != (want >= 0) || known && idle != want {
			t.Errorf("%q: idle for %v, known %v, want %v", text, idle, known, want)
		}
	}
}

func TestTheMachineTellsItsIdleTime(t *testing.T) {
	t.Parallel()
	before, known := idleTime()
	if after, still := idleTime(); !known || !still || after < before {
		t.Errorf("idle for %v (known %v), and then for %v (known %v)", before, known, after, still)
	}
}
