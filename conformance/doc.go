// Package conformance holds what says, and what checks, that an implementation
// keeps Florete's contract: SPEC.md states every rule by its number, and the
// tests here assert what concerns the module as a whole: that imports run
// downhill, that every refusal has one code, and that code and document agree.
//
// The black-box suites (CNF-2) that anybody can run against an implementation
// in any language are built on top of this package.
package conformance
