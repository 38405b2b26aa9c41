// Package client speaks to a coordinator: it fetches the set of one node and
// publishes a tree. It is the only client of the protocol (CRD-9); the agent and
// retectl both use it.
//
// What it promises:
//
//   - It dials through a SOCKS5 proxy when Options.SOCKS5 names one and directly
//     otherwise. It takes no proxy from the environment, follows no redirect and
//     asks for no compression.
//   - Everything it reads is bounded: 64 MiB for a set, 16 MiB for any other
//     body, 64 KiB for a header.
//   - Time is counted by progress and not in total (AGT-4.1): the header may
//     take the wait asked for plus 10 s, then a stall of 30 s ends the call. A
//     publish may take as long as its body keeps moving, and the answer 2 min.
//   - Every answer of the protocol is a value or a typed error with a code of
//     its own. An answer that is not of the protocol is an *Unexpected, which
//     quotes a short, harmless excerpt.
//   - It never tries again by itself; Transient tells whether the same call may
//     succeed later without anybody doing anything.
//
// It verifies nothing: what a relay hands out is for envelope to judge.
//
// A Client is safe for concurrent use. Close it to let its idle connections go.
package client
