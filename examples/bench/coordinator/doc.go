// Command coordinator measures package relay beside known quantities, in one run
// on one machine, because only ratios mean anything on a machine that does other
// things too:
//
//   - load: answers a second to wrk with 64 connections, a 304 and a set of
//     30 KiB, beside nginx that serves the same bytes as a static file with ETag,
//     and what each gives for a second of processor time;
//   - publish: the time of a publish of many nodes beside the time that parsing the
//     same bytes and writing them to the disk with an fsync take, and the 99th
//     percentile of what readers wait for while publishes run and while none do.
//
// Run it in the module:
//
//	go run ./examples/bench/coordinator
//	go run ./examples/bench/coordinator -rounds 7 -time 5s -profile /tmp/cpu.prof
//
// Runs alternate, and what is printed are medians. The load needs the programs
// nginx and wrk (apt-get install nginx wrk); without them it says so and goes on.
// With -profile it writes a CPU profile of the relay under load, which go tool
// pprof reads.
package main
