// Package vertex is the forwarder of a node: it carries TCP connections
// between principals, SOCKS5 in, QUIC with mutual TLS across, TCP out. It
// holds the keys of the principals on its node, proves them to peers, checks
// those of peers, and lets through what the operator's lists allow. It never
// looks inside the bytes.
//
// cmd/flor-vertex runs one vertex under a node's agent. A program may embed
// one as well: [New] with a payload and identities, [Vertex.Run], and then
// [Vertex.Dial] and [Vertex.Listen] in place of loopback TCP (VTX-17).
//
// # What it promises
//
//   - One UDP socket dials and accepts (VTX-1). Both sides prove exactly one
//     SPIFFE ID (VTX-3), and the acceptor's ingress list is the gate (VTX-4).
//   - A connection counts once the acceptor has answered for it (VTX-6), so a
//     refusal far away is told as one: see [Reason.Reply] for the table.
//   - Streams of one pair share QUIC connections (VTX-5), and a stream that
//     nobody reads does not stop another (VTX-5a).
//   - FIN stays FIN, an abort stays an abort, in both directions, and the death
//     of this process is an abort (VTX-7); each connection ends for one [Reason].
//     See the table below.
//   - An outage of less than the idle time-out of 30 s costs nobody a stream,
//     whether the network loses packets or this host cannot send them, and after
//     a sleep or a restart of the peer the next request finds its way within
//     seconds (VTX-5).
//   - Expiry, revocation and a changed list cut live connections within a
//     second (VTX-8), which [Vertex.Apply] brings into force without a restart
//     (VTX-16).
//   - What is missing or busy delays nothing else (VTX-12, VTX-13).
//
// # How connections end
//
// What the programs at both ends see, and what the two vertices count (VTX-7):
//
//	who and how                client  its vertex       other vertex    service
//	both with FIN              EOF     completed        completed       EOF
//	the client with RST        -       initiator-reset  peer-reset      RST
//	the service with RST       RST     peer-reset       target-reset    -
//	the network, for 30 s      RST     peer-lost        peer-lost       RST
//	its vertex is killed       RST     -                peer-lost       RST
//	the other one is killed    RST     peer-lost        -               RST
//	  and comes back           RST     peer-restarted   -               RST
//	expiry, seen here          RST     expired          peer-expired    RST
//	expiry, seen there         RST     peer-expired     expired         RST
//	revoked, taken off a list  RST     as with expiry: revoked, denied  RST
//	its vertex drains          RST     shutdown         peer-shutdown   RST
//	the other one drains       RST     peer-shutdown    shutdown        RST
//
// It is the same before, while and after data flows. A killed vertex resets its
// own programs at once; the other vertex finds out at the latest 33 s after the
// last packet. go test -run TestEnds -v prints the whole table as it is seen.
//
// # Choices and limits
//
// A peer that speaks only flor/1 is told nothing and tells nothing: a refused
// stream is a reset, and a client has its "succeeded" as soon as the handshake
// is done here. A dialled flor/1 connection carries one stream, since its
// acceptor may look at no second one, and such connections are dialled one
// after the other; accepted ones may carry many. A flor/1 stream reaches the
// acceptor with its first byte, so protocols in which the server speaks first
// need flor/2 (VTX-6).
//
// There is no mesh engine (VTX-18).
//
// A path that becomes narrower is told by what quic-go shows: nothing has been
// taken from writers for 5 s (8 round trips where those are longer), and
// meanwhile data in large packets is lost again and again while small ones are
// acknowledged; or large packets are sent and nothing at all is acknowledged,
// although packets arrive. That takes 6 to 7 s, and some more where the
// congestion window is full, since quic-go sends again ever more rarely. Silence is no sign of it, nor are a peer that
// reads nothing, an outage, or the packets of path MTU discovery itself; an
// outage of one direction alone is one, while data is under way. Either side
// may find it; both then make connections to that address without path MTU
// discovery, with packets of 1,200 bytes, for ten minutes. What was under way
// on the old connection is reset for the reason path-mtu. A stream that is
// stuck beside others that still get small writes through on the same
// connection is not told (VTX-9).
//
// The start line tells of the kernel's UDP buffers, GSO and GRO. Whether ECN
// works is decided by quic-go for each path, which does not tell.
//
// [DefaultLimits] counts 16 QUIC connections for each pair of initiator and
// target, since a principal with many targets on one vertex needs one for
// each, and 1,024 streams for each initiator, its targets together (VTX-14).
//
// A byte 0x00 on a control stream means nothing after the first one. 32 of
// them go ahead of a stream's preamble on a connection that has been quiet, so
// that the packet is large enough for a stateless reset in answer and a peer's
// restart is noticed with the first packet (VTX-1, VTX-15).
//
// QUIC does not tell what has been acknowledged, and what has not been when a
// connection is closed is lost. A connection that takes no more streams is
// therefore closed ten round trips (at least 100 ms, at most 2 s) after its
// last one, by the side that was told of draining; the side that drains waits
// 2 s before it does so itself (VTX-7, VTX-15). A program that takes longer
// than that to read the last mebibyte of a connection loses the rest of it, and
// sees a reset, if its peer's vertex stops in these seconds.
//
// An abort is noticed by reading or writing, and within a second where nobody
// does either: after a program ended its direction cleanly, or while its peer
// reads nothing. STOP_SENDING with code 1 is an abort; with code 0, which a
// [Conn] sends that is closed before all was read, it takes nothing back of
// what was sent before (VTX-7).
//
// Certificates that leave a node are kept in use until they expire; renewed
// ones are used for new connections, and a dialled connection with an older
// certificate takes no new stream (VTX-12).
//
// A local target with several wires is served by the first.
//
// # Speed
//
// examples/bench measures a pair of processes, and go test -bench . a pair in
// one process. What was found, what was done about it, and what bounds each
// figure now:
//
//   - Bulk costs what a packet of 1,452 bytes costs, in system calls and in
//     quic-go's work for each. Packets that the kernel has joined (UDP_GRO) are
//     taken with one call and split here, which saved 14 % of CPU time for a
//     gigabyte; sending is joined by quic-go already (GSO). quic-go queues 256
//     received packets for a connection and drops what is more, which its
//     congestion control takes for loss.
//   - A round trip on one connection goes from goroutine to goroutine about a
//     dozen times (socket, QUIC connection, stream, each way in each vertex),
//     mostly inside quic-go. Traced, each vertex made one sendmsg, two recvmmsg
//     and a read and a write for each way, and beside them 7.6 futex, 6.0
//     nanosleep and 6.4 epoll_pwait calls: with a second processor that is idle
//     the runtime wakes a thread for each goroutine that becomes ready. In CPU
//     profiles of it system calls are 37 to 50 %, futex 13 to 16 %, and
//     encryption is hardly seen. flor-vertex therefore runs on one processor
//     until it uses 90 % of it, and then on all: 4,830 to 6,509 round trips a
//     second, 0.38 to 0.51 of stunnel4 (medians of 11 alternating runs, equals
//     1 % apart). What is left is the goroutines of quic-go themselves and six
//     changes of process; a program that embeds a vertex decides on GOMAXPROCS
//     itself. With 64 connections the wakes are shared, and it is ahead.
//   - A new connection is a stream and costs no handshake; that bounds it by
//     round trips, as above.
//   - Over a long path that loses packets quic-go's congestion control, which
//     backs off by loss, bounds a connection at about 0.5 MB/s with 20 ms each
//     way and 1 % loss. Bulk is therefore spread over 4 connections to a pair,
//     where one carries 256 KiB within a second. New connections are dialled in
//     the background, so nobody waits for them, and streams that are open stay
//     where they are; a single stream is no faster. Spreading everything over a
//     long path was tried and left out: what looks like a long path is often a
//     busy machine. To lift the bound takes another congestion control, which
//     quic-go does not let a program choose.
//   - An idle connection costs about 19 KiB a side: two goroutines with their
//     stacks, and quic-go's stream. It holds no buffer: a socket is read within
//     RawConn.Read with one that goes back to its pool where nothing has
//     arrived, which takes the same system calls as an ordinary read, and a
//     stream is waited for with Peek. That was 28 KiB with a buffer of 4 KiB held
//     in each direction; no loss of throughput was resolved.
package vertex
