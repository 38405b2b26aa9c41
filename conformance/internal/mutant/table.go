package mutant

import (
	"slices"
	"strings"
)

// ByFile has mutants by the file that they change, which they need not name.
type ByFile map[string][]Mutant

// List returns them all by name; changes of one mutant stay in their order.
func (b ByFile) List() []Mutant {
	var all []Mutant
	for file, mutants := range b {
		for _, m := range mutants {
			m.File = file
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Mutant) int { return strings.Compare(a.Name, b.Name) })
	return all
}
