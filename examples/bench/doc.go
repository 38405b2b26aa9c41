// Command bench measures what it costs to carry TCP through a pair of vertices,
// beside direct TCP and beside other tunnels, in one run on one machine: only
// ratios mean anything where other things run too.
//
//	go run ./examples/bench                  direct TCP and a pair of flor-vertex
//	go run ./examples/bench -control         a second pair beside it: how far equals differ
//	go run ./examples/bench -beside FILE     another build of flor-vertex beside it
//	go run ./examples/bench -stunnel         stunnel4 beside it, mutual TLS on both sides
//	go run ./examples/bench -backend 127.0.0.1:9000 -tunnel other=tcp:127.0.0.1:9001
//	go run ./examples/bench -backend 127.0.0.1:9000 -tunnel other=socks5:127.0.0.1:1080/web.example:80
//
// It builds flor-vertex (or takes -vertex FILE), makes a network of two nodes
// with certificates of its own, and starts both vertices and stunnel4 anew for
// each round. Within a round each figure is measured for one way after the
// other, in an order that rotates; the table has the median of the rounds, and
// its ratio to direct TCP and, where there is one, to stunnel4.
//
// What is measured:
//
//   - bulk: megabytes a second over 1, 4 and 64 connections, up to the service
//     and down from it;
//   - requests: round trips of 64 bytes a second over 1, 64 and 1,000
//     connections, their median and 99th percentile, and the CPU time that the
//     tunnel's processes take for each (Linux only);
//   - connects: new connections a second with one round trip on each, by 1, 32
//     and 256 clients;
//   - cost: CPU seconds that the tunnel's processes take for a gigabyte down
//     over 4 connections, and how much their resident memory grows for each of
//     512 idle connections, both sides together (Linux only);
//   - quiet: the median round trip of an initiator that makes one each
//     millisecond, alone and while another initiator floods the same target's
//     vertex with up to 2,000 new connections a second, 64 bulk streams up, or
//     handshakes with certificates of the wrong authority (VTX-14). A flood,
//     the service that it asks for and the vertex through which it comes are
//     programs of their own at the lowest priority (nice), so that what is told
//     is what the vertex makes of it that both use; beside direct TCP the same
//     floods tell what the machine adds.
//
// -only REGEXP picks figures by their name. -time is the length of a run. -delay
// and -loss put a long and lossy path between the two vertices, of which no
// other tunnel knows.
package main
