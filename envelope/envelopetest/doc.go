// Package envelopetest mints what tests of signed artifacts need: a CA, signers
// and other principals, trust blocks, artifacts and whole sets. It goes through
// the exported functions of envelope and schema alone, so what it makes is what
// a compiler could have made, and there is no way in it to a
// [envelope.Verified] but verification.
//
// It is for tests, of this module and of programs that build on it, as
// net/http/httptest is for those of HTTP: functions panic where a test made a
// mistake, and keys come from crypto/rand and are never stored. What is valid
// is valid at the time the [Authority] was made for; a [Change] makes what is
// not.
package envelopetest
