package main

import "testing"

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
			many = p.look(used)
		}
		if many != c.many {
			t.Errorf("%s: all processors are used: %v, want %v", name, many, c.many)
		}
	}
}

func TestAnIdleVertexIsLookedAtSeldom(t *testing.T) {
	t.Parallel()
	if idle, busy := pause(0.01), pause(0.5); idle <= busy {
		t.Errorf("a look each %v while idle and each %v while busy", idle, busy)
	}
}
