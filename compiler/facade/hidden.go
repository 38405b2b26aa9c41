package facade

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v4"
)

// hidden remembers what stood in the parts of a source that were refused, so
// that validation does not report a name as missing that is only unreadable.
type hidden struct {
	everything bool // a file could not even be read
	words      map[string]bool
	sections   map[string]bool // those with a part that was refused
}

func (h *hidden) addSection(name string) {
	if h.sections == nil {
		h.sections = map[string]bool{}
	}
	h.sections[name] = true
}

func (h *hidden) add(word string) {
	if h.words == nil {
		h.words = map[string]bool{}
	}
	h.words[word] = true
}

// addTree remembers every scalar of a refused value.
func (h *hidden) addTree(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		h.add(n.Value)
	}
	for _, child := range n.Content {
		h.addTree(child)
	}
}

// addText remembers the words of a text that is not YAML, and the sections that
// start a line of it.
func (h *hidden) addText(text []byte) {
	for word := range bytes.FieldsFuncSeq(text, func(c rune) bool { return !isNameRune(c) }) {
		h.add(string(bytes.TrimSuffix(word, []byte("."))))
	}
	for line := range bytes.Lines(text) {
		key, _, _ := bytes.Cut(bytes.TrimLeft(line, `{"'`), []byte(":"))
		if section := string(bytes.TrimRight(key, ` "'`)); slices.Contains(sections, section) {
			h.addSection(section)
		}
	}
}

func isNameRune(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-' || c == '/'
}

func (h *hidden) merge(other hidden) {
	h.everything = h.everything || other.everything
	for word := range other.words {
		h.add(word)
	}
	for section := range other.sections {
		h.addSection(section)
	}
}
