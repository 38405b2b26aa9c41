package relay_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay"
)

// CRD-1 to CRD-4, CRD-8: every row of the publish listener's table, one after
// another on one coordinator, with exact bodies and headers.
func TestEveryRowOfThePublishListener(t *testing.T) {
	t.Parallel()
	first := document(nodeSet("beta", 7, "b"), nodeSet("alpha", 5, "a"))
	steps := []struct {
		name           string
		method, target string
		doc            []byte
		status         int
		body           string
		extra          map[string]string
	}{
		{"the first tree", "POST", "/publish/mgmt", first,
			200, `{"result":"accepted","nodes":2,"changed":["alpha","beta"]}`, nil},
		{"the same tree again", "POST", "/publish/mgmt", first,
			200, `{"result":"unchanged","nodes":2,"changed":[]}`, nil},
		{"one altered, one added, one removed", "POST", "/publish/mgmt", document(nodeSet("alpha", 6, "a"), nodeSet("gamma", 1, "c")),
			200, `{"result":"accepted","nodes":2,"changed":["alpha","beta","gamma"]}`, nil},
		{"a regression beside equal bytes", "POST", "/publish/mgmt", document(nodeSet("alpha", 5, "a"), nodeSet("gamma", 1, "c")),
			409, `{"error":"version_conflict","nodes":[{"node":"alpha","stored":6,"offered":5}]}`, nil},
		{"an equal version with other bytes", "POST", "/publish/mgmt", document(nodeSet("alpha", 6, "a"), nodeSet("gamma", 1, "x")),
			409, `{"error":"version_conflict","nodes":[{"node":"gamma","stored":1,"offered":1}]}`, nil},
		{"a departed node below its floor, and a jump", "POST", "/publish/mgmt", document(nodeSet("beta", 6, "b"), nodeSet("alpha", 2000, "a")),
			409, `{"error":"version_conflict","nodes":[{"node":"alpha","stored":6,"offered":2000},{"node":"beta","stored":7,"offered":6}]}`, nil},
		{"a malformed tree", "POST", "/publish/mgmt", document([][]byte{artifact("alpha", "flor", 9, "{}")}),
			400, `{"error":"malformed_tree","reason":"FL3105 no-root: alpha: no artifact is named \"agent\""}`, nil},
		{"a tree without artifacts", "POST", "/publish/mgmt", document(),
			400, `{"error":"malformed_tree","reason":"FL3103 empty-tree: a tree without artifacts would unpublish every node"}`, nil},
		{"an unknown path", "POST", "/publish/ctrl", first, 404, `{"error":"not_found"}`, nil},
		{"the other listener's path", "GET", "/artifact/mgmt/alpha", nil, 404, `{"error":"not_found"}`, nil},
		{"a wrong method", "GET", "/publish/mgmt", nil,
			405, `{"error":"method_not_allowed"}`, map[string]string{"Allow": "POST"}},
		{"none of it changed a thing", "POST", "/publish/mgmt", document(nodeSet("alpha", 6, "a"), nodeSet("gamma", 1, "c")),
			200, `{"result":"unchanged","nodes":2,"changed":[]}`, nil},
	}
	_, publish := newHarness(t, new(relay.Memory)).listen()
	for _, step := range steps {
		got := request(t, step.method, publish+step.target, bytes.NewReader(step.doc))
		if diff := cmp.Diff(answered(step.status, step.body, step.extra), got); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}

const tooLarge = `{"error":"too_large","reason":"FL3112 tree-too-large: a published tree has at most 268435456 bytes: split the rete"}`

// CRD-8: what announces too much is refused before a byte of it is read.
func TestABodyThatAnnouncesTooMuchIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	_, publish := newHarness(t, new(relay.Memory)).listen()
	conn, err := net.Dial("tcp", strings.TrimPrefix(publish, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", envelope.MaxSetPublish+1)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 413 || string(body) != tooLarge {
		t.Errorf("%d %s, %v", resp.StatusCode, body, err)
	}
}

// CRD-4: an upload that is cut off changes nothing.
func TestAnInterruptedUploadChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t, new(relay.Memory))
	doc := document(nodeSet("alpha", 1, "a"))
	w := &recorder{header: http.Header{}}
	req, err := http.NewRequest("POST", "/publish/mgmt", io.MultiReader(bytes.NewReader(doc[:len(doc)-3]), broken{}))
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = -1
	h.publish.ServeHTTP(w, req)
	if w.status != 400 || w.body.String() != `{"error":"malformed_tree","reason":"the body ended early: publish again"}` {
		t.Errorf("%d %s", w.status, w.body.String())
	}
	if h.Published() != nil {
		t.Error("half an upload was published")
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// refusing is a storage whose swaps fail.
type refusing struct {
	relay.Memory
	err error
}

func (r *refusing) Swap(context.Context, relay.Revision, relay.State) (relay.Revision, error) {
	return 0, r.err
}

// CRD-4: what cannot be stored is not visible, and the relay goes on.
func TestATreeThatCannotBeStoredIsNotVisible(t *testing.T) {
	t.Parallel()
	h := newHarness(t, &refusing{err: errors.New("no space left on device")})
	status, body := h.post(document(nodeSet("alpha", 1, "a")))
	if want := `{"error":"not_stored","reason":"FL3121 not-stored: no space left on device"}`; status != 507 || body != want {
		t.Errorf("%d %s", status, body)
	}
	if h.Published() != nil {
		t.Error("what was not stored is served")
	}
	if h.Err() != nil {
		t.Errorf("a full disk is no reason to end: %v", h.Err())
	}
}

// SET-2, CRD-4: where nobody knows what is on disk, the relay says so, takes no
// more and asks to be restarted.
func TestAnUnknownOutcomeEndsTheRelay(t *testing.T) {
	t.Parallel()
	h := newHarness(t, &refusing{err: &relay.UnknownOutcome{Err: errors.New("sync failed")}})
	for range 2 {
		status, body := h.post(document(nodeSet("alpha", 1, "a")))
		if want := `{"error":"outcome_unknown","reason":"FL3122 outcome-unknown: sync failed"}`; status != 500 || body != want {
			t.Errorf("%d %s", status, body)
		}
	}
	select {
	case <-h.Failed():
	default:
		t.Error("Failed is not closed")
	}
	if h.Err() == nil || h.Published() != nil {
		t.Errorf("Err %v, published %v", h.Err(), h.Published())
	}
}

// lost is a storage whose first swap has an unknown outcome.
type lost struct {
	relay.Memory
	swaps int
}

func (l *lost) Swap(ctx context.Context, old relay.Revision, next relay.State) (relay.Revision, error) {
	if l.swaps++; l.swaps == 1 {
		return 0, &relay.UnknownOutcome{Err: errors.New("sync failed")}
	}
	return l.Memory.Swap(ctx, old, next)
}

// SET-2, CRD-4: once nobody knows what is on disk, nothing is written over it.
func TestNothingIsStoredAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	storage := new(lost)
	h := newHarness(t, storage)
	for range 2 {
		if status, body := h.post(document(nodeSet("alpha", 1, "a"))); status != 500 {
			t.Errorf("%d %s", status, body)
		}
	}
	if storage.swaps != 1 || h.Published() != nil {
		t.Errorf("%d swaps, published %v", storage.swaps, h.Published())
	}
}

// obeying is a storage that gives up when the context of a swap has ended.
type obeying struct{ relay.Memory }

func (o *obeying) Swap(ctx context.Context, old relay.Revision, next relay.State) (relay.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return o.Memory.Swap(ctx, old, next)
}

// CRD-4: a publish whose body has come is finished, whether its publisher stays to
// hear of it or not.
func TestAPublishOutlivesItsPublisher(t *testing.T) {
	t.Parallel()
	h := newHarness(t, new(obeying))
	ctx, leave := context.WithCancel(t.Context())
	leave()
	doc := document(nodeSet("alpha", 1, "a"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/publish/mgmt", bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	w := &recorder{header: http.Header{}}
	h.publish.ServeHTTP(w, req)
	if w.status != 200 || h.Published().Version("alpha") != 1 {
		t.Errorf("%d %s", w.status, w.body.String())
	}
}

// OBS-6: requests are counted by operation and result.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	r, err := relay.New(context.Background(), new(relay.Memory), relay.Options{Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{tb: t, Relay: r, sync: r.SyncHandler(), publish: r.PublishHandler()}
	h.get(t.Context(), "/artifact/mgmt/alpha")
	h.mustPost(document(nodeSet("alpha", 1, "a")))
	h.mustPost(document(nodeSet("alpha", 1, "a")))
	h.post(nil)
	h.get(t.Context(), "/artifact/mgmt/alpha")
	h.get(t.Context(), "/artifact/mgmt/alpha?have=1")
	h.get(t.Context(), "/artifact/mgmt/alpha?have=1")
	want := `
# HELP flor_coordinator_held_answers Requests that are being held until there is something new.
# TYPE flor_coordinator_held_answers gauge
flor_coordinator_held_answers 0
# HELP flor_coordinator_requests_total Requests answered, by operation and result.
# TYPE flor_coordinator_requests_total counter
flor_coordinator_requests_total{operation="publish",result="accepted"} 1
flor_coordinator_requests_total{operation="publish",result="malformed_tree"} 1
flor_coordinator_requests_total{operation="publish",result="unchanged"} 1
flor_coordinator_requests_total{operation="sync",result="not_modified"} 2
flor_coordinator_requests_total{operation="sync",result="not_published"} 1
flor_coordinator_requests_total{operation="sync",result="set"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if _, err := relay.New(context.Background(), new(relay.Memory), relay.Options{Registerer: registry}); err == nil {
		t.Error("two relays count into one counter")
	}
}

// CRD-2: whatever is posted, the relay answers with a row of the table, and what
// it takes can be fetched by every node of it.
func FuzzPublish(f *testing.F) {
	f.Add(document(nodeSet("alpha", 5, "a")))
	f.Add(document(nodeSet("alpha", 5, "a"), nodeSet("beta", 1, "b")))
	f.Add(document(nodeSet("alpha", 5, "a"), nodeSet("Alpha", 5, "b")))
	f.Add([]byte(`{"artifacts":[]}`))
	f.Add([]byte(`{"artifacts":[{"plane":"mgmt","version":1e0,"node":"a","name":"agent"}]}`))
	rows := map[int]bool{200: true, 400: true, 409: true}
	f.Fuzz(func(t *testing.T, doc []byte) {
		h := newHarness(t, new(relay.Memory))
		h.mustPost(document(nodeSet("alpha", 4, "a")))
		status, body := h.post(doc)
		if !rows[status] || (status == 400) == isSound(doc) {
			t.Fatalf("%d %s; sound: %v", status, body, isSound(doc))
		}
		for _, node := range h.Published().Nodes() {
			if got, _ := h.get(t.Context(), "/artifact/mgmt/"+node); got != 200 {
				t.Errorf("%s: %d", node, got)
			}
			if _, err := envelope.ParseSet(h.Published().SetDocument(node)); err != nil {
				t.Errorf("%s: %v", node, err)
			}
		}
		if again, body := h.post(h.Published().Document()); again != 200 || !strings.Contains(body, "unchanged") {
			t.Errorf("published again: %d %s", again, body)
		}
	})
}

// isSound is the structural gate in the plainest words (CRD-2), for a document
// that is below every limit.
func isSound(doc []byte) bool {
	texts, err := envelope.ParseSet(doc)
	nodes, names, roots := map[string]envelope.Core{}, map[string]bool{}, map[string]bool{}
	for _, text := range texts {
		core, probed := envelope.Probe(text)
		node, name := envelope.FoldName(core.Node), envelope.FoldName(core.Name)
		first, known := nodes[node]
		if probed != nil || core.Plane != envelope.Mgmt || names[node+"/"+name] ||
			known && (first.Node != core.Node || first.Version != core.Version) {
			return false
		}
		nodes[node], names[node+"/"+name] = core, true
		roots[node] = roots[node] || core.Name == envelope.AgentName
	}
	for node := range nodes {
		if !roots[node] {
			return false
		}
	}
	return err == nil
}
