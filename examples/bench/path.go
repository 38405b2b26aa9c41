package main

import (
	"net/netip"

	"github.com/florete/flor/conformance/lab/udplink"
)

// between puts the path of this plan, if it has one, in front of an address.
func (p plan) between(to string) (address string, closePath func(), err error) {
	if p.path == (udplink.Path{}) {
		return to, func() {}, nil
	}
	link, err := udplink.Open(udplink.Options{To: netip.MustParseAddrPort(to), Path: p.path})
	if err != nil {
		return "", nil, err
	}
	return link.Addr().String(), func() { _ = link.Close() }, nil
}
