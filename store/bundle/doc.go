// Package bundle is the enrolment bundle: one file per node that brings a
// machine into a rete. retectl issue-bundle writes it with [Write], flor enroll
// reads it with [Read] and makes the scope with [Bundle.Install].
//
//	b, err := bundle.Read(file, time.Now())      // BND-1: checks everything, writes nothing
//	fmt.Println(identity.Fingerprint(b.CA))      // let a person compare
//	err = b.Install(layout.State, "my-rete", nil) // BND-2: whole or nothing
//
// A bundle is a plain ustar of regular files, mode 0600, time 0. Its first entry
// is manifest.json, closed by ENV-1 and ENV-2 and signed by ENV-6, which lists
// every other entry with size and SHA-256:
//
//	identity/ca.crt
//	identity/certs/<leaf>.crt, identity/certs/<leaf>.key
//	artifacts/mgmt/<name>.json
//
// Names are compared with these shapes and never used as paths. Padding must be
// zero and nothing may follow the end. What a header says of owners is ignored.
//
// A first enrolment proves integrity, not origin: the trust block, the signature
// and every certificate hold under the CA that the bundle itself brings. Where a
// person compares the CA's fingerprint, origin follows.
//
// [Encrypt] and [Unwrap] put a passphrase around it (BND-4). Limits: 64 MiB,
// 1,024 entries. Refusals are [Refusal] with a code (FL22xx).
package bundle
