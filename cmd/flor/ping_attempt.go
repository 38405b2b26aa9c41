package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const (
	// pingWithin is how long an attempt may take; a vertex gives up after ten
	// seconds (VTX-10).
	pingWithin = 12 * time.Second
	// pingLinger is how long a connection that stands is watched for its end.
	pingLinger = 250 * time.Millisecond
)

// attempt is the steps from link to upstream: one connection, as a program makes
// it. Of one that fails, the vertex tells its client one byte; the rest is in
// its counters, if nobody else has called the same target meanwhile.
func (r *pingReport) attempt(ctx context.Context, client served, way route, caller string) {
	before := readCounters(ctx, client, way.target.String())
	began := time.Now()
	conn, reply, err := askSOCKS(ctx, r.Inbound, r.Hostname)
	took := time.Since(began)
	switch {
	case err != nil:
		r.stop(step{stepLink, failed, "", fmt.Sprintf("the vertex cannot be asked at %s: %v", r.Inbound, err),
			"flor agent status tells whether another program has the port"})
	case reply != 0:
		why := readCounters(ctx, client, way.target.String()).since(before)
		r.stopAt(way, failureOf(reply, why))
	default:
		defer conn.Close()
		said, end := watchConn(conn)
		r.succeeded(way, took, said, end)
	}
}

// succeeded tells of a connection that stood.
func (r *pingReport) succeeded(way route, took time.Duration, said int, end error) {
	r.pass(way, stepUpstream)
	what := fmt.Sprintf("connected in %d ms; the service waits for the caller to speak", took.Milliseconds())
	switch {
	case end != nil:
		r.stop(step{stepUpstream, failed, "", fmt.Sprintf("connected in %d ms, and the connection ended at once: %v", took.Milliseconds(), end),
			"the service itself closes connections, or its vertex speaks the older protocol and could not reach it: look at the service's log"})
		return
	case said > 0:
		what = fmt.Sprintf("connected in %d ms; the service spoke first", took.Milliseconds())
	}
	r.found(stepUpstream, what)
}

// pass adds the steps before the one at which it ended: they went well.
func (r *pingReport) pass(way route, until string) {
	words := map[string]string{
		stepLink:      "the vertex at " + way.link + " answers",
		stepHandshake: "both sides proved who they are",
		stepGate:      "the target lets " + r.Caller + " in",
	}
	if way.local != "" {
		words[stepLink], words[stepHandshake] = "none is needed: this vertex serves the target itself", "none is needed"
	}
	for _, name := range pingSteps[len(r.Steps):] {
		if name == until {
			return
		}
		r.found(name, words[name])
	}
}

// stopAt adds the steps that must have gone well for it to fail as it did, and
// how it failed.
func (r *pingReport) stopAt(way route, f failure) {
	if f.at != "" {
		r.pass(way, f.at)
		r.stop(step{f.at, f.verdict, f.code, f.found, f.do})
		return
	}
	r.stop(step{stepLink, f.verdict, f.code, f.found, f.do})
}

// askSOCKS asks the vertex at a SOCKS5 port for a hostname. A reply other than 0
// is the vertex's refusal, with no connection (RFC 1928).
func askSOCKS(ctx context.Context, inbound, hostname string) (net.Conn, byte, error) {
	dialer := net.Dialer{Timeout: pingWithin}
	conn, err := dialer.DialContext(ctx, "tcp", inbound)
	if err != nil {
		return nil, 0, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	reply, err := speakSOCKS(conn, hostname)
	if err != nil || reply != 0 {
		return nil, reply, errors.Join(err, conn.Close())
	}
	return conn, 0, nil
}

func speakSOCKS(conn net.Conn, hostname string) (reply byte, err error) {
	if err := conn.SetDeadline(time.Now().Add(pingWithin)); err != nil {
		return 0, err
	}
	const port = 80 // a vertex does not look at it (VTX-10)
	request := []byte{5, 1, 0, 5, 1, 0, 3, byte(len(hostname))}
	request = append(append(request, hostname...), 0, port)
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}
	var answer [6]byte // the method, then version, reply, reserved, kind of address
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return 0, fmt.Errorf("it does not answer as a SOCKS5 proxy: %w", err)
	}
	if answer[0] != 5 || answer[1] != 0 || answer[2] != 5 {
		return 0, errors.New("it does not answer as a SOCKS5 proxy")
	}
	if answer[3] != 0 {
		return answer[3], nil
	}
	return 0, skipAddress(conn, answer[5])
}

// skipAddress reads over the address in a reply.
func skipAddress(conn net.Conn, kind byte) error {
	length := map[byte]int64{1: 4, 4: 16}[kind]
	if length == 0 {
		return fmt.Errorf("its answer has an address of kind %d", kind)
	}
	_, err := io.CopyN(io.Discard, conn, length+2)
	return err
}

// watchConn looks for a moment whether a connection that stands says anything,
// or ends.
func watchConn(conn net.Conn) (said int, end error) {
	if err := conn.SetReadDeadline(time.Now().Add(pingLinger)); err != nil {
		return 0, err
	}
	said, end = conn.Read(make([]byte, 4096))
	if errors.Is(end, os.ErrDeadlineExceeded) {
		return said, nil
	}
	return said, end
}
