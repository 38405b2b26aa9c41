package mutant

import (
	"maps"
	"slices"
	"strings"
)

// ByFile has mutants by the file that they change, which they need not name.
type ByFile map[string][]Mutant

// List returns them all by name; changes of one mutant stay in their order, those of
// several files in that of the files.
func (b ByFile) List() []Mutant {
	var all []Mutant
	for _, file := range slices.Sorted(maps.Keys(b)) {
		for _, m := range b[file] {
			m.File = file
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Mutant) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Before makes a mutant that does something else before what is there. Without
// kills it is one more change of the mutant of its name.
func Before(name, file, old, first string, kills ...string) Mutant {
	return Instead(name, file, old, first+"\n"+old, kills...)
}

// Instead makes a mutant that has one text in place of another.
func Instead(name, file, old, new string, kills ...string) Mutant {
	return Mutant{Name: name, File: file, Old: old, New: new, Kills: kills}
}
