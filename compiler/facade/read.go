package facade

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"

	"github.com/florete/flor/compiler/diag"
)

// Limits of a source, in bytes and levels.
const (
	MaxFile   = 16 << 20
	MaxSource = 256 << 20
	MaxDepth  = 64
)

// limits are the constants above, except in tests of going over them.
type limits struct{ file, source int64 }

var standardLimits = limits{file: MaxFile, source: MaxSource}

// reader reads files below a root, with what is left of the limit in all.
type reader struct {
	root *os.Root
	max  limits
	left int64
}

func newReader(root *os.Root, max limits) *reader {
	return &reader{root: root, max: max, left: max.source}
}

// read returns the content of a regular file, without a byte order mark. name
// opens it, shown is what the operator calls it.
func (r *reader) read(name, shown string) ([]byte, *diag.Diagnostic) {
	text, err := r.bytes(name)
	var fault diag.Diagnostic
	switch at := diag.WholeFile(shown); {
	case errors.Is(err, errNotRegular):
		fault = notRegular.At(at, "%s is not a regular file", shown)
	case err != nil:
		fault = unreadable.At(at, "%s cannot be read: %v", shown, bare(err))
	case int64(len(text)) > r.max.file:
		fault = fileTooLarge.At(at, "%s has more than %d bytes", shown, r.max.file)
	case int64(len(text)) > r.left:
		fault = sourceTooLarge.At(at, "with %s the files have more than %d bytes in all", shown, r.max.source)
	default:
		r.left -= int64(len(text))
		return bytes.TrimPrefix(text, []byte("\ufeff")), nil
	}
	return nil, &fault
}

// checkText wants UTF-8 without control characters.
func checkText(shown string, text []byte) *diag.Diagnostic {
	at, bad := firstBadByte(text)
	if !bad {
		return nil
	}
	fault := notText.At(placeOfByte(shown, text, at), "%s is not UTF-8 text: byte 0x%02x", shown, text[at])
	return &fault
}

var errNotRegular = errors.New("not a regular file")

// bytes reads at most one byte more than the limit. It does not wait for the
// other end of a pipe.
func (r *reader) bytes(name string) ([]byte, error) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return io.ReadAll(io.LimitReader(f, r.max.file+1))
}

// bare takes the operation and the path off an error that will be shown
// together with the path.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// firstBadByte finds what YAML does not allow in a text at all.
func firstBadByte(text []byte) (int, bool) {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 || isControl(c) || isLoneReturn(text[i:]) {
			return i, true
		}
		i += size
	}
	return 0, false
}

// isControl tells what is no printable text. The line breaks of other worlds
// are among it, so that everybody counts the same lines.
func isControl(c rune) bool {
	switch c {
	case '\t', '\n', '\r':
		return false
	case 0x2028, 0x2029, '\ufeff', 0xfffe, 0xffff:
		return true
	}
	return c < 0x20 || 0x7f <= c && c < 0xa0
}

func isLoneReturn(text []byte) bool {
	return text[0] == '\r' && (len(text) == 1 || text[1] != '\n')
}

func placeOfByte(file string, text []byte, at int) diag.Place {
	lineStart := bytes.LastIndexByte(text[:at], '\n') + 1
	p := diag.Position{
		Line:   bytes.Count(text[:lineStart], []byte("\n")) + 1,
		Column: utf8.RuneCount(text[lineStart:at]) + 1,
	}
	return diag.Place{File: file, Start: p, End: diag.Position{Line: p.Line, Column: p.Column + 1}}
}
