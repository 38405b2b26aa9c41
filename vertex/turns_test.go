package vertex

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
)

// VTX-14: turns are had in order, as many at once as there are places.
func TestTurnsAreTakenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		first, second := turns.take(t.Context()), turns.take(t.Context())
		had := make(chan func(), 2)
		for range 2 {
			go func() { had <- turns.take(t.Context()) }()
		}
		synctest.Wait()
		if got := len(had); got != 0 {
			t.Fatalf("%d had a turn beside two others", got)
		}
		first()
		first()
		synctest.Wait()
		if got := len(had); got != 1 {
			t.Fatalf("%d had a turn after one had ended, want 1", got)
		}
		second()
		(<-had)()
		(<-had)()
	})
}

// VTX-14: whoever keeps a turn delays others by no more than a bound, and a
// handshake that ends or waits gives its turn back.
func TestTurnsThatAreKeptDelayOthersToABound(t *testing.T) {
	for _, tt := range []struct {
		name string
		keep func(*turns)
		want time.Duration
	}{
		{"by one that never ends", func(x *turns) { x.take(context.Background()) }, turnWithin},
		{"by a handshake that waits for its peer", func(x *turns) { x.lend(context.Background()) }, turnKept},
		{"by a handshake that is over", func(x *turns) {
			ctx, cancel := context.WithCancel(context.Background())
			x.lend(ctx)
			cancel()
		}, 0},
		{"by nobody", func(*turns) {}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := newTurns(1)
				tt.keep(turns)
				begun := time.Now()
				turns.take(t.Context())()
				if got := time.Since(begun); got != tt.want {
					t.Errorf("waited %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// VTX-14: a handshake waits for its turn before it signs, and before it judges
// the peer's certificate; in between, while it waits for its peer, it has none.
func TestHandshakesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, alice := service("web"), user("alice")
		issued, keys := authority.Issue(alice), &countingKeys{wallet: newWallet(authority.Issue(web))}
		p := &plan{listen: "127.0.0.1:1", tcp: map[spiffeid.ID]string{web: "127.0.0.1:1"}}
		now := issued.Cert.NotBefore.Add(time.Minute) // the clock here is at another time
		v, err := New(p.payload(t), keys, Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		v.turns = newTurns(1)
		held := v.turns.take(t.Context())

		shown, judged := make(chan func(), 1), make(chan error, 1)
		near, far := net.Pipe()
		defer near.Close()
		go func() { judged <- tls.Server(far, v.acceptTLS()).HandshakeContext(t.Context()) }()
		client := tls.Client(near, &tls.Config{
			ServerName: host(t, web), NextProtos: protocols(), InsecureSkipVerify: true,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				shown <- v.turns.take(t.Context())
				return &tls.Certificate{Certificate: [][]byte{issued.Cert.Raw}, PrivateKey: issued.Key}, nil
			},
		})
		go func() { _, _ = io.Copy(io.Discard, client) }()

		synctest.Wait()
		if got := keys.signed.Load(); got != 0 {
			t.Fatalf("signed %d times while another had the turn", got)
		}
		held()
		begun := time.Now()
		held = <-shown
		if got := time.Since(begun); got != 0 {
			t.Errorf("the turn was kept for %v after the signature", got)
		}
		synctest.Wait()
		if got := len(judged); got != 0 {
			t.Fatal("the peer's certificate was judged while another had the turn")
		}
		held()
		if err := <-judged; err != nil || keys.signed.Load() != 1 {
			t.Errorf("the handshake: %v, signed %d times", err, keys.signed.Load())
		}
	})
}

// countingKeys is a wallet whose keys count what they sign.
type countingKeys struct {
	*wallet
	signed atomic.Int32
}

func (c *countingKeys) SVID(id spiffeid.ID) (*x509svid.SVID, error) {
	svid, err := c.wallet.SVID(id)
	if err != nil {
		return nil, err
	}
	return &x509svid.SVID{ID: id, Certificates: []*x509.Certificate{svid.Certificates[0]},
		PrivateKey: countingKey{svid.PrivateKey, &c.signed}}, nil
}

type countingKey struct {
	crypto.Signer
	signed *atomic.Int32
}

func (k countingKey) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	k.signed.Add(1)
	return k.Signer.Sign(rand, digest, opts)
}
