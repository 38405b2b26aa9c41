package program

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/slogtest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 4, 20, 14, 0, 0, 123456789, time.FixedZone("CEST", 2*3600))

// logged returns what one record becomes in a sink.
func logged(t *testing.T, o LogOptions, log func(*slog.Logger)) string {
	t.Helper()
	return string(captured(t, o, log))
}

func captured(t *testing.T, o LogOptions, log func(*slog.Logger)) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o.Out = f
	log(NewLogger(o))
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// at logs a record with a fixed time.
func at(log *slog.Logger, level slog.Level, msg string, args ...any) {
	r := slog.NewRecord(noon, level, msg, 0)
	r.Add(args...)
	_ = log.Handler().Handle(context.Background(), r)
}

// OBS-2.
func TestARecordIsOneLineOfItsSink(t *testing.T) {
	t.Parallel()
	plain := LogOptions{Workload: "flor", Component: "vertex"}
	shared := LogOptions{Sink: SinkShared, Workload: "flor", Component: "vertex"}
	tests := []struct {
		name string
		opts LogOptions
		log  func(*slog.Logger)
		want string
	}{
		{"plain", plain, func(l *slog.Logger) { at(l, slog.LevelInfo, "listening", "addr", "127.0.0.1:80") },
			"2026-04-20T12:00:00.123Z INFO vertex: listening addr=127.0.0.1:80\n"},
		{"shared has the workload before the component", shared, func(l *slog.Logger) { at(l, slog.LevelWarn, "slow") },
			"2026-04-20T12:00:00.123Z WARN flor vertex: slow\n"},
		{"the same word is not said twice", shared, func(l *slog.Logger) { at(l.With(ComponentKey, "flor"), slog.LevelWarn, "slow") },
			"2026-04-20T12:00:00.123Z WARN flor: slow\n"},
		{"a component of its own", shared, func(l *slog.Logger) { at(l.With(ComponentKey, "gate"), slog.LevelError, "closed") },
			"2026-04-20T12:00:00.123Z ERROR flor gate: closed\n"},
		{"no component is the workload", LogOptions{Workload: "flor"}, func(l *slog.Logger) { at(l, slog.LevelInfo, "m") },
			"2026-04-20T12:00:00.123Z INFO flor: m\n"},
		{"fields keep their order, With first", plain, func(l *slog.Logger) { at(l.With("b", 1), slog.LevelInfo, "m", "a", true) },
			"2026-04-20T12:00:00.123Z INFO vertex: m b=1 a=true\n"},
		{"groups are prefixes", plain, func(l *slog.Logger) {
			at(l.WithGroup("peer"), slog.LevelInfo, "m", "id", "x", slog.Group("cert", "n", 2))
		}, "2026-04-20T12:00:00.123Z INFO vertex: m peer.id=x peer.cert.n=2\n"},
		{"values", plain, func(l *slog.Logger) {
			at(l, slog.LevelInfo, "m", "err", errors.New("no route"), "d", 1500*time.Millisecond, "t", noon, "never", time.Time{}, "empty", "")
		}, "2026-04-20T12:00:00.123Z INFO vertex: m err=\"no route\" d=1.5s t=2026-04-20T12:00:00.123456789Z never=- empty=\"\"\n"},
		{"a value cannot forge a record", plain, func(l *slog.Logger) { at(l, slog.LevelInfo, "m", "peer", "x\n2026 ERROR a: b c=d") },
			"2026-04-20T12:00:00.123Z INFO vertex: m peer=\"x\\n2026 ERROR a: b c=d\"\n"},
		{"nor a field", plain, func(l *slog.Logger) { at(l, slog.LevelInfo, "m", "peer", `x admin=true`, "q", `"`) },
			"2026-04-20T12:00:00.123Z INFO vertex: m peer=\"x admin=true\" q=\"\\\"\"\n"},
		{"control characters, bidi marks and broken text are escaped", plain, func(l *slog.Logger) { at(l, slog.LevelInfo, "m", "v", "\x1b[2J\u202e\u2028\x00\xff") },
			"2026-04-20T12:00:00.123Z INFO vertex: m v=\"\\x1b[2J\\u202e\\u2028\\x00\\xff\"\n"},
		{"so are a message, a component and a key", plain, func(l *slog.Logger) { at(l.With(ComponentKey, "a\nb"), slog.LevelInfo, "m\nn", "k\n=", 1) },
			"2026-04-20T12:00:00.123Z INFO a\\nb: m\\nn k__=1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, logged(t, tt.opts, tt.log)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestATooLongRecordIsCutAtARune(t *testing.T) {
	t.Parallel()
	for pad := range 4 {
		text := logged(t, LogOptions{Component: "c"}, func(l *slog.Logger) {
			at(l, slog.LevelInfo, "m", "v", strings.Repeat("x", pad)+strings.Repeat("ё€", MaxRecord))
		})
		if len(text) > MaxRecord+1 || !utf8.ValidString(text) || !strings.HasSuffix(text, cutMark+"\n") {
			t.Errorf("pad %d: %d bytes, valid %v, ends in %q", pad, len(text), utf8.ValidString(text), text[len(text)-8:])
		}
	}
}

// OBS-3.
func TestLevelsApplyToComponents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		levels string
		want   string // of main.debug, main.warn, vertex.debug, vertex.info
	}{
		{"", "main.warn vertex.info"},
		{"debug", "main.debug main.warn vertex.debug vertex.info"},
		{"error", ""},
		{"warn,vertex=debug", "main.warn vertex.debug vertex.info"},
		{"vertex=error , DEBUG", "main.debug main.warn"},
	}
	for _, tt := range tests {
		t.Run(tt.levels, func(t *testing.T) {
			t.Parallel()
			levels, err := ParseLevels(tt.levels)
			if err != nil {
				t.Fatal(err)
			}
			text := logged(t, LogOptions{Component: "main", Levels: levels}, func(l *slog.Logger) {
				l.Debug("main.debug")
				l.Warn("main.warn")
				l.With(ComponentKey, "vertex").Debug("vertex.debug")
				l.With(ComponentKey, "vertex").Info("vertex.info")
			})
			var got []string
			for line := range strings.Lines(text) {
				got = append(got, strings.TrimSpace(line[strings.LastIndex(line, " "):]))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLevelsThatCannotBeUnderstoodAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"loud", "vertex=", "=debug", "a=b=c", "info,loud"} {
		_, err := ParseLevels(text)
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Code() != "FL2506" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The handler keeps the promises of slog.Handler.
func TestHandlerFollowsTheRulesOfSlog(t *testing.T) {
	t.Parallel()
	var f *os.File
	slogtest.Run(t, func(t *testing.T) slog.Handler {
		var err error
		if f, err = os.Create(filepath.Join(t.TempDir(), "log")); err != nil {
			t.Fatal(err)
		}
		return NewLogger(LogOptions{Out: f, Component: "c"}).Handler()
	}, func(t *testing.T) map[string]any {
		defer f.Close()
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return parseLine(t, string(text))
	})
}

// parseLine reads a line back into the nested form that slogtest wants. The
// zero time, which slog wants left out, is written as the time of writing
// here, because each line has one (OBS-2).
func parseLine(t *testing.T, line string) map[string]any {
	head, fields, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
	words := strings.Fields(head)
	got := map[string]any{slog.LevelKey: words[1]}
	if stamp, err := time.Parse(time.RFC3339, words[0]); err == nil && !strings.HasSuffix(t.Name(), "zero-time") {
		got[slog.TimeKey] = stamp
	}
	for i, field := range strings.Fields(fields) {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			if i == 0 {
				got[slog.MessageKey] = field
			}
			continue
		}
		into := got
		path := strings.Split(key, ".")
		for _, group := range path[:len(path)-1] {
			if into[group] == nil {
				into[group] = map[string]any{}
			}
			into = into[group].(map[string]any)
		}
		into[path[len(path)-1]] = value
	}
	return got
}

// A record stays one line whatever it is made of.
func FuzzOneRecordIsOneLine(f *testing.F) {
	f.Add("message", "key", "value", "component")
	f.Add("m\r\n", "k=v \"", "\u2028\xff\x00", "a: b")
	out, err := os.CreateTemp(f.TempDir(), "log")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { out.Close() })
	f.Fuzz(func(t *testing.T, message, key, value, component string) {
		if err := out.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		NewLogger(LogOptions{Out: out, Component: component, Workload: "w", Sink: SinkShared}).With("a", value).Info(message, key, value)
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(string(text), "\n")
		if rest != "" || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("not one clean line: %q", text)
		}
	})
}

func FuzzParseLevels(f *testing.F) {
	f.Add("warn,vertex=debug")
	f.Fuzz(func(t *testing.T, text string) {
		if levels, err := ParseLevels(text); err == nil && levels.Components == nil {
			t.Error("no map of components")
		}
	})
}
