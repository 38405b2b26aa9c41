// Package conformance says, and checks, what it means to keep Florete's contract.
//
// SPEC.md states every rule by its number; README.md tells implementers how to
// be checked. A suite is a list of [Case]; [Run] runs it against a black box and
// gives a [Report] as table, JSON and JUnit (CNF-3). The suites are [Vectors],
// [Program], [Coordinator], [Agent] and [Vertex] (CNF-2); command flor-conformance
// wires them, and [RunProgram] and its siblings run them inside of go test.
//
// [Subjects] are our own programs. A [Workshop] builds them from the checkout it
// stands in, runs the suites against them (CNF-5), and against all their mutants:
// each case must fail one that is wrong on purpose (CNF-4). All else works without a
// checkout.
//
// Cases of one run may run at once ([Options.Parallel]): each has directories,
// addresses and processes of its own, and none sleeps for a time that assumes
// speed.
//
// The tests assert what concerns the module as a whole: that imports run
// downhill, that every refusal has one code, that SPEC.md, codes, cases and the
// worked example agree, that each rule has cases or says why not (CNF-1), that a
// verifier in another language passes, that every vector is killed by a wrong
// one, and that the table of mutants is whole (CNF-4).
package conformance
