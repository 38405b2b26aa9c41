package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/florete/flor/conformance/internal/checkout"
	"github.com/florete/flor/conformance/internal/mutant"
)

// Workshop builds our own programs from the checkout it stands in. Its methods
// are for one goroutine.
type Workshop struct {
	source checkout.Checkout
	dir    string // of what is built
}

// OpenWorkshop finds the checkout that holds a directory, the working directory
// where it is empty, and refuses to work anywhere else.
func OpenWorkshop(ctx context.Context, dir string) (*Workshop, error) {
	source, err := checkout.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	built, err := os.MkdirTemp("", "flor-conformance-")
	if err != nil {
		return nil, err
	}
	return &Workshop{source: source, dir: built}, nil
}

// Close removes what was built.
func (w *Workshop) Close() error { return os.RemoveAll(w.dir) }

// Check builds a subject's programs and runs its suite against them (CNF-5). A
// subject of which no case is selected is not built, and its report has no cases.
func (w *Workshop) Check(ctx context.Context, s Subject, tool string, o Options) (Report, error) {
	cases, err := s.Cases()
	if err != nil || !slices.ContainsFunc(cases, o.selects) {
		return Report{}, err
	}
	built, err := w.build(ctx, s, "clean", "")
	if err != nil {
		return Report{}, err
	}
	if cases, err = s.cases(built); err != nil {
		return Report{}, err
	}
	o.Features = s.Features
	return Run(ctx, Target{Tool: tool, Command: []string{s.Name}}, cases, o), nil
}

// build builds the programs of a subject, the one that is checked with an overlay.
func (w *Workshop) build(ctx context.Context, s Subject, variant, overlay string) (Built, error) {
	if s.Program == "" {
		return Built{}, nil
	}
	dir := filepath.Join(w.dir, s.Name, variant)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Built{}, err
	}
	for _, pkg := range s.With {
		if _, err := w.source.Build(ctx, pkg, dir, ""); err != nil {
			return Built{}, err
		}
	}
	program, err := w.source.Build(ctx, s.Program, dir, overlay)
	return Built{Program: program, Dir: dir}, err
}

// buildMutants builds all mutants of a subject into one program.
func (w *Workshop) buildMutants(ctx context.Context, s Subject) (Built, error) {
	dir, err := os.MkdirTemp(w.dir, "overlay-")
	if err != nil {
		return Built{}, err
	}
	overlay, err := mutant.Overlay(w.source.Root, dir, s.mutants)
	if err != nil {
		return Built{}, fmt.Errorf("mutants of %s: %w", s.Name, err)
	}
	return w.build(ctx, s, "mutants", overlay)
}
