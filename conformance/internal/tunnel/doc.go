// Package tunnel is the machine that the suite for vertices gives to the vertex
// under test: identities on disk, an artifact, services behind it and clients in
// front of it (CNF-2). The vertex at the other end is package peer.
//
// The network: user/alice has a SOCKS5 port here; service/web is served here;
// service/far is served by a peer, and linked. user/bob is at the peer and may
// reach web; user/mallory is there and may not.
package tunnel
