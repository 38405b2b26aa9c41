// Package ca is the authority of a rete: its root certificate, the operators'
// signing certificates, the principals' TLS certificates, and the private keys
// at rest.
//
// retectl is its first caller; an operator's own tooling (a key ceremony, an
// issuer behind a web form) is the second. Nothing on a node imports it.
//
// What it promises:
//
//   - Certificates have exactly the shape of PKI-3, so that
//     "openssl verify -x509_strict" and go-spiffe accept them. What the profile
//     of a kind does not allow is refused, never trimmed to fit.
//   - A private key is written as an encrypted JWK (PKI-2), readable by its
//     owner only; the plain form is a separate, explicit call.
//   - Reading is bounded: a key file over MaxKeyFile or with more than
//     MaxIterations rounds is refused before any work is done for it.
//
// Everything but Keyring is a function of its arguments: time comes in as a
// value, and randomness is the operating system's. Values are safe for
// concurrent use once made; a Keyring relies on the file system alone.
//
// Only Ed25519 is supported: the contract signs artifacts with it (ENV-6), and
// one algorithm is one less thing to choose wrongly.
//
// Rules: PKI-1 (the parts of it), PKI-2, PKI-3.
package ca
