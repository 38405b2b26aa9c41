package compiler

import (
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
}

func newTable[D, V any](what string, unknown diag.Code) *table[D, V] {
	return &table[D, V]{what: what, unknown: unknown, byName: map[string]int{}}
}

// declare adds an entry, and reports a name that has one (CMP-3).
func (t *table[D, V]) declare(v *validator, name facade.Text, written *D, view *V) {
	e := entry[D, V]{written: written, view: view}
	if first, ok := t.byName[name.V]; ok {
		e.twice = true
		v.found.Add(declaredTwice.At(name.At, "the %s %q is declared twice", t.what, name.V).Also(t.places[first], "the first is here"))
	} else {
		t.byName[name.V] = len(t.all)
		t.names = append(t.names, name.V)
	}
	t.all = append(t.all, e)
	t.places = append(t.places, name.At)
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
	if v.src.Mentions(ref.V) || isReservedIn(t.what, ref.V) {
		return nil
	}
	d := v.suggest(t.unknown.At(ref.At, "%s names the %s %q, which nobody declares%s", where, t.what, ref.V, foreignLetter(ref.V)), ref.V, t.names)
	if d.Suggestion != "" || !v.src.Unread() {
		v.found.Add(d)
	}
	return nil
}

// suggest adds the nearest name. A name that was suggested is remembered as
// meant, so that it is not called unused in the same run.
func (v *validator) suggest(d diag.Diagnostic, name string, names []string) diag.Diagnostic {
	if v.suggested >= maxSuggestions {
		return d
	}
	v.suggested++
	near, ok := diag.Nearest(name, names)
	if !ok {
		return d
	}
	v.meant[near] = true
	return d.Suggest("did you mean %q?", near)
}
