// Package traffic is what a rete is for: two services that know nothing of
// Florete, and users that reach them through a SOCKS5 port as through any other.
// examples/quickstart and the lab run it over real nodes.
//
// A [Shop] speaks HTTP and is a client itself, of a [Stock], which greets first
// as databases do. A [Client] is one principal's way into the rete. A [Download]
// is one long transfer whose bytes are all accounted for; a [Watch] asks over
// and over, and tells how long a user was without an answer.
//
// Services serve whatever listener they are given, and clients dial through
// whatever dialer, so that they may stand on hosts of their own.
package traffic
