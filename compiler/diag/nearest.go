package diag

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that differs least from name, if one is close
// enough to be a typing error of it: one edit for each three characters, at
// least one. Of equally close candidates the first wins. The cost is the number
// of candidates of similar length times the square of the length; names longer
// than 64 bytes have no near ones.
func Nearest(name string, candidates []string) (string, bool) {
	if len(name) > maxLength {
		return "", false
	}
	best, limit := "", max(1, len(name)/3)
	for _, c := range candidates {
		if c == name || abs(len(c)-len(name)) > limit {
			continue
		}
		if d := distance(name, c); d <= limit {
			best, limit = c, d-1
		}
		if limit < 1 {
			break
		}
	}
	return best, best != ""
}

const maxLength = 64

// maxListed is how many names a reader takes in at a glance.
const maxListed = 8

// Few lists names, sorted, where they are few enough to choose from: "alpha",
// or "one of alpha, beta". It is empty when there are none, or too many.
func Few(names []string) string {
	switch {
	case len(names) == 0 || len(names) > maxListed:
		return ""
	case len(names) == 1:
		return names[0]
	}
	return "one of " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// distance counts insertions, deletions, replacements and swaps of
// neighbours that turn a into b, byte by byte.
func distance(a, b string) int {
	if len(b) > 2*maxLength {
		return len(b)
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = cheapest(a, b, i, j, before, above, row)
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

func cheapest(a, b string, i, j int, before, above, row []int) int {
	cost := 1
	if a[i] == b[j] {
		cost = 0
	}
	d := min(above[j+1]+1, row[j]+1, above[j]+cost)
	if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
		d = min(d, before[j-1]+1)
	}
	return d
}

func abs(n int) int { return max(n, -n) }
