package main

import (
	"math/rand/v2"
	"testing"
	"time"
)

// life makes points, one a second, from a time to a time.
func life(from, to int, value func(second int) float64) []point {
	var points []point
	for s := from; s < to; s++ {
		points = append(points, point{time.Duration(s) * time.Second, value(s)})
	}
	return points
}

func TestJudgeTellsASlopeFromNoise(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	noise := func(width float64) float64 { return width * (chance.Float64() - 0.5) }
	r := rule{least: 4, share: 0.15}
	for _, tt := range []struct {
		name   string
		points []point
		leaks  bool
	}{
		{"nothing measured", nil, false},
		{"a handful of points that rise", life(90, 99, func(s int) float64 { return float64(s) }), false},
		{"a constant", life(0, 180, func(int) float64 { return 30 }), false},
		{"noise", life(0, 180, func(int) float64 { return 30 + noise(10) }), false},
		{"a leak of 6 MiB a minute", life(0, 180, func(s int) float64 { return 30 + float64(s)/10 }), true},
		{"the same leak in noise", life(0, 180, func(s int) float64 { return 30 + float64(s)/10 + noise(5) }), true},
		{"growth in the first half only", life(0, 180, func(s int) float64 { return float64(min(s, 90)) }), false},
		{"growth below the least", life(0, 180, func(s int) float64 { return 30 + float64(s)/60 }), false},
		{"growth below the share", life(0, 180, func(s int) float64 { return 300 + float64(s)/9 }), false},
		{"a fall", life(0, 180, func(s int) float64 { return 90 - float64(s)/10 }), false},
		{"a sawtooth of collections", life(0, 180, func(s int) float64 { return 30 + float64(s%15) }), false},
		{"a few enormous bursts", life(0, 180, func(s int) float64 {
			if s > 160 && s%5 == 0 {
				return 500
			}
			return 30 + noise(1)
		}), false},
		{"steps, each of which stays", life(0, 180, func(s int) float64 { return 30 + 2*float64(s/15) }), true},
		{"an hour", life(0, 3600, func(s int) float64 { return 30 + float64(s)/100 }), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := 90 * time.Second
			if len(tt.points) > 1000 {
				from = 30 * time.Minute
			}
			if v := judge(tt.points, from, r); v.leaks != tt.leaks {
				t.Errorf("judged %+v, want a leak: %v", v, tt.leaks)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 2}, 3}, {[]float64{9, 1, 2}, 2}} {
		if got := median(tt.of); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.of, got, tt.want)
		}
	}
}
