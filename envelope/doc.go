// Package envelope is the signed format of Florete: how an artifact is written,
// read, signed and verified, and how artifacts are joined to a set document.
//
// The compiler signs ([Sign], [SignObject], [NewEntry]). The agent verifies
// ([Held.VerifyRoot], [TrustSet.Verify], usually through schema.VerifySet), and
// is the only one on a node who does. A relay routes without understanding
// ([Probe], [ParseSet], [AppendSet]). A workload parses the artifact that its
// agent has verified ([Parse]).
//
// # What it promises
//
// Bytes in, values and errors out: no clock, disk, network, logging or global
// state. Every function may be called from several goroutines. Input is hostile
// until verified: nothing panics, and time and memory are linear in the input,
// which is bounded by the constants of this package. Every refusal is a
// [*Refusal] with one [Reason] of a closed list and a stable code (FL10xx for
// texts, FL11xx for trust). There is no way to a [Verified] but verification.
//
// # One text, one meaning
//
// A signature is over the RFC 8785 form (ENV-6), which many texts share. So
// that a relay cannot change what a text means without breaking the signature,
// a text is refused when some reader could take it for something else:
// duplicate names, names in another case, numbers that a double does not hold
// (ENV-1, ENV-2, ENV-7). Negative zero is one of those. Where this contract
// says nothing else, white space around a text is not part of it: it does not
// count towards limits, [Artifact.Raw] does not have it, and [AppendSet] does
// not write it.
//
// # Choices
//
// Probe checks names and versions as strictly as Parse does, for a relay builds
// paths of them, and takes of the plane only which one it is. It enforces the
// nesting limit too. An artifact named manifest, in whatever case, is refused
// (ENV-4). When a root is refused under the held block and under its own
// (ENV-12), the refusal is that of the block which knows the signature.
//
// The package implements ENV-1 … ENV-17; ENV-18 and the payload families are in
// package schema.
package envelope
