package facade

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/florete/flor/compiler/diag"
)

// decoder turns the tree of one file into its part of the source. Every
// method takes the node at which a value is due and reports what it refuses.
type decoder struct {
	file  string
	found diag.List
	// refused counts what was left out, whether it was reported here or by
	// another pass.
	refused int
	hidden  hidden
	ends    ends
}

func (d *decoder) at(n *yaml.Node) diag.Place { return d.ends.place(d.file, n) }

// refuse reports a fault, and the values that are left out because of it.
func (d *decoder) refuse(found diag.Diagnostic, lost ...*yaml.Node) {
	d.found.Add(found)
	d.refused++
	for _, n := range lost {
		d.hidden.addTree(n)
	}
}

// spoiled runs read and reports whether something was refused meanwhile.
func (d *decoder) spoiled(read func()) bool {
	before := d.refused
	read()
	return d.refused > before
}

// isReported reports whether a node is an alias or has a tag, which the pass
// over the tree has refused (inspect); its value is left out.
func (d *decoder) isReported(n *yaml.Node) bool {
	if n.Kind != yaml.AliasNode && n.Style&yaml.TaggedStyle == 0 {
		return false
	}
	d.refused++
	d.hidden.addTree(n)
	return true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// fields yields the known keys of a mapping, each once. An empty value counts
// as an empty mapping.
func (d *decoder) fields(n *yaml.Node, what string, known ...string) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		for key, value := range d.pairs(n, what) {
			if !slices.Contains(known, key.Value) {
				d.refuse(unknownField(d.at(key), key.Value, what, known), key, value)
				continue
			}
			if !yield(key.Value, value) {
				return
			}
		}
	}
}

// noFields reports every key of a mapping that has none.
func (d *decoder) noFields(n *yaml.Node, what string) {
	for key, value := range d.pairs(n, what) {
		d.refuse(unknownField(d.at(key), key.Value, what, nil), key, value)
	}
}

func unknownField(at diag.Place, key, what string, known []string) diag.Diagnostic {
	if len(known) == 0 {
		return unknownKey.At(at, "%s has no settings, %q is unknown", what, key)
	}
	found := unknownKey.At(at, "%q is not known in %s (known: %s)", key, what, strings.Join(known, ", "))
	if name, ok := diag.Nearest(key, known); ok {
		return found.Suggest("did you mean %q?", name)
	}
	return found
}

// entry is a named part of a collection.
type entry struct {
	name  Text
	value *yaml.Node
	// again says that an earlier entry of the mapping has the name, which has
	// been reported.
	again bool
}

// entries yields the named entries of a collection. One whose name is refused
// is read on as if the name were right, so that its other faults are seen in
// the same run; that a name is empty is for validation to say.
func (d *decoder) entries(n *yaml.Node, what string) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if !d.isMapping(n, what) {
			return
		}
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			again := key.Kind == yaml.ScalarNode && seen[key.Value] != nil
			if !d.isKey(key, what, seen) && (key.Kind != yaml.ScalarNode || isMerge(key)) {
				d.hidden.addTree(value)
				continue
			}
			if !yield(entry{d.entryName(key, what), value, again}) {
				return
			}
		}
	}
}

func (d *decoder) entryName(key *yaml.Node, what string) Text {
	name := Text{V: key.Value, At: d.at(key)}
	if key.Style&yaml.TaggedStyle == 0 && name.V != "" && !isPlainString(key) {
		d.found.Add(noName(name, "a name in "+what))
		name.Refused = true
	}
	return name
}

// pairs yields the keys and values of a mapping. A second equal key is
// refused, a merge key has been.
func (d *decoder) pairs(n *yaml.Node, what string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if !d.isMapping(n, what) {
			return
		}
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if !d.isKey(key, what, seen) {
				d.hidden.addTree(value)
				continue
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

func (d *decoder) isMapping(n *yaml.Node, what string) bool {
	switch {
	case d.isReported(n):
		return false
	case n.Kind == yaml.MappingNode:
		return true
	case !isNull(n):
		d.refuse(wrongShape.At(d.at(n), "%s is a mapping (key: value), this is %s", what, shape(n)), n)
	}
	return false
}

func (d *decoder) isKey(key *yaml.Node, what string, seen map[string]*yaml.Node) bool {
	if d.isReported(key) {
		return false
	}
	if isMerge(key) {
		d.refused++
		return false
	}
	if key.Kind != yaml.ScalarNode {
		d.refuse(wrongShape.At(d.at(key), "a key in %s is a name, this is %s", what, shape(key)), key)
		return false
	}
	if first, twice := seen[key.Value]; twice {
		d.refuse(duplicateKey.At(d.at(key), "%q is given twice in %s", key.Value, what).Also(d.at(first), "the first is here"))
		return false
	}
	seen[key.Value] = key
	return true
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" }

// items yields the items of a list. An empty value counts as an empty list.
func (d *decoder) items(n *yaml.Node, what string) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		switch {
		case d.isReported(n) || isNull(n):
		case n.Kind != yaml.SequenceNode:
			found := wrongShape.At(d.at(n), "%s is a list, this is %s", what, shape(n))
			if n.Kind == yaml.ScalarNode {
				found = found.Suggest("write [%s]", n.Value)
			}
			d.refuse(found, n)
		default:
			for _, item := range n.Content {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// text reads a value whose form validation will judge.
func (d *decoder) text(n *yaml.Node, what string) Text {
	switch {
	case d.isReported(n):
		return Text{}
	case n.Kind != yaml.ScalarNode:
		d.refuse(wrongShape.At(d.at(n), "%s is a single value, this is %s", what, shape(n)), n)
		return Text{}
	case n.Value == "":
		d.refuse(noValue.At(d.at(n), "%s has no value", what))
		return Text{}
	}
	return Text{V: n.Value, At: d.at(n)}
}

// name reads a name, which must be a string whoever reads the file.
func (d *decoder) name(n *yaml.Node, what string) Text {
	t := d.text(n, what)
	if !t.Given() || isPlainString(n) {
		return t
	}
	d.refuse(noName(t, what), n)
	return Text{}
}

func noName(t Text, what string) diag.Diagnostic {
	return notAName.At(t.At, "%s must be a string, and %s is not one in every version of YAML", what, t.V).Suggest("quote it: %q", t.V)
}

// names reads a list of names.
func (d *decoder) names(n *yaml.Node, what, each string) []Text {
	var names []Text
	for item := range d.items(n, what) {
		if name := d.name(item, each); name.Given() {
			names = append(names, name)
		}
	}
	return names
}

// number reads a whole number in decimal digits.
func (d *decoder) number(n *yaml.Node, what string) Value[int] {
	t := d.text(n, what)
	if !t.Given() {
		return Value[int]{}
	}
	v, err := strconv.Atoi(t.V)
	if err != nil || n.ShortTag() != "!!int" || strconv.Itoa(v) != t.V {
		d.refuse(notANumber.At(t.At, "%s is a whole number, %q is none", what, t.V).Suggest("write decimal digits alone, such as 365"))
		return Value[int]{}
	}
	return Value[int]{V: v, At: t.At}
}

func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return fmt.Sprintf("the value %q", n.Value)
}
