package main

import "os"

// asOrdinaryUser skips as root, whom modes do not bind.
func (p *place) asOrdinaryUser() *place {
	p.t.Helper()
	if os.Geteuid() == 0 {
		p.t.Skip("root ignores modes")
	}
	return p
}
