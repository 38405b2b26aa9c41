// Package mutant makes deliberately wrong versions of our own programs, against
// which the conformance suites are tested (CNF-4): a case that no mutant fails
// shows nothing.
//
// The source stays clean. A [Mutant] says which text of which file is replaced by
// what; [Overlay] writes changed copies of those files for go build -overlay, with
// all mutants of a program side by side, each behind a switch: so one build serves
// them all, and [Env] turns one of them on in a process.
//
//	{
//		Name: "serves-anybody",
//		File: "relay/sync.go",
//		Old:  "case set == nil:",
//		New:  "case set == nil && !mutated():",
//		Kills: []string{"sync/unknown-node"},
//	}
//
// In New, mutated() is true while the mutant is turned on. What New does without
// it must be what Old does. An Old that is not found exactly once is an error which
// names file and mutant: the source has changed, and so must the mutant.
package mutant
