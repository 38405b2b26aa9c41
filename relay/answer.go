package relay

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/florete/flor/relay/internal/wire"
)

// answer is a whole HTTP answer, put together before it is needed: header values
// are the slices that net/http takes, so that serving one allocates nothing for
// them and copies no body. It does not change and is shared.
type answer struct {
	status int
	result string // the value of the result label, and the word in the body
	body   []byte
	length []string
	extra  map[string][]string
}

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
	// answerGone is written to nobody: the client has left.
	answerGone = &answer{result: "client_gone"}
)

func setAnswer(doc []byte, version uint64) *answer {
	return withBody(http.StatusOK, "set", doc).with(wire.VersionHeader, strconv.FormatUint(version, 10))
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

func (a *answer) with(name, value string) *answer {
	if a.extra == nil {
		a.extra = make(map[string][]string, 1)
	}
	a.extra[name] = []string{value}
	return a
}

// write sends the answer (CRD-8). The body goes out in pieces that must each be
// taken in time; it is never copied.
func (a *answer) write(w http.ResponseWriter, req *http.Request) {
	if a == answerGone {
		return
	}
	header := w.Header()
	header["Cache-Control"] = noStore
	if a.body != nil {
		header["Content-Type"] = jsonType
		header["Content-Length"] = a.length
	}
	for name, value := range a.extra {
		header[name] = value
	}
	out := newPacedWriter(w)
	out.allow()
	w.WriteHeader(a.status)
	if req.Method != http.MethodHead {
		out.send(a.body)
	}
}
