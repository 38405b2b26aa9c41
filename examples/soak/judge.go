package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// point is one measurement.
type point struct {
	at    time.Duration // since the start
	value float64
}

// rule says what counts as a slope of a measure.
type rule struct {
	least float64 // growth over the judged half, in the measure's unit, that is no leak yet
	share float64 // the same, of the median
}

// steady is the share of pairs of points of which the later must be the larger
// one. Noise without a trend has half of them.
const steady = 0.7

// verdict is what judge found.
type verdict struct {
	median float64 // of the judged points
	growth float64 // over the judged half, by the slope
	rising float64 // share of pairs whose later point is the larger
	leaks  bool
}

func (v verdict) String() string {
	word := "flat"
	if v.leaks {
		word = "RISES"
	}
	return fmt.Sprintf("%s %+.1f", word, v.growth)
}

// judge looks for a slope among points from a time on. The slope is that of
// Theil and Sen, the median of the slopes of all pairs, which outliers such as a
// collection or a burst do not move. A measure leaks when that slope, over the
// whole judged time, comes to more than the rule allows, and the pairs agree. Of
// fewer than ten points nothing is said.
func judge(points []point, from time.Duration, r rule) verdict {
	judged := slices.DeleteFunc(slices.Clone(points), func(p point) bool { return p.at < from })
	judged = thin(judged, mostJudged)
	if len(judged) < 10 {
		return verdict{}
	}
	slopes, rising := pairSlopes(judged)
	span := (judged[len(judged)-1].at - judged[0].at).Seconds()
	v := verdict{median: medianOf(judged), growth: median(slopes) * span, rising: rising}
	v.leaks = v.growth > max(r.least, r.share*v.median) && v.rising >= steady
	return v
}

// mostJudged bounds the work: pairs are its square.
const mostJudged = 600

// thin leaves every k-th point, so that at most so many remain.
func thin(points []point, most int) []point {
	step := (len(points) + most - 1) / most
	if step <= 1 {
		return points
	}
	var thinned []point
	for i := 0; i < len(points); i += step {
		thinned = append(thinned, points[i])
	}
	return thinned
}

// pairSlopes gives the slopes of all pairs, by the second, and the share of those
// that rise, a pair of equals counting half.
func pairSlopes(points []point) (slopes []float64, rising float64) {
	for i, early := range points {
		for _, late := range points[i+1:] {
			rise := late.value - early.value
			slopes = append(slopes, rise/(late.at-early.at).Seconds())
			rising += float64(cmp.Compare(rise, 0)+1) / 2
		}
	}
	return slopes, rising / float64(len(slopes))
}

func medianOf(points []point) float64 {
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.value
	}
	return median(values)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
