// Command retectl is the operator's tool: it makes a rete, checks its YAML,
// compiles it into signed sets, publishes them, and issues the bundles with
// which machines enrol.
//
// It only wires packages together: compiler does the work, compiler/ca holds
// the authority, relay/client speaks to the coordinator, supervise/control to
// the local agent. Data goes to stdout, prose to stderr, and the exit code says
// how it went (CLI-5): 0 done, 1 found faults, 2 used wrongly, 3 could not.
//
// Where the contract is silent: access and diff are answers and exit 0 whatever
// they say; a name that the rete does not have is a fault (FL0712), a format or
// code that does not exist is wrong usage. Text for people names the first few
// where many are concerned; JSON always has all, and a schema_version. diff
// --against asks git for the revision. Completion reads names from the YAML as
// it is written, be it that it has faults. export-set hands out only what the
// node would accept. explain knows every code but those of the program flor.
//
// Each command has a file of its own name; console.go, repository.go, keys.go,
// format.go and completion.go have what they share. Rules: PKI-1, PKI-2, PKI-4
// … PKI-6, CLI-1 … CLI-5.
package main
