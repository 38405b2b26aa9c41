package relay

import (
	"io"
	"net/http"
	"time"
)

// Bodies are timed by progress and not in total (CRD-8): each piece must pass
// within pieceTime, which asks for about 2 KiB/s of the slowest client.
const (
	pieceSize = 64 << 10
	pieceTime = 30 * time.Second
)

// pacedWriter sends a body piece by piece and ends a client that takes none.
type pacedWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newPacedWriter(w http.ResponseWriter) pacedWriter {
	return pacedWriter{w: w, control: http.NewResponseController(w)}
}

// allow gives the next piece its time. A writer without deadlines, as in a
// program that brings its own server, is written to without.
func (p pacedWriter) allow() { _ = p.control.SetWriteDeadline(time.Now().Add(pieceTime)) }

// send writes body. A client that went away or stood still is no event: it is
// net/http that closes the connection, and the client that asks again.
func (p pacedWriter) send(body []byte) {
	for len(body) > 0 {
		piece := body[:min(len(body), pieceSize)]
		p.allow()
		if _, err := p.w.Write(piece); err != nil {
			return
		}
		body = body[len(piece):]
	}
}

// limitBody gives a request's body its time, in case that its handler does not
// want it: a server reads on for what is left of it, and would do so without an
// end.
func limitBody(w http.ResponseWriter, req *http.Request) {
	if req.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(pieceTime))
	}
}

// pacedReader reads a request body, of which each piece must come in time.
type pacedReader struct {
	r       io.Reader
	control *http.ResponseController
	credit  int // bytes that may still come under the present deadline
	started bool
}

func newPacedReader(w http.ResponseWriter, r io.Reader) *pacedReader {
	return &pacedReader{r: r, control: http.NewResponseController(w)}
}

func (p *pacedReader) Read(buf []byte) (int, error) {
	if !p.started || p.credit <= 0 {
		p.started, p.credit = true, pieceSize
		_ = p.control.SetReadDeadline(time.Now().Add(pieceTime))
	}
	n, err := p.r.Read(buf)
	p.credit -= n
	if err == io.EOF {
		// Judging and storing are not on the client's time.
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
