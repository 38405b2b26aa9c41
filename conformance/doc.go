// Package conformance says, and checks, what it means to keep Florete's contract.
//
// SPEC.md states every rule by its number; README.md tells implementers how to
// be checked. A suite is a list of [Case]; [Run] runs it against a black box and
// gives a [Report] as table, JSON and JUnit (CNF-3). The suites are [Vectors],
// [Program], [Coordinator], [Agent] and [Vertex] (CNF-2); command flor-conformance
// wires them, and [RunProgram] and its siblings run them inside of go test.
//
// Nothing here needs a checkout of this module or knows its programs: that is
// package self, which runs the suites against them, and against programs that are
// wrong on purpose, so that each case is known to see something (CNF-4, CNF-5).
//
// Cases of one run may run at once ([Options.Parallel]): each has directories,
// addresses and processes of its own, and none sleeps for a time that assumes
// speed.
//
// The tests assert what concerns the module as a whole: that imports run
// downhill, that every refusal has one code, that SPEC.md, codes, cases and the
// worked example agree, that each rule has cases or says why not (CNF-1), that a
// verifier in another language passes, and that every vector is killed by a wrong
// one (CNF-4).
package conformance
