package facade

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/florete/flor/compiler/diag"
)

// compose turns a text into a tree of nodes. The tree is nil when the text is
// empty or when the fault is not.
func compose(name string, text []byte) (*yaml.Node, *diag.Diagnostic) {
	if at, ok := tabIndentation(text); ok {
		d := tabIndent.At(placeOfByte(name, text, at), "this line is indented with a tab").Suggest("replace the tab by spaces")
		return nil, &d
	}
	if at, ok := MergeConflict(text); ok {
		d := badSyntax.At(placeOfByte(name, text, at), "git left a merge conflict here").
			Suggest("keep what is right of both sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>")
		return nil, &d
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(MaxDepth))))
	if err != nil {
		panic(fmt.Sprintf("the options of the YAML loader: %v", err)) // constant options: a bug of ours
	}
	tree, fault := loadDocument(name, text, loader)
	if fault != nil || tree == nil {
		return nil, fault
	}
	second, fault := loadDocument(name, text, loader)
	if fault != nil {
		return nil, fault
	}
	if second != nil {
		d := severalDocuments.At(placeOf(name, second), "another document starts here").Suggest("remove the line `---`, or move what follows to a file of its own")
		return nil, &d
	}
	return tree.Content[0], nil
}

// loadDocument returns nil at the end of the text.
func loadDocument(name string, text []byte, loader *yaml.Loader) (*yaml.Node, *diag.Diagnostic) {
	var doc yaml.Node
	err := loader.Load(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		d := syntaxFault(name, text, err)
		return nil, &d
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, nil
	}
	return &doc, nil
}

func syntaxFault(name string, text []byte, err error) diag.Diagnostic {
	var l *yaml.LoadError
	if !errors.As(err, &l) {
		return badSyntax.At(diag.WholeFile(name), "this is not YAML: %v", err)
	}
	at := placeOfMark(name, text, l.Mark)
	if l.Mark.Line < 1 {
		at = placeOfMark(name, text, l.ContextMark)
	}
	switch {
	case strings.Contains(l.Message, "max depth"):
		return tooDeep.At(at, "the nesting is deeper than %d", MaxDepth)
	case strings.Contains(l.Message, "unknown anchor"):
		return anchorUsed.At(at, "an alias is used here").Suggest("write the value out")
	}
	d := badSyntax.At(at, "this is not YAML: %s", l.Message)
	context := placeOfMark(name, text, l.ContextMark)
	if l.ContextMsg == "" || l.ContextMark.Line < 1 || context == at {
		return d
	}
	return d.Also(context, "%s that starts here", l.ContextMsg)
}

// placeOfMark gives the place of a mark. One behind the last line with
// something on it, as for a bracket that is never closed, is moved to the end
// of that line.
func placeOfMark(name string, text []byte, m yaml.Mark) diag.Place {
	p := diag.Position{Line: max(m.Line, 1), Column: max(m.Column, 1)}
	written := bytes.TrimRight(text, " \t\r\n")
	if last := bytes.Count(written, []byte("\n")) + 1; p.Line > last {
		start := bytes.LastIndexByte(written, '\n') + 1
		p = diag.Position{Line: last, Column: utf8.RuneCount(written[start:]) + 1}
	}
	return diag.Place{File: name, Start: p, End: p}
}

// tabIndentation finds the first tab in front of the first word of a line.
func tabIndentation(text []byte) (int, bool) {
	start := 0
	for line := range bytes.Lines(text) {
		blank := len(line) - len(bytes.TrimLeft(line, " \t"))
		rest := bytes.TrimRight(line[blank:], "\r\n")
		tab := bytes.IndexByte(line[:blank], '\t')
		if tab >= 0 && len(rest) > 0 && rest[0] != '#' {
			return start + tab, true
		}
		start += len(line)
	}
	return 0, false
}

// conflictStart begins the first of the lines with which git marks what two
// branches wrote in one place.
const conflictStart = "<<<<<<< "

// MergeConflict finds the first place of a text where git left a conflict to
// its user. Nothing that we read begins a line so by itself.
func MergeConflict(text []byte) (at int, found bool) {
	if bytes.HasPrefix(text, []byte(conflictStart)) {
		return 0, true
	}
	at = bytes.Index(text, []byte("\n"+conflictStart))
	return at + 1, at >= 0
}

// placeOf gives the range of a node. The end of a scalar is worked out from its
// value; where it is written in another way, see ends.
func placeOf(name string, n *yaml.Node) diag.Place {
	p := diag.Place{File: name, Start: diag.Position{Line: max(n.Line, 1), Column: max(n.Column, 1)}}
	p.End = p.Start
	if n.Kind == yaml.ScalarNode {
		p.End.Column += len([]rune(n.Value))
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			p.End.Column += 2
		}
	}
	return p
}

// isPlainString reports whether a plain scalar is a string in every version of
// YAML. It is stricter than the resolver of the YAML package, which reads no
// and 12:30 as strings where others see a boolean and a number.
func isPlainString(n *yaml.Node) bool {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return true
	}
	return n.ShortTag() == "!!str" && !isOldBoolean(n.Value) && !oldNumber.MatchString(n.Value)
}

func isOldBoolean(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "=":
		return true
	}
	return false
}

// oldNumber matches the numbers of YAML 1.1: underscores between digits, and
// base 60.
var oldNumber = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?$`)
