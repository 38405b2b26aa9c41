package diag

import (
	"bytes"
	"strings"
	"unicode"
)

// Limits of an excerpt, in characters: long lines are cut around the place.
const (
	excerptWidth = 160
	excerptLead  = 60
	tabWidth     = 4
)

// Excerpt is the line of source at a place, for programs: at most 160
// characters of it, those around the place.
type Excerpt struct {
	// Text has no character that steers a terminal, but tabs as they are.
	Text string `json:"text"`
	// Start and End say what of Text is meant, in characters from 0; End is
	// behind the last one.
	Start int `json:"start"`
	End   int `json:"end"`
}

// excerpt is a line of source and the caret under it.
type excerpt struct{ text, indent, caret string }

// excerpts cuts lines out of sources, and splits each text once.
type excerpts struct {
	sources Sources
	lines   map[string][][]byte
}

func newExcerpts(sources Sources) excerpts {
	return excerpts{sources: sources, lines: map[string][][]byte{}}
}

// of gives the excerpt of a place for a terminal, if there is one.
func (e excerpts) of(p Place) (excerpt, bool) {
	line, ok := e.line(p)
	if !ok {
		return excerpt{}, false
	}
	return cut(line, p), true
}

// plain gives the excerpt of a place for programs; nil where there is none.
func (e excerpts) plain(p Place) *Excerpt {
	line, ok := e.line(p)
	if !ok {
		return nil
	}
	from, to := columns(p)
	shown, skipped := window(line, from)
	for i, c := range shown {
		if c != '\t' && !unicode.IsPrint(c) {
			shown[i] = unicode.ReplacementChar
		}
	}
	return &Excerpt{
		Text:  string(shown),
		Start: min(from-skipped, len(shown)),
		End:   min(to-skipped, len(shown)),
	}
}

// columns are the characters of the first line of a place, from 0.
func columns(p Place) (from, to int) {
	from = max(0, p.Start.Column-1)
	to = from + 1
	if p.End.Line == p.Start.Line {
		to = max(to, p.End.Column-1)
	}
	return from, to
}

// line is the line at which a place starts, if its text is known and there is
// something to see on it.
func (e excerpts) line(p Place) ([]byte, bool) {
	text, ok := e.sources[p.File]
	if !ok {
		return nil, false
	}
	lines, split := e.lines[p.File]
	if !split {
		lines = bytes.Split(text, []byte("\n"))
		e.lines[p.File] = lines
	}
	if p.Start.Line < 1 || p.Start.Line > len(lines) {
		return nil, false
	}
	line := bytes.TrimSuffix(lines[p.Start.Line-1], []byte("\r"))
	return line, len(bytes.TrimSpace(line)) > 0
}

// cut shows the part of a line around a place, in columns of a terminal.
func cut(line []byte, p Place) excerpt {
	from, to := columns(p)
	shown, skipped := window(line, from)
	text, cells := layout(shown)
	from, to = min(from-skipped, len(cells)-1), min(to-skipped, len(cells)-1)
	start, end := cells[from], max(cells[from]+1, cells[to])
	return excerpt{
		text:   text,
		indent: strings.Repeat(" ", start),
		caret:  strings.Repeat("^", end-start),
	}
}

// window drops what lies far before and far behind a column.
func window(line []byte, column int) (shown []rune, skipped int) {
	skipped = max(0, column-excerptLead)
	if len(line) <= excerptWidth {
		skipped = 0
	}
	n := 0
	for _, c := range string(line) {
		if n >= skipped+excerptWidth {
			break
		}
		if n >= skipped {
			shown = append(shown, c)
		}
		n++
	}
	return shown, min(skipped, n)
}

// layout expands tabs and tells at which cell each character begins; the last
// element is the width of all.
func layout(chars []rune) (text string, cells []int) {
	var b strings.Builder
	column := 0
	for _, c := range chars {
		cells = append(cells, column)
		switch {
		case c == '\t':
			n := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case !unicode.IsPrint(c):
			c = unicode.ReplacementChar
		}
		b.WriteRune(c)
		column += width(c)
	}
	return b.String(), append(cells, column)
}

// width is the number of terminal cells of a character: two for the wide ones
// of East Asia and for pictures, none for marks that sit on another.
func width(c rune) int {
	switch {
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(c, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		0xff01 <= c && c <= 0xff60, 0xffe0 <= c && c <= 0xffe6,
		0x3001 <= c && c <= 0x303e, 0x1f300 <= c && c <= 0x1faff:
		return 2
	}
	return 1
}
