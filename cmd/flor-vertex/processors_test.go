package main

import (
	"context"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestProcessorsFollowWhatIsInUse(t *testing.T) {
	t.Parallel()
	repeat := func(used float64, n int) []float64 {
		looks := make([]float64, n)
		for i := range looks {
			looks[i] = used
		}
		return looks
	}
	for name, c := range map[string]struct {
		used []float64
		many bool
	}{
		"nothing to do is for one":                 {repeat(0, 3), false},
		"half of one is for one":                   {repeat(0.5, 3), false},
		"one that others want too is for one":      {repeat(0.8, 100), false},
		"a whole one is for all":                   {[]float64{1}, true},
		"all stay while more than one is used":     {repeat(1.5, 100), true},
		"all stay while one would be nearly full":  {append([]float64{1}, repeat(0.7, 100)...), true},
		"a moment without work leaves all":         {append([]float64{1}, repeat(0, calmLooks-1)...), true},
		"some time without much work is for one":   {append([]float64{1}, repeat(0.5, calmLooks)...), false},
		"work in between counts the calm anew":     {append(append([]float64{1}, repeat(0, calmLooks-1)...), 0.7, 0), true},
		"work after the calm is for all once more": {append(append([]float64{1}, repeat(0, calmLooks)...), 1), true},
	} {
		var p processors
		many := false
		for _, used := range c.used {
			many = p.look(load{used: used, spare: true})
		}
		if many != c.many {
			t.Errorf("%s: all processors are used: %v, want %v", name, many, c.many)
		}
	}
}

func TestAMachineWithoutSpareProcessorsGivesNone(t *testing.T) {
	t.Parallel()
	var p processors
	if p.look(load{used: 1}) {
		t.Error("all processors are used where others use them")
	}
	if !p.look(load{used: 1, spare: true}) {
		t.Error("one processor is used although there is another")
	}
	if !p.look(load{used: 1.9}) {
		t.Error("all processors are given back because the vertex uses them")
	}
}

func TestSpareProcessorsAreThoseWithoutWorkSinceTheLastLook(t *testing.T) {
	t.Parallel()
	idle, known := idleTime()
	if !known {
		t.Skip("nothing tells what this machine does")
	}
	now := time.Now()
	for name, c := range map[string]struct {
		m    machine
		used float64
		want bool
	}{
		"one was idle":             {machine{now.Add(-time.Hour), idle - time.Hour}, 1, true},
		"none was idle":            {machine{now.Add(-24000 * time.Hour), idle - 2*time.Hour}, 1, false},
		"nothing to compare with":  {machine{}, 1, false},
		"a vertex without traffic": {machine{now.Add(-time.Hour), idle - time.Hour}, 0, false},
	} {
		if got := c.m.spare(now, c.used); got != c.want {
			t.Errorf("%s: spare is %v, want %v", name, got, c.want)
		}
		if asked := !c.m.at.IsZero(); asked != (c.used > 0) {
			t.Errorf("%s: the machine was asked: %v", name, asked)
		}
	}
}

func TestManyHandshakesAreForAllProcessors(t *testing.T) {
	t.Parallel()
	var p processors
	for range calmLooks {
		if !p.look(load{used: 0.3, shakes: shakesFrom}) {
			t.Fatal("one processor is used beside many handshakes")
		}
	}
	for range calmLooks - 1 {
		p.look(load{used: 0.3, shakes: shakesFrom - 1})
	}
	if !p.look(load{used: 0.3, shakes: shakesFrom}) {
		t.Error("one processor is used as soon as there are fewer handshakes for a moment")
	}
	for range calmLooks {
		p.look(load{used: 0.3, shakes: shakesFrom - 1})
	}
	if p.look(load{used: 0.3, shakes: shakesFrom - 1}) {
		t.Error("all processors are used when there are few handshakes again")
	}
}

// It changes the processors of the whole process, so it runs while no other test
// does.
func TestTheRuntimeFollowsTheDecision(t *testing.T) {
	runtime.SetDefaultGOMAXPROCS() // go test -cpu may have set another number
	all := runtime.GOMAXPROCS(0)
	if all == 1 || os.Getenv("GOMAXPROCS") != "" {
		t.Skip("there is one processor, or GOMAXPROCS is set: nothing is decided")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var seen []int
	adaptProcessors(ctx, func() uint64 { // is asked at the start and at each look, before the decision
		seen = append(seen, runtime.GOMAXPROCS(0))
		if len(seen) == 3 {
			cancel()
		}
		return uint64(len(seen)) << 20
	})
	if len(seen) < 3 || !slices.Equal(seen[:3], []int{1, 1, all}) {
		t.Errorf("processors at the first looks: %d, want 1, 1 and then %d", seen, all)
	}
	if got := runtime.GOMAXPROCS(0); got != all {
		t.Errorf("%d processors are left to the runtime, want %d", got, all)
	}
}

func TestAnIdleVertexIsLookedAtSeldom(t *testing.T) {
	t.Parallel()
	if idle, busy := pause(0.01), pause(0.5); idle <= busy {
		t.Errorf("a look each %v while idle and each %v while busy", idle, busy)
	}
}
