package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/go-json-experiment/json"
)

// SchemaVersion is what a producer stamps and the newest that Parse takes.
const SchemaVersion = "1.0"

// MaxPayload is the largest payload that Parse reads, in bytes.
const MaxPayload = 64 << 10

// Config tells a coordinator where to listen.
type Config struct {
	SchemaVersion string `json:"schema_version"`
	Listen        Listen `json:"listen"`
}

// Listen has the two listeners, each an IP literal with a port from 1 to 65535.
type Listen struct {
	Sync    string `json:"sync"`
	Publish string `json:"publish"`
}

// Parse reads one payload strictly and validates it. Its error is a *Refusal.
func Parse(payload []byte) (*Config, error) {
	if len(payload) > MaxPayload {
		return nil, refuse(malformed, fmt.Errorf("%d bytes, the limit is %d", len(payload), MaxPayload))
	}
	var c Config
	if err := readClosed(payload, &c); err != nil {
		return nil, gateFirst(payload, err)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &c, nil
}

// Validate checks the values and reports every fault, not the first. Its error
// is a *Refusal.
func (c *Config) Validate() error {
	if err := gate(c.SchemaVersion); err != nil {
		return err
	}
	sync, syncErr := address("listen.sync", c.Listen.Sync)
	publish, publishErr := address("listen.publish", c.Listen.Publish)
	faults := errors.Join(syncErr, publishErr)
	if faults == nil && sync == publish {
		faults = fmt.Errorf("listen.sync and listen.publish are both %s: readers and publishers need a listener each", sync)
	}
	if faults != nil {
		return refuse(unservable, faults)
	}
	return nil
}

func address(member, text string) (netip.AddrPort, error) {
	if text == "" {
		return netip.AddrPort{}, fmt.Errorf("%s is missing", member)
	}
	addr, err := netip.ParseAddrPort(text)
	switch {
	case err != nil || addr.Addr().Zone() != "":
		return netip.AddrPort{}, fmt.Errorf("%s is %q: want an IP literal with a port, such as 127.0.0.1:9000", member, text)
	case addr.Port() == 0:
		return netip.AddrPort{}, fmt.Errorf("%s is %q: port 0 names no port that a reader could find", member, text)
	}
	return addr, nil
}

// readClosed decodes one JSON object and nothing after it.
func readClosed(payload []byte, into *Config) error {
	if first := bytes.TrimLeft(payload, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return errors.New("want one JSON object")
	}
	err := json.Unmarshal(payload, into, json.RejectUnknownMembers(true))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the text ends in the middle")
	}
	return err
}
