package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
)

// Switch is an Ethernet switch with cables to hosts and other switches. It is
// a namespace with a bridge, and has no address.
type Switch struct {
	space *Namespace
	mu    sync.Mutex
	ports int
	hosts []*Host
}

const bridge = "br0"

// NewSwitch makes a switch without cables.
func NewSwitch() (*Switch, error) {
	space, err := newNamespace()
	if err != nil {
		return nil, err
	}
	s := &Switch{space: space}
	// No spanning tree and no delay: a new cable carries at once.
	err = space.ip("link", "add", bridge, "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
	if err == nil {
		err = space.ip("link", "set", bridge, "up")
	}
	if err != nil {
		return nil, errors.Join(err, space.Close())
	}
	return s, nil
}

// Close lets the switch and its hosts go.
func (s *Switch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.space.Close()
	for _, host := range s.hosts {
		err = errors.Join(err, host.Close())
	}
	return err
}

// Host is a machine on a switch.
type Host struct {
	*Namespace
	Name  string
	Addr  netip.Addr
	Cable *Cable // to its switch
}

// Host makes a machine with an address and a cable to the switch. Closing the
// switch closes it.
func (s *Switch) Host(name string, at netip.Prefix) (*Host, error) {
	space, err := newNamespace()
	if err != nil {
		return nil, err
	}
	h := &Host{Namespace: space, Name: name, Addr: at.Addr()}
	if h.Cable, err = s.plug(space, "eth0"); err == nil {
		err = errors.Join(space.ip("address", "add", at.String(), "dev", "eth0"), space.ip("link", "set", "eth0", "up"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make host %s: %w", name, err), space.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = append(s.hosts, h)
	return h, nil
}

// Join lays a cable between two switches.
func (s *Switch) Join(other *Switch) (*Cable, error) {
	far := other.nextPort()
	cable, err := s.plug(other.space, far)
	if err != nil {
		return nil, err
	}
	return cable, other.attach(far)
}

// plug lays a cable from a new port of the switch to a new device elsewhere.
func (s *Switch) plug(far *Namespace, device string) (*Cable, error) {
	port := s.nextPort()
	if err := s.space.ip("link", "add", port, "type", "veth", "peer", "name", device, "netns", far.path()); err != nil {
		return nil, err
	}
	return &Cable{space: s.space, port: port}, s.attach(port)
}

func (s *Switch) nextPort() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports++
	return fmt.Sprintf("port%d", s.ports)
}

func (s *Switch) attach(port string) error {
	return s.space.ip("link", "set", port, "master", bridge, "up")
}

// Cable joins a port of a switch with a host or another switch. One that is
// cut carries nothing, and both its ends lose their carrier.
type Cable struct {
	space *Namespace
	port  string
}

// Cut lets nothing pass until it is mended.
func (c *Cable) Cut() error { return c.space.ip("link", "set", c.port, "down") }

// Mend ends a cut.
func (c *Cable) Mend() error { return c.space.ip("link", "set", c.port, "up") }

// Limit lets at most so many kilobits a second pass towards the far end, with
// a queue of 100 ms; 0 ends the limit.
func (c *Cable) Limit(kilobits int) error {
	if kilobits == 0 {
		return c.space.run("tc", "qdisc", "del", "dev", c.port, "root")
	}
	return c.space.run("tc", "qdisc", "replace", "dev", c.port, "root",
		"tbf", "rate", fmt.Sprintf("%dkbit", kilobits), "burst", "32kb", "latency", "100ms")
}
