package relay

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay/internal/wire"
)

// answer is a whole HTTP answer, made before it is needed: header values are the
// slices that net/http takes, so that serving one allocates nothing for them. It
// does not change and is shared.
type answer struct {
	status int
	result string // the value of the result label, and the word in the body
	body   []byte
	framed bool // body is the members of a set, and served as a set document
	length []string
	extra  field // the header field that only some answers have
}

// field is a header field as net/http keeps it.
type field struct {
	name   string // canonical; empty: none
	values []string
}

// What stands before and behind the members of a set document.
var setStart, setEnd, _ = bytes.Cut(envelope.AppendSet(nil, []byte("{}")), []byte("{}"))

// Values and canonical names of headers. They are assigned to http.Header
// directly, so the names must be in canonical form.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	waitCap  = []string{strconv.Itoa(int(wire.MaxWait / time.Second))}
)

const (
	retryBusy      = "5" // seconds until another upload may have ended
	retryPublished = "5" // seconds until a fresh coordinator may have a tree
	retryDraining  = "1" // seconds until a restarted one may be back
)

var (
	answerNotModified = &answer{status: http.StatusNotModified, result: "not_modified"}
	answerUnknownNode = fault(http.StatusNotFound, wire.UnknownNode, "")
	answerNotFound    = fault(http.StatusNotFound, wire.NotFound, "")
	answerUnpublished = fault(http.StatusServiceUnavailable, wire.NotPublished, "").with("Retry-After", retryPublished)
	answerDraining    = fault(http.StatusServiceUnavailable, wire.Draining, "").with("Retry-After", retryDraining)
)

// setAnswer serves members, as they lie between the ends of a set document.
func setAnswer(members []byte, version uint64) *answer {
	a := withBody(http.StatusOK, "set", members).with(wire.VersionHeader, strconv.FormatUint(version, 10))
	a.framed = true
	a.length = []string{strconv.Itoa(a.size())}
	return a
}

// size is that of the body as it is served, in bytes.
func (a *answer) size() int {
	if a.framed {
		return len(setStart) + len(a.body) + len(setEnd)
	}
	return len(a.body)
}

func fault(status int, word, reason string) *answer {
	return document(status, word, wire.Fault{Error: word, Reason: reason})
}

func methodNotAllowed(allow string) *answer {
	return fault(http.StatusMethodNotAllowed, wire.MethodNotAllowed, "").with("Allow", allow)
}

// document makes an answer of a value of package wire, which always marshals.
func document(status int, result string, body any) *answer {
	text, err := json.Marshal(body)
	if err != nil {
		panic("relay: a body of package wire does not marshal: " + err.Error())
	}
	return withBody(status, result, text)
}

func withBody(status int, result string, body []byte) *answer {
	return &answer{status: status, result: result, body: body, length: []string{strconv.Itoa(len(body))}}
}

// forWhoLeft is the answer to a client that has closed its connection, and is
// counted as such. It may have closed its own half only, and then it reads what is
// written: an answer left out would reach it as an empty 200.
func (a *answer) forWhoLeft() *answer {
	left := *a
	left.result = "client_gone"
	return &left
}

func (a *answer) with(name, value string) *answer {
	a.extra = field{name: name, values: []string{value}}
	return a
}

// write sends the answer (CRD-8). The body goes out in pieces that must each be
// taken in time.
func (a *answer) write(w http.ResponseWriter, req *http.Request, lender *scratches) {
	header := w.Header()
	header["Cache-Control"] = noStore
	if a.body != nil {
		header["Content-Type"] = jsonType
		header["Content-Length"] = a.length
	}
	if a.extra.name != "" {
		header[a.extra.name] = a.extra.values
	}
	out := newPacedWriter(w)
	out.allow()
	w.WriteHeader(a.status)
	if req.Method != http.MethodHead {
		a.send(out, lender)
	}
}

// send writes the body. A set goes out as what is before, in and behind it, and a
// small one, which would be three small writes to the socket, as one.
func (a *answer) send(out pacedWriter, lender *scratches) {
	if !a.framed {
		out.send(a.body)
		return
	}
	if a.size() <= scratchSize {
		if s := lender.borrow(); s != nil {
			out.send(envelope.AppendSet(s.bytes[:0], a.body))
			lender.giveBack(s)
			return
		}
	}
	out.send(setStart)
	out.send(a.body)
	out.send(setEnd)
}
