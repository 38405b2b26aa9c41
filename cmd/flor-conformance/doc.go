// Command flor-conformance answers one question for anybody, in any language:
// does this implementation keep the contract of conformance/SPEC.md?
//
//	flor-conformance vectors                     our own packages, in this process
//	flor-conformance verifier -- CMD [ARG…]      a program that verifies (CNF-2)
//
// A run prints a table and, on request, writes JSON and JUnit (CNF-3).
//
//	--list            print the cases with their requirement numbers, run nothing
//	--run REGEXP      only cases whose ID matches
//	--features LIST   what the implementation claims to have; default: everything
//	--repeat N        run each case N times
//	--seed N          of the order of cases: the same seed, the same run
//	--json FILE       write the report as JSON; - is standard output
//	--junit FILE      write the report as JUnit's XML
//
// Exit codes: 0 every claimed feature passed and at least one case ran; 1 a
// case failed; 2 wrong usage; 3 no case ran, or the run could not be done. An
// implementation that claims less than everything is told "partial" with what it
// does not claim, never "success".
package main
