package facade

import (
	"errors"
	"path"
	"strings"
)

// glob is a pattern for slash-separated paths, cut into its segments; the
// segment `**` stands for any number of directories, none included.
type glob []string

func parseGlob(pattern string) (glob, error) {
	if pattern == "" {
		return nil, errors.New("it is empty")
	}
	segments := strings.Split(path.Clean(pattern), "/")
	if segments[0] == "" || segments[0] == ".." {
		return nil, errors.New("it leads out of the repository")
	}
	for _, s := range segments {
		if _, err := path.Match(s, ""); err != nil {
			return nil, errors.New("a bracket or escape in it is not closed")
		}
	}
	return segments, nil
}

// match runs the pattern over the path as a small automaton: reached[i] says
// that the segments read so far are matched by the first i of the pattern, so
// that the cost is the product of the two lengths whatever the pattern.
func (g glob) match(name string) bool {
	reached := make([]bool, len(g)+1)
	reached[0] = true
	g.skipStars(reached)
	for segment := range strings.SplitSeq(name, "/") {
		reached = g.step(reached, segment)
	}
	return reached[len(g)]
}

func (g glob) step(reached []bool, segment string) []bool {
	next := make([]bool, len(reached))
	for i, pattern := range g {
		if !reached[i] {
			continue
		}
		if pattern == "**" {
			next[i] = true
			continue
		}
		if ok, err := path.Match(pattern, segment); ok && err == nil {
			next[i+1] = true
		}
	}
	g.skipStars(next)
	return next
}

// skipStars lets each `**` stand for nothing.
func (g glob) skipStars(reached []bool) {
	for i, pattern := range g {
		if reached[i] && pattern == "**" {
			reached[i+1] = true
		}
	}
}

func hasMeta(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }
