package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/proxy"
)

const (
	dialTimeout    = 10 * time.Second
	throughTimeout = 12 * time.Second // a vertex tells within 10 s why it cannot connect (VTX-10); its word is heard out
	idleTimeout    = 90 * time.Second
	maxHeaderBytes = 64 << 10
	continueWait   = time.Second
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func newTransport(dial dialFunc) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dial,
		DisableCompression:     true,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ExpectContinueTimeout:  continueWait,
	}
}

// dialer connects directly, or through the SOCKS5 proxy at via, which resolves
// the coordinator's name itself.
func dialer(via string) (dialFunc, error) {
	direct := &net.Dialer{Timeout: dialTimeout}
	if via == "" {
		return direct.DialContext, nil
	}
	if _, _, err := net.SplitHostPort(via); err != nil {
		return nil, fmt.Errorf("SOCKS5 address %q: want host:port: %w", via, err)
	}
	return socksDialer{via: via, direct: direct}.dial, nil
}

type socksDialer struct {
	via    string
	direct *net.Dialer
}

func (s socksDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, throughTimeout)
	defer cancel()
	leg := &firstLeg{direct: s.direct}
	through, err := proxy.SOCKS5("tcp", s.via, nil, leg)
	if err != nil {
		return nil, err
	}
	conn, err := through.(proxy.ContextDialer).DialContext(ctx, network, address)
	if err == nil {
		return conn, nil
	}
	if reply, ok := leg.reply(); ok {
		return nil, &ProxyRefused{Proxy: s.via, Target: address, Reply: reply}
	}
	return nil, &Unreachable{Target: address, Via: s.via, While: leg.phase(), Err: err}
}

// firstLeg dials the proxy and keeps the few bytes with which it answers: the
// SOCKS library gives the reply as text only, and callers must tell a denial
// from a service that is down.
type firstLeg struct {
	direct *net.Dialer
	conn   *answerRecorder
}

// Dial completes proxy.Dialer; the SOCKS library calls DialContext.
func (l *firstLeg) Dial(network, address string) (net.Conn, error) {
	return l.DialContext(context.Background(), network, address)
}

// DialContext connects to the proxy.
func (l *firstLeg) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.direct.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.conn = &answerRecorder{Conn: conn}
	return l.conn, nil
}

// reply is the proxy's refusal: the second byte of its answer to CONNECT, which
// follows the two bytes that choose a method (RFC 1928).
func (l *firstLeg) reply() (SOCKSReply, bool) {
	const at = 3
	if l.conn == nil || l.conn.n <= at || l.conn.head[at] == 0 {
		return 0, false
	}
	return SOCKSReply(l.conn.head[at]), true
}

func (l *firstLeg) phase() string {
	if l.conn == nil {
		return "dialling the SOCKS5 proxy"
	}
	return "asking the SOCKS5 proxy"
}

// answerRecorder remembers the first bytes that were read.
type answerRecorder struct {
	net.Conn
	head [4]byte
	n    int
}

func (r *answerRecorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if r.n < len(r.head) {
		r.n += copy(r.head[r.n:], p[:n])
	}
	return n, err
}
