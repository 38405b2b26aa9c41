// Soak lets a rete of five nodes live a hard life and looks whether it grows:
//
//	go run ./examples/soak [--for 3m] [--out soak.svg] [--seed N]
//
// The rete of package conformance/lab runs on network namespaces, with users who
// never stop asking, while the operator publishes, rotates signers, takes roles
// away and gives them back, connections are aborted, and, in the first half,
// agents, vertices and the coordinator are killed and cables cut. What happens
// when is decided by the seed. Once a second every process is measured: resident
// memory, file descriptors, goroutines, restarts, and warnings in the log of its
// node.
//
// Nobody is killed in the second half, so that every process lives through all of
// it; over it, [judge] looks for a slope. The chart and the table show the whole.
//
// The exit code is 0 when all lines are flat and every node was healthy in the
// end, 1 when one rises or a node did not recover, 2 after wrong usage, and 3
// where it cannot run: it needs Linux, root, Go, and iproute2.
package main
