package facade

import (
	"bytes"

	"go.yaml.in/yaml/v4"

	"github.com/florete/flor/compiler/diag"
)

// refusedSyntax finds what the facade does not take of YAML: anchors,
// aliases, merge keys and tags.
func refusedSyntax(name string, tree *yaml.Node, text []byte) diag.List {
	l := linter{name: name, cursor: cursor{text: text, line: 1, column: 1}, mayHaveTags: bytes.IndexByte(text, '!') >= 0}
	l.look(tree)
	return l.found
}

type linter struct {
	name        string
	cursor      cursor
	mayHaveTags bool
	found       diag.List
}

// look visits the tree in the order of the text. Depth is bounded by compose.
func (l *linter) look(n *yaml.Node) {
	at := placeOf(l.name, n)
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
