// Package mint makes the vectors of the conformance suite (CNF-2): files that
// an implementation must accept or refuse, each with its reason.
//
// [Vectors] gives all of them. Everything follows from seeds: keys from
// SHA-256 of a label, certificates and signatures from keys, because Ed25519 is
// deterministic and every instant and serial number is fixed. The same source
// gives the same bytes, on any machine, so the committed files can be made again
// and compared (go test ./conformance -update).
//
// A bad artifact is signed as a careless reader would read it, with the last of
// two members of one name and numbers as doubles ([Artifact]), wherever that is
// possible: an implementation that lacks the check in question then accepts it,
// instead of stumbling over the signature.
//
// The keys are published, here and in the vectors. They must never protect
// anything. Functions panic on a mistake of this package, which the tests of
// package conformance would see at once.
package mint
