// Package coordinatorsuite holds the cases of the suite for coordinators (CNF-2).
// Package conformance offers them to the world.
//
// A case talks to both listeners of a coordinator and looks at one thing. The
// coordinator is started for the case alone, with a state of its own, or is one
// that runs somewhere: then names of nodes are new in each case, and cases that
// need more than its listeners are not run ([Case.NeedsProgram]).
//
// Nothing here imports a coordinator: documents are made and read by what SPEC.md
// says.
package coordinatorsuite
