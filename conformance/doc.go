// Package conformance says, and checks, what it means to keep Florete's contract.
//
// SPEC.md states every rule by its number; README.md tells implementers how to
// be checked. A suite is a list of [Case]; [Run] runs it against a black box and
// gives a [Report] as table, JSON and JUnit (CNF-3). [Vectors] is the suite that
// there is: it asks a [Verifier], which is [Own] (our packages, in this process)
// or a [Command] (anybody's program, CNF-2). Command flor-conformance wires them.
// Suites for programs, coordinators, agents and vertices are to follow as further
// functions that return cases.
//
// The tests assert what concerns the module as a whole: that imports run
// downhill, that every refusal has one code, that SPEC.md, codes, cases and the
// worked example agree, that each rule has cases or says why not (CNF-1), that a
// verifier in another language passes, and that every vector is killed by a wrong
// one (CNF-4).
//
// Of the agent's admission (AGT-4) the vectors check what a mark decides; since
// package supervise/agent does not export that decision, [Own] makes it itself.
package conformance
