package agent

import (
	"strings"
	"time"

	"github.com/florete/flor/supervise/program"
)

// occupants finds out who has the addresses that workloads wait for. What it has
// found it keeps for as long as the attendant rests while something is waited
// for, since a search goes through all processes. The zero value is ready; one
// goroutine uses it at a time.
type occupants struct {
	found map[string]string
	at    time.Time
}

// of gives by whom each address is in use that one of the workloads waits for; it
// is nil where none is known.
func (o *occupants) of(ready map[string]*program.Readiness) map[string]string {
	var found map[string]string
	fresh := time.Since(o.at) < lookAgain
	for _, r := range ready {
		if r == nil {
			continue
		}
		for _, entry := range r.Waiting {
			by, known := o.found[entry]
			if !known || !fresh {
				by, o.at = occupant(entry), time.Now()
			}
			if found == nil {
				found = map[string]string{}
			}
			found[entry] = by
		}
	}
	o.found = found
	return found
}

// addressOf splits what a workload waits for into network and address: UDP ports
// are marked, TCP ports stand alone.
func addressOf(entry string) (network, addr string) {
	if addr, ok := strings.CutPrefix(entry, "udp "); ok {
		return "udp", addr
	}
	return "tcp", entry
}
