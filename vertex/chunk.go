package vertex

import "sync"

// Buffers start small, since most connections carry little, and grow with the
// first read that fills one.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

var (
	smallBuffers = sync.Pool{New: func() any { return new([smallBuffer]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([largeBuffer]byte) }}
)

// chunk is the buffer of one direction of a flow. It is taken from a pool when
// something can be read, and goes back once that has been written, so that a
// connection which waits holds none.
type chunk struct {
	grown bool
	small *[smallBuffer]byte
	large *[largeBuffer]byte
}

// take gives the buffer, and gets one where the chunk holds none.
func (c *chunk) take() []byte {
	if c.grown {
		if c.large == nil {
			c.large = largeBuffers.Get().(*[largeBuffer]byte)
		}
		return c.large[:]
	}
	if c.small == nil {
		c.small = smallBuffers.Get().(*[smallBuffer]byte)
	}
	return c.small[:]
}

// give puts the buffer back; n bytes of it were used.
func (c *chunk) give(n int) {
	if c.small != nil {
		smallBuffers.Put(c.small)
	}
	if c.large != nil {
		largeBuffers.Put(c.large)
	}
	c.small, c.large = nil, nil
	c.grown = c.grown || n == smallBuffer
}
