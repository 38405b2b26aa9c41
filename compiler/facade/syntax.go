package facade

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/florete/flor/compiler/diag"
)

// inspect walks a tree in the order of its text. It finds what the facade does
// not take of YAML (anchors, aliases, merge keys and tags), and the ends of those
// scalars that are not written as their value.
func inspect(name string, tree *yaml.Node, text []byte) (diag.List, ends) {
	l := linter{
		name:        name,
		cursor:      cursor{text: text, line: 1, column: 1},
		mayHaveTags: bytes.IndexByte(text, '!') >= 0,
		ends:        ends{},
	}
	l.look(tree)
	return l.found, l.ends
}

// ends has where scalars end whose length is not that of their value: with
// escapes, over several lines, or as a block.
type ends map[*yaml.Node]diag.Position

type linter struct {
	name        string
	cursor      cursor
	mayHaveTags bool
	found       diag.List
	ends        ends
}

// look visits the tree in the order of the text. Depth is bounded by compose.
func (l *linter) look(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		l.measure(n)
	}
	at := l.ends.place(l.name, n)
	switch {
	case n.Kind == yaml.AliasNode:
		l.found.Add(anchorUsed.At(at, "*%s is an alias", n.Value).Suggest("write the value out"))
		return
	case n.Anchor != "":
		l.found.Add(anchorUsed.At(at, "&%s is an anchor", n.Anchor).Suggest("write the value out where it is needed"))
	case n.Style&yaml.TaggedStyle != 0 || l.hasBareTag(n):
		l.found.Add(tagUsed.At(at, "the tag %s is not taken", n.Tag).Suggest("remove the tag"))
	case isMerge(n):
		l.found.Add(mergeKey.At(at, "<< is a merge key").Suggest("write the settings out"))
	}
	for _, child := range n.Content {
		l.look(child)
	}
}

// measure notes the end of a scalar, unless its value tells.
func (l *linter) measure(n *yaml.Node) {
	start := diag.Position{Line: max(n.Line, 1), Column: max(n.Column, 1)}
	switch first := l.cursor.at(n); {
	case first == '"' || first == '\'':
		if raw := quoted(l.cursor.text); len(raw) != len(n.Value)+2 {
			l.ends[n] = behind(start, raw)
		}
	case first == '!' || first == '&': // refused: show the tag or anchor itself
		l.ends[n] = behind(start, l.cursor.text[:max(0, bytes.IndexAny(l.cursor.text, " \t\r\n,]}"))])
	case !bytes.HasPrefix(l.cursor.text, []byte(n.Value)):
		l.ends[n] = start // a block or several lines: the end is not worth the search
	}
}

// quoted is the quoted scalar at the start of a text, with its quotes.
func quoted(text []byte) []byte {
	for i := 1; i < len(text); i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[i] != text[0]:
		case text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		default:
			return text[:i+1]
		}
	}
	return text
}

// behind is the position behind a text that starts at p.
func behind(p diag.Position, text []byte) diag.Position {
	if last := bytes.LastIndexByte(text, '\n'); last >= 0 {
		p.Line += bytes.Count(text, []byte("\n"))
		p.Column = 1
		text = text[last+1:]
	}
	p.Column += utf8.RuneCount(text)
	return p
}

// place is the range of a node.
func (e ends) place(name string, n *yaml.Node) diag.Place {
	p := placeOf(name, n)
	if end, known := e[n]; known {
		p.End = end
	}
	return p
}

// hasBareTag recognises the tag `!`, which leaves no trace in the tree. A block
// collection starts where its first entry does, and has none of its own to see.
func (l *linter) hasBareTag(n *yaml.Node) bool {
	if !l.mayHaveTags || n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0 {
		return false
	}
	return l.cursor.at(n) == '!'
}

// cursor walks a text forward, so that looking at all nodes of a tree in
// order costs one pass.
type cursor struct {
	text         []byte
	line, column int
}

// at returns the byte at the start of a node.
func (c *cursor) at(n *yaml.Node) byte {
	for c.line < n.Line {
		end := bytes.IndexByte(c.text, '\n')
		if end < 0 {
			return 0
		}
		c.text, c.line, c.column = c.text[end+1:], c.line+1, 1
	}
	for c.line == n.Line && c.column < n.Column && len(c.text) > 0 {
		size := 1
		for size < len(c.text) && c.text[size]&0xc0 == 0x80 {
			size++
		}
		c.text, c.column = c.text[size:], c.column+1
	}
	if len(c.text) == 0 || c.line != n.Line || c.column != n.Column {
		return 0
	}
	return c.text[0]
}
