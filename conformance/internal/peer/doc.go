// Package peer is the vertex at the other end, written on QUIC directly and from
// SPEC.md (VTX) alone: it shares nothing with package vertex, and it can
// misbehave. [Socket.Dial] is an initiator's vertex that shows what a case wants
// it to show, [Listen] a target's. The suite for vertices calls it (CNF-2).
//
// Everything ends with the trial that it belongs to. Connections and streams are
// for the goroutine that runs the case.
package peer
