package main

import (
	"fmt"
	"io"
)

// progress counts what is read of a document. On a terminal it redraws one line;
// elsewhere it is silent.
type progress struct {
	from        io.Reader
	to          io.Writer // nil: nobody looks
	done, total int64
	shown       int64 // percent
}

func (c *console) progress(from io.Reader, total int64) *progress {
	p := &progress{from: from, total: total, shown: -1}
	if c.steered() {
		p.to = c.err
	}
	return p
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.from.Read(b)
	p.done += int64(n)
	p.draw()
	return n, err
}

func (p *progress) draw() {
	if p.to == nil || p.total == 0 {
		return
	}
	percent := p.done * 100 / p.total
	if percent == p.shown {
		return
	}
	p.shown = percent
	fmt.Fprintf(p.to, "\r%3d %% of %d KiB sent", percent, (p.total+1023)/1024)
}

// clear removes the line.
func (p *progress) clear() {
	if p.to != nil && p.shown >= 0 {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
