// Package udplink is a long, lossy, narrow or broken way for UDP packets: a
// relay that stands between two sockets and does to packets what networks do.
// The tests of the vertex, examples/bench and the lab put it between vertices,
// as a kernel's network emulator would stand there, but without root and on
// every system.
//
// [Open] gives a [Link] to one address. Clients send to [Link.Addr]; each
// client is carried by a socket of its own, so that the target tells clients
// apart as it would behind a NAT. What happens to a packet is its [Fate], which
// [Path.Fate] decides from the seed, the direction and the packet's number
// alone: the n-th packet of a direction meets the same fate in every run.
//
// Limits: packets lose their ECN marks and are never fragmented or doubled;
// 16,384 packets may be on their way in a direction, more are lost.
package udplink
