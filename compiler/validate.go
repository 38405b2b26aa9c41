package compiler

import (
	"time"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

// ValidateOptions has what validation needs from outside.
type ValidateOptions struct {
	// Now is the time against which certificates are judged.
	Now time.Time
	// ReadFile reads a certificate by its path below the root of the
	// repository, slash-separated. It must refuse paths that leave the root.
	ReadFile func(name string) ([]byte, error)
}

// Validate resolves and judges a source. The view is nil when the list has
// errors; warnings leave it usable. The list is sorted.
func Validate(src *facade.Source, opts ValidateOptions) (*View, diag.List) {
	v := &validator{src: src, opts: opts, view: &View{}}
	return v.view, v.found.Sorted()
}

type validator struct {
	src   *facade.Source
	opts  ValidateOptions
	view  *View
	found diag.List
}
