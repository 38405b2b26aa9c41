package coordinatorsuite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/florete/flor/conformance/internal/host"
	"github.com/florete/flor/conformance/internal/trial"
	"github.com/florete/flor/envelope"
)

// Target is the coordinator that is checked: a command, or the addresses of two
// listeners, such as http://127.0.0.1:9000.
type Target struct {
	Argv, Env     []string
	Sync, Publish string
	Arrivals      *trial.Arrivals // of all cases against it
}

// answerIn is how long an answer may take that is not held.
const answerIn = 15 * time.Second

// Relay is the coordinator in one case.
type Relay struct {
	*trial.T
	host          *host.Host // nil where it runs somewhere
	process       *trial.Process
	sync, publish string // base addresses
	suffix        string // of the names of nodes
}

// names counts the runs of cases in this process.
var names atomic.Uint32

// newRelay makes a coordinator for one case: a new one, which is started, or the
// one that runs somewhere.
func newRelay(t *trial.T, to Target) *Relay {
	if len(to.Argv) == 0 {
		suffix := fmt.Sprintf("-%x-%x", time.Now().UnixNano(), names.Add(1))
		return &Relay{T: t, sync: strings.TrimSuffix(to.Sync, "/"), publish: strings.TrimSuffix(to.Publish, "/"), suffix: suffix}
	}
	r := &Relay{T: t, host: host.New(t, host.Program{
		Argv: to.Argv, Env: to.Env, Name: "coordinator",
		Payload: `{"schema_version":"1.0","listen":{"sync":"{{address}}","publish":"{{address}}"}}`,
	})}
	var config struct {
		Listen struct{ Sync, Publish string }
	}
	t.Check(json.Unmarshal([]byte(r.host.Payload), &config), "read its configuration")
	r.sync, r.publish = "http://"+config.Listen.Sync, "http://"+config.Listen.Publish
	return r
}

// start starts the program and waits until it answers.
func (r *Relay) start() {
	if r.host == nil {
		return
	}
	r.process = r.host.Start()
	r.Await("both listeners of the coordinator must answer", func() bool {
		if r.process.Ended() {
			r.Fatalf("%s; a coordinator listens on the two addresses of its payload", r.process.Ending().Unasked())
		}
		return r.answers(r.sync) && r.answers(r.publish)
	})
	r.Served()
}

func (r *Relay) answers(base string) bool {
	_, err := r.try(http.MethodGet, base+"/conformance", nil, nil)
	return err == nil
}

// stop ends the program with SIGTERM.
func (r *Relay) stop() { r.host.Stop(r.process) }

// kill ends the program with SIGKILL.
func (r *Relay) kill() {
	r.process.Signal(syscall.SIGKILL)
	r.process.Ending()
}

// Reply is an answer of the coordinator.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	Took   time.Duration
}

// word is the one-word error of a body, or the result.
func (a Reply) word() string {
	var doc struct{ Error, Result string }
	if json.Unmarshal([]byte(a.Body), &doc) != nil {
		return ""
	}
	return doc.Error + doc.Result
}

func (a Reply) String() string { return fmt.Sprintf("%d %s", a.Status, trial.Quote(a.Body)) }

// try makes one request on a connection of its own.
func (r *Relay) try(method, url string, header map[string]string, body io.Reader) (Reply, error) {
	return r.tryIn(answerIn, method, url, header, body)
}

func (r *Relay) tryIn(limit time.Duration, method, url string, header map[string]string, body io.Reader) (Reply, error) {
	req, err := http.NewRequestWithContext(r.Context(), method, url, body)
	if err != nil {
		return Reply{}, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	begun := time.Now()
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	resp, err := (&http.Client{Transport: transport, Timeout: limit, CheckRedirect: noRedirect}).Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Reply{resp.StatusCode, resp.Header, string(text), time.Since(begun)}, err
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ask makes one request and requires an answer.
func (r *Relay) ask(method, url string) Reply {
	a, err := r.try(method, url, nil, nil)
	r.Check(err, method+" "+strings.TrimPrefix(strings.TrimPrefix(url, r.sync), r.publish))
	return a
}

// fetch asks for a node's set; query is what stands behind it, such as ?have=1.
func (r *Relay) fetch(node, query string) Reply {
	return r.ask(http.MethodGet, r.at(node)+query)
}

// at is the address of a node's set.
func (r *Relay) at(node string) string { return r.sync + "/artifact/mgmt/" + r.name(node) }

// name is the name of a node in this case.
func (r *Relay) name(node string) string { return node + r.suffix }

// post publishes a document.
func (r *Relay) post(doc []byte) Reply {
	a, err := r.tryPost(doc)
	if os.IsTimeout(err) {
		r.Fatalf("POST /publish/mgmt with %d bytes was not answered within %s: judge a tree in time linear in its text", len(doc), answerIn)
	}
	r.Check(err, "POST /publish/mgmt")
	return a
}

func (r *Relay) tryPost(doc []byte) (Reply, error) {
	return r.try(http.MethodPost, r.publish+"/publish/mgmt", nil, bytes.NewReader(doc))
}

// mustPublish publishes a tree that has to be taken.
func (r *Relay) mustPublish(members ...[]byte) Reply {
	a := r.post(document(members...))
	if a.Status != http.StatusOK || a.word() != "accepted" {
		r.Fatalf("a good tree is answered %s: it must be 200 with result accepted", a)
	}
	return a
}

// wants requires status and word of an answer.
func (r *Relay) wants(what string, a Reply, status int, word string) {
	if a.Status != status || word != "" && a.word() != word {
		r.Fatalf("%s is answered %s: it must be %d %s", what, a, status, word)
	}
}

// serves requires that a node is served these members, byte for byte.
func (r *Relay) serves(node string, members ...[]byte) {
	a := r.fetch(node, "")
	r.wants("a fetch of "+node, a, http.StatusOK, "")
	r.holds(a, members...)
}

// holds requires that an answer has these members, byte for byte.
func (r *Relay) holds(a Reply, members ...[]byte) {
	got, err := envelope.ParseSet([]byte(a.Body))
	if err != nil {
		r.Fatalf("what it serves is no set document: %v: %s", err, trial.Quote(a.Body))
	}
	if len(got) != len(members) {
		r.Fatalf("it serves %d members of the %d that were published", len(got), len(members))
	}
	for _, want := range members {
		if !containsText(got, want) {
			r.Fatalf("it does not serve %s byte for byte, but %s", trial.Quote(string(want)), trial.Quote(a.Body))
		}
	}
}

func containsText(texts [][]byte, want []byte) bool {
	for _, text := range texts {
		if bytes.Equal(text, want) {
			return true
		}
	}
	return false
}

// state is the path of a file of the coordinator's state.
func (r *Relay) state(name string) string { return r.host.State() + string(os.PathSeparator) + name }
