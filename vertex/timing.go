package vertex

import "time"

// Times of the contract (VTX-5, VTX-8, VTX-10, VTX-12), and those chosen here.
const (
	connectWithin   = 10 * time.Second // a SOCKS5 client's wait for its answer
	requestWithin   = 10 * time.Second // a SOCKS5 client's or peer's time to ask
	handshakeIdle   = 4 * time.Second
	idleTimeout     = 30 * time.Second // without a packet
	keepAlive       = 3 * time.Second
	suspectAfter    = keepAlive + 500*time.Millisecond // the keep-alive's answer has half a second
	idleClose       = 60 * time.Second                 // without a stream, by the dialler
	idleCloseLater  = idleClose + 10*time.Second       // the same by the acceptor, so that the two do not cross
	guardEvery      = time.Second
	identitiesEvery = 30 * time.Second

	quiet          = 200 * time.Millisecond // see session.nudge
	upstreamWithin = 5 * time.Second        // leaves the initiator time to hear of it
	againAfter     = 500 * time.Millisecond // before the one more dial: a restart takes that long
	tailLeast      = 100 * time.Millisecond // see session.tail
	settled        = 2 * time.Second        // after its last stream a connection has nothing undelivered
	lingerWithin   = time.Second            // for a refused client to read its reply
	portRetryFirst = 100 * time.Millisecond
	portRetryMax   = 5 * time.Second
	defaultGrace   = 8 * time.Second // below the supervisor's 10 s (SUP-4)
)

// Flow-control windows (VTX-5a): a connection's window is the sum of those of
// its streams, so that streams which nobody reads never stop another one.
const streamWindow = 1 << 20
