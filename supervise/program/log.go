package program

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
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
// message and can have its own level in FLOR_LOG (OBS-2, OBS-3). It counts
// only where it is given to With, outside any group.
const ComponentKey = "component"

// LogOptions say where and how records are written.
type LogOptions struct {
	// Sink is what Out is. In a syslog sink records are sent without
	// blocking; those that the daemon does not take are dropped and counted,
	// and a daemon that comes back is connected to again (OBS-1).
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

// NewLogger returns a logger that writes one line with one write per record
// (OBS-2).
func NewLogger(o LogOptions) *slog.Logger {
	if o.Component == "" {
		o.Component = o.Workload
	}
	if o.Out == nil {
		o.Out = os.Stderr
	}
	h := &handler{form: lineForm(o), out: newLineWriter(o), levels: o.Levels, component: o.Component}
	h.threshold = o.Levels.of(o.Component)
	return slog.New(h)
}

// handler is the slog.Handler of a sink.
type handler struct {
	form   form
	out    lineWriter
	levels Levels

	component string
	threshold slog.Level
	// fields are the attributes of With, rendered; group is the prefix of
	// what comes.
	fields []byte
	group  string
}

// lineWriter takes one record. It never blocks on a stuck daemon.
type lineWriter interface{ writeLine(line []byte) error }

// Enabled reports whether the component logs at a level.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.threshold }

// Handle writes one record.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	line := h.form.begin(nil, r.Level, r.Time, h.component, r.Message)
	line = append(line, h.fields...)
	r.Attrs(func(a slog.Attr) bool {
		line = appendField(line, h.group, a)
		return true
	})
	return h.out.writeLine(h.form.end(line))
}

// WithAttrs returns a handler that adds attributes to each record.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.fields = slices.Clip(h.fields)
	for _, a := range attrs {
		if a.Key == ComponentKey && h.group == "" {
			next.component = a.Value.Resolve().String()
			next.threshold = h.levels.of(next.component)
			continue
		}
		next.fields = appendField(next.fields, h.group, a)
	}
	return &next
}

// WithGroup returns a handler that puts a name before each key.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group = h.group + name + "."
	return &next
}

// streamWriter writes lines to a file that others may write to as well.
type streamWriter struct {
	mu  sync.Mutex
	out *os.File
}

func (w *streamWriter) writeLine(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(line)
	return err
}

func newLineWriter(o LogOptions) lineWriter {
	if o.Sink != SinkSyslog {
		return &streamWriter{out: o.Out}
	}
	dropped := lineForm(o)
	return newDatagramWriter(o.Out, func(n uint64) []byte {
		line := dropped.begin(nil, slog.LevelWarn, time.Now(), "log", "records were dropped because the log daemon did not take them")
		return dropped.end(appendField(line, "", slog.Uint64("count", n)))
	})
}
