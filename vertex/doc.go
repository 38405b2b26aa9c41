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
// # In a program
//
//	v, err := vertex.New(payload, identities, vertex.Options{Log: log})
//	go v.Run(ctx)                     // drains when ctx ends, returns when all is closed
//	err = v.WaitReady(ctx)            // or Dial fails with NoTransport
//	l, err := v.Listen(web)           // a net.Listener, for http.Server for instance
//	c, err := v.Dial(ctx, alice, web) // a net.Conn
//
// The payload is that of an artifact (schema.ParseVertex) or made by hand, and the
// identities are the [Identities] of a scope (identity.Open) or of one's own. Who
// is at the other end tells [Conn.Peer]; the examples show it in an HTTP handler.
// A server is shut down before the context of Run ends, so that requests which are
// under way end as they should. Run waits for connections that were dialled here
// until they are closed, idle ones of an http.Transport among them.
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
//     mostly inside quic-go, and six times from process to process. Two things
//     cost more than that and are gone. With a second processor that is idle the
//     runtime wakes a thread for each goroutine that becomes ready, so flor-vertex
//     runs on one processor until it uses 90 % of it and the machine has another
//     without work, or until many handshakes come, and then on all; a program that
//     embeds a vertex decides on GOMAXPROCS itself. On two processors that the
//     load fills, all in place of one took 13 % from new connections with 32 and
//     256 clients, and gave nothing to bulk. And the net package announces each
//     system call to the scheduler, as one that may block: in a process that was
//     idle, as a vertex is between two messages, that wakes the runtime's monitor
//     thread, which sleeps 20 µs and lies down again. Sockets are therefore read
//     and written with calls that are not announced, since they never block
//     (Linux). Traced with strace, a vertex made 0.7 futex and 0.9 nanosleep calls
//     for a round trip, and makes 0.03 and 0.07; what is left is 1 sendmsg, 2
//     recvmmsg, 2 read, 1 write and 3 epoll_pwait calls. The CPU time of both
//     vertices for a round trip fell by a third, from 308 to 204 µs on a quiet
//     machine and from 150 to 93 µs on one that other work kept awake (stunnel4:
//     146 and 62 µs); the rate rose from 0.80 to 0.83 of stunnel4's on the former,
//     and from 0.57 to 0.63 and 0.76 on the latter. Bulk over 4 connections rose
//     by 10 to 24 %, and requests over 64 connections by 12 to 19 %.
//   - What is left of a round trip is half system calls, and for the rest the
//     goroutines and timers of quic-go, none of which has more than 6 %;
//     encryption is hardly seen. The second read and recvmmsg find nothing: they
//     tell that a socket is empty. To leave them out, readiness would have to be
//     trusted that is told once only, and a byte that arrives in between would
//     wait for the next one. Packets that only acknowledge are not sent: there
//     is one packet for each message. On a machine on which nothing else runs,
//     processors fall asleep between messages, and to wake them takes longer
//     than everything else, in every tunnel.
//   - A new connection is a stream and costs no handshake; that bounds it by
//     round trips, as above.
//   - Over a long path that loses packets quic-go's congestion control, which
//     backs off by loss, bounds a connection at about 0.5 MB/s with 20 ms each
//     way and 1 % loss. Streams are therefore spread over 4 connections to a pair:
//     over a long path at once, so that each of 4 has its own, and over a short one
//     beside bulk, where a connection carries 256 KiB within a second. A path is
//     long if no answer on it ever took less than 20 ms, which a busy machine does
//     not feign. New connections are dialled in the background, so nobody waits for
//     them, and streams that are open stay where they are; a single stream is no
//     faster. Against bulk alone 4 streams carry 2.6 times as much up and 2.2 times
//     down there, and 64 the same. Over 12 connections 4 carried 4.1 and 2.2 times
//     as much and 64 three times; that is left out, because a vertex that a thousand
//     users reach from afar would have to hold 12,000 connections for them. To
//     lift the bound takes another congestion control, which quic-go does not let
//     a program choose.
//   - An idle connection costs about 19 KiB a side: two goroutines with their
//     stacks, and quic-go's stream. It holds no buffer: a socket is read within
//     RawConn.Read with one that goes back to its pool where nothing has
//     arrived, which takes the same system calls as an ordinary read, and a
//     stream is waited for with Peek. That was 28 KiB with a buffer of 4 KiB held
//     in each direction; no loss of throughput was resolved.
//
// # Floods
//
// What a flood from one initiator does to another, which makes a round trip each
// millisecond through the same target's vertex (VTX-14); the flood, its service
// and its vertex are processes of their own (examples/bench, figures quiet-...).
// The quiet one's median, as a multiple of its value alone (about 0.4 ms):
//
//	flood                            at the lowest priority          at equal priority
//	new connections                  0.96 to 1.8 beside 1,500/s      2.2 beside 1,854/s
//	64 bulk streams                  1.05 to 1.9 beside 109 MB/s     3.5 beside 147 MB/s
//	handshakes, wrong certificates   1.3 to 1.7 beside 1,000/s       4.2 beside 1,070/s
//
// So VTX-14's three times are held at the lowest priority. The last row has medians
// of three and five rounds, in which the vertex of before had 3.9 to 7.9 and 7.2. Two things
// made the difference. flor-vertex uses all processors while 100 handshakes or
// more begin in a second: on one, a stream waited for every handshake that was
// ready to compute, although the processor was used to 85 % only. And the costly
// steps of handshakes take turns, on half of the processors: the exchange of keys
// with the signature, and the judgement of the peer's certificate. With two
// processors throughout, turns alone took the last column from 3.4 to 1.9 times
// a quiet value that was higher there (0.65 ms); at the lowest priority they make
// no difference.
//
// At the lowest priority (nice) a flood takes no time of the two processors that
// somebody else wants: what it does then, it does to the vertex. Since all else
// is equal in the last column, it tells how the kernel shares two processors
// between the flooding program and a vertex that has work of its own. To let
// goroutines of bulk and of handshakes give way to others (runtime.Gosched), and
// to pause the reading of the socket, changed nothing there (4.3 and 4.4 times
// beside bulk, 8.2 and 10 beside handshakes) and was left out. A flood from
// elsewhere that keeps all of the vertex's processors busy could not be produced
// on this machine, and has not been measured.
//
// What bounds it: packets wait in a queue of their own QUIC connection, of 256,
// and the goroutine that reads the UDP socket does nothing but sort them. Where a
// flood keeps every processor busy, other goroutines wait their turn, which Go's
// scheduler gives without priorities, and sockets that become readable are
// noticed every 10 ms at the latest. Handshakes cost most, about a millisecond of a
// processor each, half of which they do in turns (the rest is within quic-go). A
// turn refuses nobody: those who wait are served in order, a handshake that waits
// for its peer loses its turn after 10 ms, and one that has waited for 250 ms goes
// on without, so that turns add half a second to it at the very most. 256
// handshakes are in flight at once, of which 64 from one /24 or /48 (loopback has
// no prefix, so there the first number alone counts), and addresses are proven
// from 64 on. Whoever shows wrong certificates is refused after the work for his
// handshake is done; there is no limit on how often he may do that but these. A
// budget of failures is left out: until the costly part of a handshake is done
// nothing but the address tells who makes it, so to refuse by it would shut out
// good peers behind the same address or prefix (NAT) for as long as somebody there
// fails, who are merely slowed down now. To prove addresses (Retry) earlier does
// not help either: whoever gets as far as showing a certificate has proven his.
package vertex
