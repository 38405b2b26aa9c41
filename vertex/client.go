package vertex

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/vertex/internal/socks"
)

// serveClient serves one local program on a port whose principal is known.
func (v *Vertex) serveClient(conn *net.TCPConn, in inbound) {
	defer conn.Close()
	if !in.target.IsZero() {
		v.forward(conn, pair{in.principal, in.target})
		return
	}
	v.socks(conn, in)
}

// forward connects a client that says nothing to its one target (VTX-19). A
// refusal can only be told as RST.
func (v *Vertex) forward(conn *net.TCPConn, p pair) {
	near := initiatorLeg(conn, nil)
	way, err := v.open(v.life, p)
	if err != nil {
		near.Abort()
		return
	}
	v.carry(p, near, way.leg, way.local)
}

// socks serves a SOCKS5 client (VTX-10).
func (v *Vertex) socks(conn *net.TCPConn, in inbound) {
	_ = conn.SetReadDeadline(time.Now().Add(requestWithin))
	r := bufio.NewReaderSize(conn, socks.MaxMessage)
	request, err := v.readRequest(conn, r)
	if err != nil {
		v.turnDown(conn, in, err)
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	p := pair{initiator: in.principal}
	way, err := v.openHost(&p, request.Host)
	if err != nil {
		reply(conn, asError(err, p).Reason.Reply())
		return
	}
	var early []byte
	if r.Buffered() > 0 {
		early, _ = r.Peek(r.Buffered())
	}
	near := initiatorLeg(conn, early) // before the client hears that it is connected
	if _, err := conn.Write(socks.Reply(socks.Succeeded)); err != nil {
		way.leg.Abort()
		_ = way.leg.Close()
		return
	}
	v.carry(p, near, way.leg, way.local)
}

// openHost opens a way to a host name, and fills in whose it is.
func (v *Vertex) openHost(p *pair, host string) (opened, error) {
	target, err := schema.ParseHostname(host, v.tables.Load().domain)
	if err != nil {
		v.meter.refused(*p, UnknownTarget)
		return opened{}, &Error{Reason: UnknownTarget, From: p.initiator, Err: err}
	}
	p.target = target
	return v.open(v.life, *p)
}

// readRequest lets go of a client that is still asking when the vertex ends.
// Afterwards the flow decides how the client's connection ends, since to close
// it here would make an abort look like a clean end (VTX-7).
func (v *Vertex) readRequest(conn *net.TCPConn, r *bufio.Reader) (socks.Request, error) {
	stop := context.AfterFunc(v.life, func() { _ = conn.Close() })
	defer stop()
	if err := socks.ReadGreeting(r); err != nil {
		return socks.Request{}, err
	}
	if _, err := conn.Write(socks.Method(true)); err != nil {
		return socks.Request{}, err
	}
	return socks.ReadRequest(r)
}

// turnDown answers a client that did not get as far as a target.
func (v *Vertex) turnDown(conn *net.TCPConn, in inbound, err error) {
	reason := requestReason(err)
	v.meter.refused(pair{initiator: in.principal}, reason)
	v.log.Debug("client refused", "principal", in.principal, "reason", reason, "code", reason.Code(), "error", err)
	refusal, ok := errors.AsType[*socks.Refusal](err)
	switch {
	case !ok:
	case refusal.Reply != socks.NoReply:
		reply(conn, refusal.Reply)
	case refusal.Fault == socks.NoMethod:
		say(conn, socks.Method(false))
	}
}

func requestReason(err error) Reason {
	refusal, ok := errors.AsType[*socks.Refusal](err)
	if !ok {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return ClientSilent
		}
		return ClientLeft
	}
	switch refusal.Fault {
	case socks.NoMethod:
		return NoMethod
	case socks.Command:
		return CommandUnsupported
	case socks.Address:
		return AddressUnsupported
	}
	return MalformedMessage
}

func reply(conn *net.TCPConn, code byte) { say(conn, socks.Reply(code)) }

// say sends the last words to a client and gives it a moment to read them: a
// connection that is closed with something unread becomes a reset, which may
// overtake what was written.
func say(conn *net.TCPConn, words []byte) {
	_ = conn.SetDeadline(time.Now().Add(lingerWithin))
	_, _ = conn.Write(words)
	_ = conn.CloseWrite()
	_, _ = io.CopyN(io.Discard, conn, largeBuffer)
}
