package self

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/florete/flor/conformance"
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
	into, err := os.MkdirTemp("", "flor-conformance-")
	if err != nil {
		return nil, err
	}
	return &Workshop{source: source, dir: into}, nil
}

// Close removes what was built.
func (w *Workshop) Close() error { return os.RemoveAll(w.dir) }

// Check builds a subject's program and runs its suite against it (CNF-5). A
// subject of which no case is selected is not built, and its report has no cases.
func (w *Workshop) Check(ctx context.Context, s Subject, tool string, o conformance.Options) (conformance.Report, error) {
	cases, err := s.Cases()
	if err != nil || !slices.ContainsFunc(cases, o.Selects) {
		return conformance.Report{}, err
	}
	b, err := w.build(ctx, s, "clean", "")
	if err != nil {
		return conformance.Report{}, err
	}
	if cases, err = s.cases(b); err != nil {
		return conformance.Report{}, err
	}
	o.Features = s.Features
	return conformance.Run(ctx, conformance.Target{Tool: tool, Command: []string{s.Name}}, cases, o), nil
}

// build builds the program of a subject with an overlay, if it is not empty.
func (w *Workshop) build(ctx context.Context, s Subject, variant, overlay string) (built, error) {
	if s.Program == "" {
		return built{}, nil
	}
	dir := filepath.Join(w.dir, s.Name, variant)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return built{}, err
	}
	program, err := w.source.Build(ctx, s.Program, dir, overlay)
	return built{program: program}, err
}

// buildMutants builds all mutants of a subject into one program.
func (w *Workshop) buildMutants(ctx context.Context, s Subject) (built, error) {
	dir, err := os.MkdirTemp(w.dir, "overlay-")
	if err != nil {
		return built{}, err
	}
	overlay, err := mutant.Overlay(w.source.Root, dir, s.mutants)
	if err != nil {
		return built{}, fmt.Errorf("mutants of %s: %w", s.Name, err)
	}
	return w.build(ctx, s, "mutants", overlay)
}
