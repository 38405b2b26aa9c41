// Package vertexsuite has the cases of the suite for vertices (CNF-2), each a
// check of one thing on a machine of its own, package tunnel, with package peer at
// the other end. conformance.Vertex is its one caller. What one must have built
// for a case is the first part of its name: handshake, gate, stream, ends, drain,
// dial, reply, flor1 (the older tunnel protocol), socks, local, forward, ports,
// identity, apply, program.
package vertexsuite
