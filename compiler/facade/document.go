package facade

import (
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// document is one file and the part of the source that is in it.
type document struct {
	file file
	decoder
	part part

	included, excluded []Text
	includes           bool // include was given, be it empty
}

// part is what one file contributes.
type part struct {
	rete     *Rete
	nodes    []*Node
	services []*Service
	groups   []*Group
	roles    []*Role
	users    []*User
}

// sections are the top-level keys of a file.
var sections = []string{"source", "rete", "nodes", "services", "groups", "roles", "users"}

// parse reads and decodes one file. Its faults stay in the document until it
// is united with the others.
func (l *loader) parse(f file) *document {
	doc := &document{file: f, decoder: decoder{file: f.shown}}
	text, fault := l.reader.read(f.path, f.shown)
	if fault != nil {
		doc.found.Add(*fault)
		doc.hidden.everything = true
		return doc
	}
	doc.decode(text)
	if utf8.Valid(text) {
		l.src.Texts[f.shown] = text
	}
	return doc
}

// decode reads a text. Where it is none, or no YAML, its words are remembered
// as hidden.
func (doc *document) decode(text []byte) {
	name := doc.file.shown
	fault := checkText(name, text)
	var tree *yaml.Node
	if fault == nil {
		tree, fault = compose(name, text)
	}
	if fault != nil {
		doc.found.Add(*fault)
		doc.hidden.addText(text)
		return
	}
	doc.decodeTree(tree, text)
}

func (doc *document) decodeTree(tree *yaml.Node, text []byte) {
	if tree == nil {
		return
	}
	refused, ends := inspect(doc.file.shown, tree, text)
	doc.found.Add(refused...)
	doc.ends = ends
	for section, n := range doc.fields(tree, "the file", sections...) {
		switch section {
		case "source":
			doc.decodeSource(n)
		case "rete":
			doc.decodeRete(n)
		default:
			doc.decodeCollection(section, n)
		}
	}
}

func (doc *document) decodeSource(n *yaml.Node) {
	if doc.file.path != RootFile {
		doc.refuse(misplaced.At(doc.at(n), "`source` may only stand in %s at the root", RootFile))
		return
	}
	for key, value := range doc.fields(n, "source", "include", "exclude") {
		switch key {
		case "include":
			doc.includes = true
			doc.included = doc.names(value, "include", "a pattern")
		case "exclude":
			doc.excluded = doc.names(value, "exclude", "a pattern")
		}
	}
}

// unite adds a file to the source.
func (l *loader) unite(doc *document) {
	l.found.Add(doc.found...)
	p, s := doc.part, l.src
	s.hidden.merge(doc.hidden)
	l.uniteRete(p.rete)
	s.Nodes = append(s.Nodes, p.nodes...)
	s.Services = append(s.Services, p.services...)
	s.Groups = append(s.Groups, p.groups...)
	s.Roles = append(s.Roles, p.roles...)
	s.Users = append(s.Users, p.users...)
}

func (l *loader) uniteRete(r *Rete) {
	switch {
	case r == nil:
	case l.src.Rete == nil:
		l.src.Rete = r
	default:
		l.found.Add(duplicateKey.At(r.At, "the section `rete` is given twice").Also(l.src.Rete.At, "the first is here"))
	}
}
