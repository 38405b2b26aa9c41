package program

import (
	"log/slog"
	"os"
)

// Sink is what a program's log descriptor is (OBS-1).
type Sink string

// The sinks. The empty one is plain standard error, by hand.
const (
	SinkPlain  Sink = ""
	SinkShared Sink = "shared"
	SinkSyslog Sink = "syslog"
)

// ComponentKey is the attribute that names the part of a program a logger
// belongs to: log.With(program.ComponentKey, "gate"). It stands before the
// message and can have its own level in FLOR_LOG (OBS-2, OBS-3).
const ComponentKey = "component"

// LogOptions say where and how records are written.
type LogOptions struct {
	// Sink is what Out is.
	Sink Sink
	// Out is where records go; nil is standard error.
	Out *os.File
	// Workload is the name that stands before the component in a shared sink
	// and before the record in syslog.
	Workload string
	// Component is the default component; empty means Workload.
	Component string
	// Levels are the thresholds; the zero value is info everywhere.
	Levels Levels
}

// Levels are log thresholds, one for all components and some for single ones.
type Levels struct {
	Default    slog.Level
	Components map[string]slog.Level
}

// ParseLevels reads FLOR_LOG: a comma-separated list of levels ("warn") and
// component levels ("vertex=debug"). Empty text is info everywhere.
func ParseLevels(text string) (Levels, error) { return Levels{}, nil }

// NewLogger returns a logger that writes one line with one write per record
// (OBS-2).
func NewLogger(o LogOptions) *slog.Logger { return nil }

// OpenSink connects to a log destination, "unix:<path>" (OBS-1), and returns
// the socket, which the caller closes. Nothing that answers there is marked
// [Unavailable], anything else that is wrong with it [Reject].
func OpenSink(destination string) (*os.File, error) { return nil, nil }
