// Package socks reads what a SOCKS5 client (RFC 1928) sends before its data,
// and spells the server's answers. It is pure: it takes bytes from a reader,
// gives values, and neither waits, dials nor closes. Package vertex is its one
// caller.
//
// Only CONNECT to a name, without authentication, is accepted (VTX-10). The
// port is read and left to the caller. Since all reading goes through one
// bufio.Reader, a client may send greeting, request and first data in one
// segment: what the reader still buffers after [ReadRequest] is data.
package socks
