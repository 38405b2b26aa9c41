// Package bundle is the enrolment bundle: one file per node that brings a
// machine into a rete. retectl issue-bundle writes it with [Write], flor enroll
// reads it with [Read] and makes the scope with [Bundle.Install].
//
//	b, err := bundle.Read(file, time.Now())      // BND-1: checks everything, writes nothing
//	fmt.Println(identity.Fingerprint(b.CA))      // let a person compare
//	i, err := b.Begin(layout.State, "my-rete", bundle.Options{}) // BND-2, BND-3: takes the lock and judges
//	err = errors.Join(i.Commit(), i.Close())     // whole or nothing
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
// # An existing scope
//
// A bundle of the same trust domain, CA and node enrols a scope again: identity
// and set are exchanged in one step, workload state and retired keys stay, and
// the mark does not fall (BND-3). Who signed the bundle must be whom the scope
// follows by ENV-12, the way back included; his certificate must be valid now
// (ENV-13). Anything else needs Options.Force, which moves the whole scope aside
// and forgets what it held, retired keys included. Choices where the contract is
// silent: Force is what it says even where it is not needed; under Force, too,
// the mark of the very same node falls only with Options.ResetMark; another set
// of a version that was admitted is refused like an older one, and let in like
// one; where the scope's own record is lost, a set that can still run stands for
// the mark, and retired keys cannot be known.
//
// [Encrypt] and [Unwrap] put a passphrase around it (BND-4). Limits: 64 MiB,
// 1,024 entries. Refusals are [Refusal] with a code (FL22xx).
package bundle
