// Embed-vertex shows a program that has a vertex inside: it serves HTTP to
// principals of a rete, and calls others, without SOCKS5 and without a port on
// loopback. Who is at the other end is known from the certificates.
//
//	go run ./examples/embed-vertex
//
// It makes a rete of its own in memory, with two vertices as on two machines:
// a gateway that serves, and one for alice and bob, of whom the gateway's list
// allows only alice. In real use the payload comes from the artifact and the
// identities from the node's store, as in cmd/flor-vertex.
package main
