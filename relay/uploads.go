package relay

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/internal/wire"
)

// maxUploads bounds the memory of all bodies that are being received or judged at
// one time, in bytes: room for two of the largest.
const maxUploads = 2 * envelope.MaxSetPublish

// firstRoom is what a body is given before a byte of it has come.
const firstRoom = 4 << 10

// errNoRoom says that other uploads hold all the memory that uploads may have.
var errNoRoom = errors.New("other uploads hold all the memory that uploads may have")

// uploads shares out the memory for bodies.
type uploads struct{ held atomic.Int64 }

// upload is one body and the memory that it holds.
type upload struct {
	all    *uploads
	breath *breather
	held   int64
	doc    []byte
	size   int // of the whole body, known when it was read
}

// grow moves the body into size bytes of memory, if there is so much.
func (u *upload) grow(size int) error {
	more := int64(size - cap(u.doc))
	if u.all.held.Add(more) > maxUploads {
		u.all.held.Add(-more)
		return errNoRoom
	}
	u.held += more
	u.doc = append(make([]byte, 0, size), u.doc...)
	return nil
}

// release gives the memory back. The body must not be used any more.
func (u *upload) release() {
	u.all.held.Add(-u.held)
	u.held, u.doc = 0, nil
}

// read takes a published document, never more than limit bytes (CRD-8). What it
// read is to be released, also when it was refused.
func (u *upload) read(body io.Reader, announced, limit int64) *answer {
	if announced > limit {
		return tooLarge(limit)
	}
	most, next := limit, twice
	if announced >= 0 {
		most, next = announced, twiceThenAll
	}
	err := u.fill(body, int(most)+1, next)
	u.size = len(u.doc)
	if spare := cap(u.doc) - len(u.doc); err == nil && spare > len(u.doc)/8 {
		err = u.grow(len(u.doc)) // a tree that is accepted keeps its text for long
	}
	switch {
	case int64(len(u.doc)) > limit:
		return tooLarge(limit)
	case errors.Is(err, errNoRoom):
		return fault(http.StatusServiceUnavailable, wire.Busy, busy.Code()+" "+string(busy)+": "+err.Error()).with("Retry-After", retryBusy)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault(http.StatusRequestTimeout, wire.TooSlow,
			fmt.Sprintf("the body stood still: %d KiB must come in %s: publish again over a faster way", pieceSize>>10, pieceTime))
	case err != nil:
		return fault(http.StatusBadRequest, wire.MalformedTree, "the body ended early: publish again")
	}
	return nil
}

// fill reads to the end, or until it has most bytes. Memory follows what has come
// and not what was announced, by next, and never outgrows most.
func (u *upload) fill(r io.Reader, most int, next func(room, most int) int) error {
	if err := u.grow(min(firstRoom, most)); err != nil {
		return err
	}
	for {
		u.breath.pause()
		n, err := r.Read(u.doc[len(u.doc):cap(u.doc)])
		u.doc = u.doc[:len(u.doc)+n]
		switch {
		case err == io.EOF || len(u.doc) == most:
			return nil
		case err != nil:
			return err
		case len(u.doc) == cap(u.doc):
			if err := u.grow(min(next(cap(u.doc), most), most)); err != nil {
				return err
			}
		}
	}
}

// twice is what a body is given that has filled its room and announced nothing.
func twice(room, _ int) int { return 2 * room }

// twiceThenAll is what one is given that has announced how long it is: all of it
// once an eighth has come, so that what is copied and thrown away on the way stays
// small beside it.
func twiceThenAll(room, most int) int {
	if room >= most/8 {
		return most
	}
	return 2 * room
}

func tooLarge(limit int64) *answer {
	return fault(http.StatusRequestEntityTooLarge, wire.TooLarge,
		fmt.Sprintf("%s %s: a published tree has at most %d bytes: split the rete", TreeTooLarge.Code(), TreeTooLarge, limit))
}
