// Command retectl is the operator's tool: it makes a rete, checks its YAML,
// compiles it into signed sets, publishes them, and issues the bundles with
// which machines enrol.
//
// It only wires packages together: compiler does the work, compiler/ca holds
// the authority, relay/client speaks to the coordinator, supervise/control to
// the local agent. Data goes to stdout, prose to stderr, and the exit code says
// how it went (CLI-5): 0 done, 1 found faults, 2 used wrongly, 3 could not.
//
// Each command has a file of its own name; console.go, repository.go and
// keys.go have what they share. Rules: PKI-1, PKI-2, PKI-4, CLI-1, CLI-4, CLI-5.
package main
