package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

// maxSuggestions bounds the search for near names in a source full of faults.
const maxSuggestions = 200

// entry pairs what was written with what it becomes.
type entry[D, V any] struct {
	written *D
	view    *V
	// twice says that the name belongs to an earlier entry. Such an entry is
	// still checked by itself, but nothing refers to it.
	twice bool
}

// table is one collection by name.
type table[D, V any] struct {
	what    string
	unknown diag.Code
	all     []entry[D, V]
	byName  map[string]int
	places  []diag.Place
	names   []string
	// corrected has the entries with a malformed name by the name that they
	// are told to bear, so that what names them rightly is no second fault.
	corrected map[string]int
}

func newTable[D, V any](what string, unknown diag.Code) *table[D, V] {
	return &table[D, V]{what: what, unknown: unknown, byName: map[string]int{}, corrected: map[string]int{}}
}

// declare adds an entry, and reports a name that has one (CMP-3), unless it has
// been told that the name is there again.
func (t *table[D, V]) declare(v *validator, name facade.Text, again bool, written *D, view *V) {
	e := entry[D, V]{written: written, view: view}
	if first, ok := t.byName[name.V]; ok {
		e.twice = true
		if !again {
			v.found.Add(declaredTwice.At(name.At, "the %s %q is declared twice", t.what, name.V).Also(t.places[first], "the first is here"))
		}
	} else {
		t.byName[name.V] = len(t.all)
		t.names = append(t.names, name.V)
		if fixed := nearestName(name.V, t.inner()); fixed != "" && fixed != name.V {
			t.corrected[fixed] = len(t.all)
		}
	}
	t.all = append(t.all, e)
	t.places = append(t.places, name.At)
}

// inner are the characters that a name has besides letters and digits.
func (t *table[D, V]) inner() string {
	if t.what == "node" || t.what == "service" {
		return "-"
	}
	return "._-"
}

// get finds an entry without complaint.
func (t *table[D, V]) get(name string) *V {
	if i, ok := t.byName[name]; ok {
		return t.all[i].view
	}
	return nil
}

// views are the entries that others can refer to.
func (t *table[D, V]) views() []*V {
	views := make([]*V, 0, len(t.names))
	for _, e := range t.all {
		if !e.twice {
			views = append(views, e.view)
		}
	}
	return views
}

// resolve finds what a reference names, or reports it (CMP-4). A name that
// stands in a refused part of the source is not reported; and while files could
// not be read, only a name that looks like a typing error of another is. That a
// reserved name is missing is told by itself.
func resolve[D, V any](v *validator, t *table[D, V], ref facade.Text, where string) *V {
	if !ref.Given() {
		return nil
	}
	if found := t.get(ref.V); found != nil {
		return found
	}
	if i, ok := t.corrected[ref.V]; ok {
		return t.all[i].view
	}
	if v.src.Mentions(ref.V) || isReservedIn(t.what, ref.V) {
		return nil
	}
	d := t.unknown.At(ref.At, "%s names the %s %q, which nobody declares%s", where, t.what, ref.V, foreignLetter(ref.V))
	near := v.suggest(d, ref.V, t.names)
	switch {
	case near.Suggestion != "":
		v.found.Add(near)
	case !v.src.Unread():
		v.found.Add(d.Suggest("%s", t.declared()))
	}
	return nil
}

// declared tells what a reference may name: what there is, where it is little,
// and where to declare more.
func (t *table[D, V]) declared() string {
	add := fmt.Sprintf("declare it under `%ss`", t.what)
	if few := diag.Few(t.free()); few != "" {
		return "use " + few + ", or " + add
	}
	if len(t.names) > 0 && !isReservedIn(t.what, t.names[0]) {
		return fmt.Sprintf("%s, as others in %s", add, t.places[0].File)
	}
	return add
}

// free are the well-formed names that are not reserved; it looks no further
// than to the point where they are too many to be told.
func (t *table[D, V]) free() []string {
	var free []string
	for _, name := range t.names[:min(len(t.names), 20)] {
		if isNameWith(name, "._-/") && !isReservedIn(t.what, name) {
			free = append(free, name)
		}
	}
	return free
}

// suggest adds the nearest name. A name that was suggested is remembered as
// meant, so that it is not called unused in the same run.
func (v *validator) suggest(d diag.Diagnostic, name string, names []string) diag.Diagnostic {
	if v.suggested >= maxSuggestions {
		return d
	}
	v.suggested++
	near, ok := nearest(name, names)
	if !ok {
		return d
	}
	v.meant[near] = true
	return d.Suggest("did you mean %q?", near)
}

// nearest finds a name that is like another, or ends in it: that of a service
// on a node, written without the node.
func nearest(name string, names []string) (string, bool) {
	onNode := func(candidate string) bool { return strings.HasSuffix(candidate, "/"+name) }
	if i := slices.IndexFunc(names, onNode); i >= 0 {
		return names[i], true
	}
	return diag.Nearest(name, names)
}
