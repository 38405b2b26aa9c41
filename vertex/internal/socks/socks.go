package socks

import (
	"bufio"
	"fmt"
	"io"
)

const version = 5

// NoReply stands for the reply where a message has none.
const NoReply byte = 0xFF

// Replies of RFC 1928 §6.
const (
	Succeeded           byte = 0
	GeneralFailure      byte = 1
	NotAllowed          byte = 2
	HostUnreachable     byte = 4
	ConnectionRefused   byte = 5
	CommandNotSupported byte = 7
	AddressNotSupported byte = 8
)

const (
	methodNone         byte = 0x00
	methodNoAcceptable byte = 0xFF

	commandConnect byte = 1

	addressIPv4 byte = 1
	addressName byte = 3
	addressIPv6 byte = 4
)

// MaxMessage is the longest message that a client can send before its data:
// a greeting with 255 methods, or a request with a name of 255 bytes.
const MaxMessage = 4 + 1 + 255 + 2

// Request is a CONNECT to a host by name.
type Request struct {
	Host string // as the client spelled it, 1 to 255 bytes, not yet judged
	Port uint16
}

// Fault names what is wrong with a message, as a closed list.
type Fault uint8

// The faults of a client's messages.
const (
	Malformed Fault = iota + 1
	NoMethod
	Command
	Address
)

// Refusal is a message that was understood well enough to be turned down.
type Refusal struct {
	Fault  Fault
	Reply  byte // NoReply after a bad greeting, which has none
	Detail string
}

func (r *Refusal) Error() string { return r.Detail }

func malformed(format string, args ...any) error {
	return &Refusal{Malformed, GeneralFailure, fmt.Sprintf(format, args...)}
}

// ReadGreeting reads the client's offer of methods. It refuses an offer
// without "no authentication", the only method there is here (VTX-10).
// A reader's own error comes back as it is.
func ReadGreeting(r *bufio.Reader) error {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	if head[0] != version {
		return &Refusal{Malformed, NoReply, fmt.Sprintf("the greeting has version %d instead of %d", head[0], version)}
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(r, methods); err != nil {
		return err
	}
	for _, m := range methods {
		if m == methodNone {
			return nil
		}
	}
	return &Refusal{NoMethod, NoReply, "the client offers no method without authentication"}
}

// ReadRequest reads the client's request whole, whatever it asks for, and
// accepts only CONNECT to a name (VTX-10).
func ReadRequest(r *bufio.Reader) (Request, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Request{}, err
	}
	if head[0] != version || head[2] != 0 {
		return Request{}, malformed("the request starts with % x", head)
	}
	name, err := readAddress(r, head[3])
	if err != nil {
		return Request{}, err
	}
	var port [2]byte
	if _, err := io.ReadFull(r, port[:]); err != nil {
		return Request{}, err
	}
	return judge(head[1], head[3], name, uint16(port[0])<<8|uint16(port[1]))
}

func judge(command, kind byte, name []byte, port uint16) (Request, error) {
	switch {
	case command != commandConnect:
		return Request{}, &Refusal{Command, CommandNotSupported, fmt.Sprintf("command %d is not CONNECT", command)}
	case kind != addressName:
		return Request{}, &Refusal{Address, AddressNotSupported, "the target is an IP address and not a name"}
	case len(name) == 0:
		return Request{}, malformed("the target's name is empty")
	}
	return Request{Host: string(name), Port: port}, nil
}

func readAddress(r *bufio.Reader, kind byte) ([]byte, error) {
	length, err := addressLength(r, kind)
	if err != nil {
		return nil, err
	}
	address := make([]byte, length)
	_, err = io.ReadFull(r, address)
	return address, err
}

func addressLength(r *bufio.Reader, kind byte) (int, error) {
	switch kind {
	case addressIPv4:
		return 4, nil
	case addressIPv6:
		return 16, nil
	case addressName:
		n, err := r.ReadByte()
		return int(n), err
	}
	return 0, &Refusal{Address, AddressNotSupported, fmt.Sprintf("address type %d is unknown", kind)}
}

// Method is the server's answer to a greeting: the one method, or none.
func Method(accepted bool) []byte {
	if accepted {
		return []byte{version, methodNone}
	}
	return []byte{version, methodNoAcceptable}
}

// Reply is the server's answer to a request. The bound address is always
// 0.0.0.0:0: the connection is made on another machine, and its address there
// is nobody's business.
func Reply(code byte) []byte {
	return []byte{version, code, 0, addressIPv4, 0, 0, 0, 0, 0, 0}
}
