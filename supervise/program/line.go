package program

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxRecord is the longest record that is written, in bytes; what is over is
// cut off and marked.
const MaxRecord = 8 << 10

const cutMark = " …"

// form is how the records of one sink look (OBS-2).
type form struct {
	// syslog, if not empty, is the workload's name in "<N>name: ".
	syslog string
	// owner, if not empty, stands before a component of another name.
	owner   string
	newline bool
}

func lineForm(o LogOptions) form {
	name := escape(o.Workload)
	switch o.Sink {
	case SinkSyslog:
		return form{syslog: name}
	case SinkShared:
		return form{owner: name, newline: true}
	default:
		return form{newline: true}
	}
}

// begin appends all of a record that comes before its fields.
func (f form) begin(dst []byte, level slog.Level, at time.Time, component, message string) []byte {
	if f.syslog != "" {
		dst = fmt.Appendf(dst, "<%d>%s: ", priority(level), f.syslog)
	}
	if at.IsZero() {
		at = time.Now()
	}
	dst = at.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = append(dst, ' ')
	dst = append(dst, levelWord(level)...)
	dst = append(dst, ' ')
	if f.owner != "" && f.owner != escape(component) {
		dst = append(dst, f.owner...)
		dst = append(dst, ' ')
	}
	dst = append(dst, escape(component)...)
	dst = append(dst, ": "...)
	return append(dst, escape(message)...)
}

// end cuts a record to its limit and ends the line.
func (f form) end(line []byte) []byte {
	if len(line) > MaxRecord {
		line = append(trimPartialRune(line[:MaxRecord-len(cutMark)]), cutMark...)
	}
	if f.newline {
		line = append(line, '\n')
	}
	return line
}

// trimPartialRune drops the beginning of a rune that was cut in two.
func trimPartialRune(line []byte) []byte {
	for i := len(line) - 1; i >= 0 && i > len(line)-utf8.UTFMax; i-- {
		if utf8.RuneStart(line[i]) {
			if !utf8.FullRune(line[i:]) {
				return line[:i]
			}
			break
		}
	}
	return line
}

// priority is the syslog priority of a level with the daemon facility.
func priority(level slog.Level) int {
	const daemon = 3 << 3
	switch {
	case level >= slog.LevelError:
		return daemon | 3
	case level >= slog.LevelWarn:
		return daemon | 4
	case level >= slog.LevelInfo:
		return daemon | 6
	default:
		return daemon | 7
	}
}

func levelWord(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "ERROR"
	case level >= slog.LevelWarn:
		return "WARN"
	case level >= slog.LevelInfo:
		return "INFO"
	default:
		return "DEBUG"
	}
}

// appendField appends " key=value", or the fields of a group.
func appendField(dst []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			dst = appendField(dst, group, inner)
		}
		return dst
	}
	if a.Key == "" {
		return dst
	}
	dst = append(dst, ' ')
	dst = append(dst, key(group+a.Key)...)
	dst = append(dst, '=')
	return append(dst, quote(text(v))...)
}

// text prints a value for a person and for grep.
func text(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return printTime(v.Time())
	case slog.KindAny:
		if t, ok := v.Any().(time.Time); ok {
			return printTime(t)
		}
		if err, ok := v.Any().(error); ok {
			return printError(err)
		}
	}
	return v.String()
}

func printTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// printError survives an error value whose method panics on a nil pointer.
func printError(err error) (s string) {
	defer func() {
		if recover() != nil {
			s = fmt.Sprintf("%T", err)
		}
	}()
	return err.Error()
}

// quote returns a value as it is when it is one plain word, else quoted with
// all that is not printable escaped: nobody can forge a field or a record.
func quote(s string) string {
	if s == "" || strings.ContainsFunc(s, needsQuotes) || !utf8.ValidString(s) {
		return strconv.Quote(s)
	}
	return s
}

func needsQuotes(r rune) bool {
	return r == ' ' || r == '"' || r == '=' || r == '\\' || !unicode.IsPrint(r)
}

// escape returns running text with all that is not printable escaped.
func escape(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) && utf8.ValidString(s) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// key returns a key in which nothing ends it early.
func key(s string) string {
	return strings.Map(func(r rune) rune {
		if needsQuotes(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, s)
}
