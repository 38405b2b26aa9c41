package program

import (
	"log/slog"
	"strings"
)

// Levels are log thresholds, one for all components and some for single ones.
// The zero value is info everywhere.
type Levels struct {
	Default    slog.Level
	Components map[string]slog.Level
}

// ParseLevels reads FLOR_LOG: a comma-separated list of levels ("warn") and
// component levels ("vertex=debug"), the last word on each counting (OBS-3).
// Empty text is info everywhere. An error names the item and the four levels.
func ParseLevels(text string) (Levels, error) {
	levels := Levels{Default: slog.LevelInfo, Components: map[string]slog.Level{}}
	for item := range strings.SplitSeq(text, ",") {
		if err := levels.set(strings.TrimSpace(item)); err != nil {
			return Levels{}, err
		}
	}
	return levels, nil
}

func (l *Levels) set(item string) error {
	if item == "" {
		return nil
	}
	component, word, single := strings.Cut(item, "=")
	if !single {
		component, word = "", item
	}
	level, known := levelWords[strings.ToLower(word)]
	if !known || single && component == "" {
		return refuse("FL2506", "bad-log-levels", "%q: want debug, info, warn or error, or component=level", item)
	}
	if single {
		l.Components[component] = level
	} else {
		l.Default = level
	}
	return nil
}

var levelWords = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// of returns the threshold of a component.
func (l Levels) of(component string) slog.Level {
	if level, ok := l.Components[component]; ok {
		return level
	}
	return l.Default
}
