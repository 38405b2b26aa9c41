// Package schema is what artifacts say to each other: the payload families of
// the contract (agent 1.0, vertex 1.0), the coherence of a set, the kinds of
// principals and their hostnames.
//
// The compiler fills payloads and calls their Validate before signing. The
// agent calls [VerifySet], the one way from bytes to a [Set]. The vertex calls
// [ParseVertex], [Swappable], [Hostname] and [ParseHostname].
//
// # What it promises
//
// It is pure, like package envelope: no clock, disk, network or logging. Every
// function may be called from several goroutines. Payloads are closed and gated
// by ladders of their own (ENV-14, ENV-15); faults come all at once, in a
// [*PayloadError]. Codes are FL12xx for sets and FL13xx for payloads and
// hostnames.
//
// # Choices
//
// Where the contract is silent: no member of a payload is null or an empty
// string; a port is never 0; who opens flows (an inbound, an allow list) is a
// user, a service or a node; no two inbounds of an agent share an address; the
// names of an inventory and of the set's members are spelled alike, while two
// that differ by case are duplicates; equal adapters in another order are the
// same to [Swappable]. Lists that the contract does not let be absent must be
// written, empty or not.
//
// The package implements ENV-14 and ENV-15 for its families, ENV-18, the naming
// rules of VTX-2 and VTX-10, and the decision of VTX-16.
package schema
