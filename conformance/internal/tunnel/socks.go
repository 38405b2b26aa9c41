package tunnel

import (
	"bytes"
	"io"
)

// Greeting is that of a client without authentication.
const Greeting = "\x05\x01\x00"

// Request is a CONNECT to a name.
func Request(name string) string {
	return "\x05\x01\x00\x03" + string([]byte{byte(len(name))}) + name + "\x00\x50"
}

// Ask sends greeting and request of a client of alice, and returns the
// connection with the reply.
func (v *Vertex) Ask(name string) (*Conn, byte) {
	c := Connect(v.t, v.SOCKS)
	c.Send(Greeting + Request(name))
	return c, c.Reply()
}

// Reply reads the answer to the greeting and the reply to the request.
func (c *Conn) Reply() byte {
	c.Expect("\x05\x00")
	return c.ReplyAlone()
}

// ReplyAlone reads the reply to the request, after the answer to the greeting.
func (c *Conn) ReplyAlone() byte {
	reply := make([]byte, 10)
	if n, err := io.ReadFull(c.TCPConn, reply); err != nil {
		c.t.Fatalf("the reply is % x (%v); it must be 05 <reply> 00 01 00000000 0000", reply[:n], err)
	}
	if reply[0] != 5 || !bytes.Equal(reply[2:], []byte{0, 1, 0, 0, 0, 0, 0, 0}) {
		c.t.Fatalf("the reply is % x; it must be 05 <reply> 00 01 00000000 0000", reply)
	}
	return reply[1]
}

// Reach connects a client of alice to a name.
func (v *Vertex) Reach(name string) *Conn {
	c, reply := v.Ask(name)
	if reply != 0 {
		v.t.Fatalf("CONNECT to %s has reply %d; it must be 0", name, reply)
	}
	return c
}

// Host is the hostname of a service of this rete.
func (v *Vertex) Host(service string) string { return service + "." + v.Rete.Domain + ".rete" }

// Everything reads all that comes until the connection is closed.
func (c *Conn) Everything() string {
	text, err := io.ReadAll(c.TCPConn)
	c.t.Check(err, "read until the connection is closed")
	return string(text)
}
