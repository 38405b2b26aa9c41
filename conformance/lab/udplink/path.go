package udplink

import (
	"math/rand/v2"
	"time"
)

// Path says what happens to packets, in each direction alike. The zero value
// carries everything at once.
type Path struct {
	Delay   time.Duration // of every packet, one way
	Loss    float64       // share of packets that are lost, from 0 to 1
	Reorder float64       // share of packets that those behind them overtake, from 0 to 1
	MTU     int           // longest UDP payload that passes, in bytes; 0: any
	Seed    uint64        // of what chance decides
}

// Direction is one of the two ways through a link.
type Direction uint64

// The directions: from clients to the target, and back.
const (
	Forth Direction = iota + 1
	Back
)

// Fate is what becomes of one packet.
type Fate struct {
	Lost  bool
	Late  bool          // those behind it overtake it
	Delay time.Duration // until it is sent on, unless it is lost
}

// lateness is how much longer a packet takes that others overtake, beyond an
// eighth of the path's delay.
const lateness = 2 * time.Millisecond

// Fate decides on the n-th packet of a direction, of so many bytes. It is a
// function of its arguments and the seed.
func (p Path) Fate(way Direction, n uint64, size int) Fate {
	if p.MTU > 0 && size > p.MTU {
		return Fate{Lost: true}
	}
	if p.Loss <= 0 && p.Reorder <= 0 {
		return Fate{Delay: p.Delay}
	}
	chance := rand.New(rand.NewPCG(p.Seed^uint64(way)<<62, n))
	if chance.Float64() < p.Loss {
		return Fate{Lost: true}
	}
	if chance.Float64() < p.Reorder {
		return Fate{Late: true, Delay: p.Delay + p.Delay/8 + lateness}
	}
	return Fate{Delay: p.Delay}
}
