// Command flor-conformance answers one question for anybody, in any language:
// does this implementation keep the contract of conformance/SPEC.md?
//
//	flor-conformance verifier -- CMD [ARG…]      a program that verifies (CNF-2)
//	flor-conformance program -- CMD [ARG…]       a supervised program, which an agent runs
//	flor-conformance coordinator -- CMD [ARG…]   a coordinator, started for each case
//	flor-conformance coordinator --sync URL --publish URL
//	                                             one that runs; what is published there is replaced
//	flor-conformance agent -- CMD [ARG…]         an agent
//	flor-conformance vertex -- CMD [ARG…]        a vertex
//	flor-conformance vectors                     our own packages, in this process
//	flor-conformance self                        our own programs, built from this checkout, by every suite
//	flor-conformance self --mutants              the suites themselves: each case must fail a program
//	                                             that is wrong on purpose (CNF-4)
//
// A run prints a table and, on request, writes JSON and JUnit (CNF-3).
//
//	--list            print the cases with their requirement numbers, run nothing
//	--run REGEXP      only cases whose ID matches; with --mutants, mutants whose name does
//	--features LIST   what the implementation claims to have; default: everything
//	--repeat N        run each case N times
//	--parallel N      run N cases at once; default 4
//	--seed N          of the order of cases: the same seed, the same run
//	--json FILE       write the report as JSON; - is standard output
//	--junit FILE      write the report as JUnit's XML
//	--payload FILE    program: a payload that it can serve; {{address}} is a free address
//	--name NAME       program: the workload's name
//	--reports DIR     self: write the report of each program, as it is committed
//	--all             self --mutants: every case against every mutant
//
// Exit codes: 0 every claimed feature passed and at least one case ran; 1 a
// case failed, or a mutant survived; 2 wrong usage; 3 no case ran, or the run could
// not be done. An implementation that claims less than everything is told "partial"
// with what it does not claim, never "success".
package main
