package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay"
	"github.com/florete/flor/relay/client"
)

// A server of net/http keeps a connection that it ends for half a second more, so
// that the client reads the answer; Close does not wait for that.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func newClient(t *testing.T, opts client.Options) *client.Client {
	t.Helper()
	c, err := client.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answering is a server that gives one answer to everything. The context of a
// request ends with the test at the latest: net/http notices a client that left
// only once the body is read.
func answering(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(t.Context(), cancel)()
		handler(w, req.WithContext(ctx))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func canned(status int, contentType, body string, extra ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		for i := 0; i+1 < len(extra); i += 2 {
			w.Header().Set(extra[i], extra[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	jsonType = "application/json"
	setDoc   = "{\"artifacts\":[\n{\"node\":\"alpha\"},\n{\"node\":\"alpha\",\"n\":2}\n]}\n"
)

// CRD-1, CRD-9: the rows of the sync listener that are values.
func TestFetchTellsTheRowsApart(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		handler http.HandlerFunc
		want    client.Reply
	}{
		"a set": {canned(200, jsonType, setDoc, "Flor-Set-Version", "42", "Flor-Wait", "60"),
			client.Reply{Status: client.Set, Document: []byte(setDoc), Version: 42, Waits: true,
				Members: [][]byte{[]byte(`{"node":"alpha"}`), []byte(`{"node":"alpha","n":2}`)}}},
		"a set of a coordinator that says no more": {canned(200, jsonType+"; charset=utf-8", setDoc),
			client.Reply{Status: client.Set, Document: []byte(setDoc),
				Members: [][]byte{[]byte(`{"node":"alpha"}`), []byte(`{"node":"alpha","n":2}`)}}},
		"not modified":      {canned(304, "", "", "Flor-Wait", "60"), client.Reply{Status: client.NotModified, Waits: true}},
		"an unknown node":   {canned(404, jsonType, `{"error":"unknown_node"}`), client.Reply{Status: client.UnknownNode}},
		"nothing published": {canned(503, jsonType, `{"error":"not_published"}`, "Retry-After", "5"), client.Reply{Status: client.NotPublished, RetryAfter: 5 * time.Second}},
		"a time to stay away that is absurd": {canned(503, jsonType, `{"error":"not_published"}`, "Retry-After", "4000000000"),
			client.Reply{Status: client.NotPublished, RetryAfter: time.Hour}},
		"a date to stay away until": {canned(503, jsonType, `{"error":"not_published"}`, "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"),
			client.Reply{Status: client.NotPublished}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newClient(t, client.Options{BaseURL: answering(t, c.handler)}).Fetch(t.Context(), "alpha", 7, 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fault is what an error is, as far as a caller can tell.
type fault struct {
	Type, Code string
	Transient  bool
}

func faultOf(err error) fault {
	var typed interface{ Code() string }
	if !errors.As(err, &typed) {
		return fault{Type: fmt.Sprintf("%T", err)}
	}
	_, transient := client.Transient(err)
	return fault{Type: fmt.Sprintf("%T", typed), Code: typed.Code(), Transient: transient}
}

const html = "<!DOCTYPE html>\n<title>\x1b[31mLogin</title>" + "………………………………………………………………………………"

// CRD-9: everything else the sync listener, or whatever stands in its place, may
// answer, with the words that a person reads.
func TestFetchRefusesWhatIsNoRow(t *testing.T) {
	t.Parallel()
	unexpected := fault{"*client.Unexpected", "FL3203", false}
	cases := map[string]struct {
		handler http.HandlerFunc
		have    uint64
		want    fault
		says    []string
	}{
		"HTML with 200":                       {canned(200, "text/html", html), 7, unexpected, []string{`"text/html"`, `<!DOCTYPE html>\n<title>\x1b[31mLogin`, "check that the address is a coordinator's"}},
		"HTML that claims to be JSON":         {canned(200, jsonType, html), 7, unexpected, []string{"not a set document", "DOCTYPE"}},
		"HTML with 404":                       {canned(404, "text/html", "<h1>nginx</h1>"), 7, unexpected, []string{"404 Not Found", "nginx"}},
		"JSON that is no set":                 {canned(200, jsonType, `{"status":"ok"}`), 7, unexpected, []string{`{\"status\":\"ok\"}`}},
		"a set without members":               {canned(200, jsonType, `{"artifacts":[]}`), 7, unexpected, []string{"not a set document"}},
		"an empty body":                       {canned(200, jsonType, ""), 7, unexpected, []string{"not a set document"}},
		"not modified, though nothing is had": {canned(304, "", ""), 0, unexpected, []string{"no version was named"}},
		"404 for another reason":              {canned(404, jsonType, `{"error":"not_found"}`), 7, unexpected, []string{"not_found"}},
		"a redirect":                          {canned(302, "", "", "Location", "/elsewhere"), 7, unexpected, []string{"302 Found"}},
		"a server's own error":                {canned(500, "text/plain", "boom"), 7, unexpected, []string{"500", "boom"}},
		"a bad request": {canned(400, jsonType, `{"error":"bad_request","reason":"have: \u001b[2J"}`), 7,
			fault{"*client.BadRequest", "FL3204", false}, []string{`have: \x1b[2J`}},
		"draining": {canned(503, jsonType, `{"error":"draining"}`, "Retry-After", "1"), 7,
			fault{"*client.Unavailable", "FL3205", true}, []string{"draining", "try again"}},
		"a set that announces more than the limit": {canned(200, jsonType, "", "Content-Length", "67108865"), 7,
			fault{"*client.TooLarge", "FL3208", false}, []string{"67108865", "67108864"}},
		"a set that does not end at the limit": {endless, 7,
			fault{"*client.TooLarge", "FL3208", false}, []string{"67108864"}},
		"a set that ends early": {canned(200, jsonType, setDoc[:20], "Content-Length", "1000"), 7,
			fault{"*client.Unreachable", "FL3201", true}, []string{"unexpected EOF"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := newClient(t, client.Options{BaseURL: answering(t, c.handler)}).Fetch(t.Context(), "alpha", c.have, 0)
			checkFault(t, err, c.want, c.says)
			if diff := cmp.Diff(client.Reply{}, reply); diff != "" {
				t.Errorf("a value beside the error: %s", diff)
			}
		})
	}
}

func checkFault(t *testing.T, err error, want fault, says []string) {
	t.Helper()
	if diff := cmp.Diff(want, faultOf(err)); diff != "" {
		t.Fatalf("%v: %s", err, diff)
	}
	for _, word := range append(says, want.Code) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("%q has control characters", err)
	}
}

// endless sends spaces until the client leaves.
func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", jsonType)
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for {
		if _, err := w.Write(blank); err != nil {
			return
		}
	}
}

// CRD-2 to CRD-4, CRD-9: the rows of the publish listener.
func TestPublishTellsTheRowsApart(t *testing.T) {
	t.Parallel()
	unexpected := fault{"*client.Unexpected", "FL3203", false}
	cases := map[string]struct {
		handler http.HandlerFunc
		want    fault
		says    []string
	}{
		"malformed": {canned(400, jsonType, `{"error":"malformed_tree","reason":"FL3105 no-root: alpha"}`),
			fault{"*client.Malformed", "FL3206", false}, []string{"no-root: alpha", "nothing was published"}},
		"a conflict": {canned(409, jsonType, `{"error":"version_conflict","nodes":[{"node":"a","stored":6,"offered":5},{"node":"b","stored":6,"offered":6},{"node":"c","stored":1,"offered":9999}]}`),
			fault{"*client.VersionConflict", "FL3207", false}, []string{"3 of the nodes", "a (stored 6, offered 5: older)", "b (stored 6, offered 6: same version, other bytes)", "c (stored 1, offered 9999: too far ahead)", "compile"}},
		"a conflict of many": {canned(409, jsonType, `{"error":"version_conflict","nodes":[`+strings.TrimSuffix(strings.Repeat(`{"node":"n","stored":2,"offered":1},`, 9), ",")+`]}`),
			fault{"*client.VersionConflict", "FL3207", false}, []string{"and 4 more"}},
		"a conflict about nothing": {canned(409, jsonType, `{"error":"version_conflict"}`), unexpected, []string{"names no node"}},
		"too large": {canned(413, jsonType, `{"error":"too_large","reason":"at most 5 bytes"}`),
			fault{"*client.TooLarge", "FL3208", false}, []string{"at most 5 bytes"}},
		"not stored": {canned(507, jsonType, `{"error":"not_stored","reason":"no space left"}`),
			fault{"*client.NotStored", "FL3209", false}, []string{"no space left", "nothing changed", "make room"}},
		"an unknown outcome": {canned(500, jsonType, `{"error":"outcome_unknown","reason":"sync failed"}`),
			fault{"*client.OutcomeUnknown", "FL3210", true}, []string{"sync failed", "publish the same tree again"}},
		"busy": {canned(503, jsonType, `{"error":"busy","reason":"x"}`, "Retry-After", "5"),
			fault{"*client.Unavailable", "FL3205", true}, []string{"busy", "try again"}},
		"too slow": {canned(408, jsonType, `{"error":"too_slow","reason":"x"}`),
			fault{"*client.Unavailable", "FL3205", true}, nil},
		"the other listener":  {canned(404, jsonType, `{"error":"not_found"}`), unexpected, []string{"not_found"}},
		"HTML":                {canned(200, "text/html", html), unexpected, []string{"DOCTYPE"}},
		"JSON of another API": {canned(200, jsonType, `{"result":"fine"}`), unexpected, []string{"not the outcome"}},
		"a refusal in HTML":   {canned(403, "text/html", "<b>no</b>"), unexpected, []string{"403 Forbidden"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := strings.NewReader(setDoc)
			_, err := newClient(t, client.Options{BaseURL: answering(t, c.handler)}).Publish(t.Context(), doc, int64(doc.Len()))
			checkFault(t, err, c.want, c.says)
		})
	}
}

func TestPublishWithoutADocumentIsRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, client.Options{BaseURL: "http://127.0.0.1:1"})
	if _, err := c.Publish(t.Context(), nil, 0); err == nil || !strings.Contains(err.Error(), "doc is nil") {
		t.Errorf("published nothing: %v", err)
	}
}

// CRD-9: the names in an outcome are a relay's words, and are printed to terminals.
func TestNamesOfAnOutcomeAreHarmless(t *testing.T) {
	t.Parallel()
	base := answering(t, canned(200, jsonType, `{"result":"accepted","nodes":2,"changed":["alpha","\u001b[2J"]}`))
	result, err := newClient(t, client.Options{BaseURL: base}).Publish(t.Context(), strings.NewReader(setDoc), int64(len(setDoc)))
	if diff := cmp.Diff([]string{"alpha", `\x1b[2J`}, result.Changed); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

// CRD-9: what the client sends, and what it does not.
func TestRequestsHaveTheirForm(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // not parallel: the environment is shared
	var got []string
	base := answering(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got = append(got, fmt.Sprintf("%s %s %q encoding=%q length=%d", req.Method, req.RequestURI, body, req.Header.Get("Accept-Encoding"), req.ContentLength))
		canned(503, jsonType, `{"error":"not_published"}`)(w, req)
	})
	c := newClient(t, client.Options{BaseURL: base + "/"})
	for _, ask := range []struct {
		have uint64
		wait time.Duration
	}{{0, 0}, {42, 0}, {42, 55 * time.Second}, {0, 1500 * time.Millisecond}} {
		if _, err := c.Fetch(t.Context(), "alpha", ask.have, ask.wait); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = c.Publish(t.Context(), strings.NewReader("{}"), 2)
	_, _ = c.Publish(t.Context(), io.MultiReader(strings.NewReader("{}")), -1)
	want := []string{
		`GET /artifact/mgmt/alpha "" encoding="" length=0`,
		`GET /artifact/mgmt/alpha?have=42 "" encoding="" length=0`,
		`GET /artifact/mgmt/alpha?have=42&wait=55 "" encoding="" length=0`,
		`GET /artifact/mgmt/alpha?wait=1 "" encoding="" length=0`,
		`POST /publish/mgmt "{}" encoding="" length=2`,
		`POST /publish/mgmt "{}" encoding="" length=-1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// CRD-9: what is wrong on this side is refused on this side.
func TestWhatCannotBeAskedIsRefusedHere(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]string{
		"TLS": "https://x", "a path": "http://x/y", "a query": "http://x?y", "a user": "http://u@x",
		"no host": "http://", "no scheme": "x:80", "nothing": "", "no URL": "http://[",
	} {
		if _, err := client.New(client.Options{BaseURL: base}); err == nil {
			t.Errorf("%s: %q was taken", name, base)
		}
	}
	if _, err := client.New(client.Options{BaseURL: "http://x", SOCKS5: "nohost"}); err == nil {
		t.Error("a SOCKS5 address without a port was taken")
	}
	c := newClient(t, client.Options{BaseURL: answering(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })})
	_, err := c.Fetch(t.Context(), "../alpha", 0, 0)
	checkFault(t, err, fault{"*client.BadRequest", "FL3204", false}, []string{"../alpha"})
	_, err = c.Publish(t.Context(), strings.NewReader(""), envelope.MaxSetPublish+1)
	checkFault(t, err, fault{"*client.TooLarge", "FL3208", false}, []string{"268435457", "268435456"})
}

// AGT-4.1, CRD-9: the header may take the wait and a little more, a body may
// stand still for a while, and no more.
func TestCallsThatStandStillAreEnded(t *testing.T) {
	t.Parallel()
	silent := func(w http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	halfway := func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, setDoc[:10])
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	}
	deaf := func(w http.ResponseWriter, req *http.Request) {
		_, _ = req.Body.Read(make([]byte, 1))
		<-req.Context().Done()
	}
	// Only the limit that a case is about is short: on a busy machine any would be met.
	const short = 50 * time.Millisecond
	answer, stall, verdict := client.Options{Answer: short}, client.Options{Stall: short}, client.Options{Verdict: short}
	fetch := func(c *client.Client) error { _, err := c.Fetch(t.Context(), "alpha", 1, 0); return err }
	cases := map[string]struct {
		opts    client.Options
		handler http.HandlerFunc
		call    func(*client.Client) error
		says    string
	}{
		"no header":           {answer, silent, fetch, "waiting for the answer: nothing moved for 50ms"},
		"half a set":          {stall, halfway, fetch, "reading the answer: nothing moved for 50ms"},
		"no verdict":          {verdict, silent, func(c *client.Client) error { _, err := c.Publish(t.Context(), strings.NewReader("{}"), 2); return err }, "waiting for the verdict: nothing moved for 50ms"},
		"a tree nobody takes": {stall, deaf, func(c *client.Client) error { _, err := c.Publish(t.Context(), &blank{}, 64<<20); return err }, "nothing moved for 50ms"},
		"a tree that is not fed": {stall, deaf, func(c *client.Client) error {
			r, w := io.Pipe()
			defer w.Close()
			_, err := c.Publish(t.Context(), r, -1)
			return err
		}, "sending the tree: nothing moved for 50ms"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := c.opts
			opts.BaseURL = answering(t, c.handler)
			err := c.call(newClient(t, opts))
			checkFault(t, err, fault{"*client.Unreachable", "FL3201", true}, []string{c.says})
		})
	}
}

type blank struct{}

func (*blank) Read(p []byte) (int, error) { return len(p), nil }

// CRD-9: the caller's own cancellation is his, and no fault of the coordinator.
func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	c := newClient(t, client.Options{BaseURL: answering(t, func(_ http.ResponseWriter, req *http.Request) {
		close(asked)
		<-req.Context().Done()
	})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := c.Fetch(ctx, "alpha", 1, time.Minute)
	if _, transient := client.Transient(err); !errors.Is(err, context.Canceled) || transient {
		t.Errorf("%v, transient %v", err, transient)
	}
}

// CRD-9: nobody there.
func TestNobodyThereIsUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	unreachable := fault{"*client.Unreachable", "FL3201", true}
	_, err = newClient(t, client.Options{BaseURL: "http://" + address}).Fetch(t.Context(), "alpha", 1, 0)
	checkFault(t, err, unreachable, []string{address, "refused"})
	_, err = newClient(t, client.Options{BaseURL: "http://coordinator.service.rete", SOCKS5: address}).Fetch(t.Context(), "alpha", 1, 0)
	checkFault(t, err, unreachable, []string{"coordinator.service.rete", "dialling the SOCKS5 proxy", address})
}

// CRD-9 against the coordinator itself: publish, fetch, conflict, watch.
func TestClientAndCoordinatorAgree(t *testing.T) {
	t.Parallel()
	r, err := relay.New(t.Context(), new(relay.Memory), relay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	readers := newClient(t, client.Options{BaseURL: answering(t, r.SyncHandler().ServeHTTP)})
	publishers := newClient(t, client.Options{BaseURL: answering(t, r.PublishHandler().ServeHTTP)})
	tree := func(version int) string {
		return fmt.Sprintf("{\"artifacts\":[\n{\"schema_version\":\"1.0\",\"plane\":\"mgmt\",\"version\":%d,\"node\":\"alpha\",\"name\":\"agent\"}\n]}\n", version)
	}
	publish := func(version int) (client.Result, error) {
		return publishers.Publish(t.Context(), strings.NewReader(tree(version)), int64(len(tree(version))))
	}
	if reply, err := readers.Fetch(t.Context(), "alpha", 0, 0); err != nil || reply.Status != client.NotPublished {
		t.Errorf("%v, %v", reply, err)
	}
	result, err := publish(2)
	if diff := cmp.Diff(client.Result{Result: "accepted", Nodes: 1, Changed: []string{"alpha"}}, result); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	reply, err := readers.Fetch(t.Context(), "alpha", 1, 0)
	if err != nil || string(reply.Document) != tree(2) || reply.Version != 2 || !reply.Waits {
		t.Errorf("%+v, %v", reply, err)
	}
	_, err = publish(1)
	checkFault(t, err, fault{"*client.VersionConflict", "FL3207", false}, []string{"alpha (stored 2, offered 1: older)"})
	watch := make(chan client.Reply, 1)
	go func() {
		reply, err := readers.Fetch(t.Context(), "alpha", 2, time.Minute)
		if err != nil {
			t.Error(err)
		}
		watch <- reply
	}()
	if _, err := publish(3); err != nil {
		t.Error(err)
	}
	if reply := <-watch; reply.Version != 3 {
		t.Errorf("the watch gave %+v", reply)
	}
}

// CRD-9: a header has an end, too.
func TestAHeaderIsBounded(t *testing.T) {
	t.Parallel()
	base := answering(t, canned(304, "", "", "X-Filler", strings.Repeat("x", 65<<10)))
	_, err := newClient(t, client.Options{BaseURL: base}).Fetch(t.Context(), "alpha", 7, 0)
	checkFault(t, err, fault{"*client.Unreachable", "FL3201", true}, []string{"headers exceeded 65536 bytes"})
}

// A coordinator that refuses a large body before it has read it is heard.
func TestAnEarlyRefusalIsHeard(t *testing.T) {
	t.Parallel()
	base := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, `{"error":"too_large","reason":"at most one byte"}`)
	})
	_, err := newClient(t, client.Options{BaseURL: base}).Publish(t.Context(), &blank{}, 200<<20)
	checkFault(t, err, fault{"*client.TooLarge", "FL3208", false}, []string{"at most one byte"})
}

func TestEveryCodeIsOfTheBlock(t *testing.T) {
	t.Parallel()
	for _, code := range slices.Sorted(maps.Keys(client.Codes())) {
		if !strings.HasPrefix(code, "FL32") {
			t.Errorf("%s is of another block", code)
		}
	}
}
