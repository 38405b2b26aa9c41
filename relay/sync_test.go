package relay_test

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/relay"
)

// answered is an answer with the headers that every answer of a listener has.
func answered(status int, body string, extra map[string]string) reply {
	header := map[string]string{"Cache-Control": "no-store"}
	if body != "" {
		header["Content-Type"] = "application/json"
		header["Content-Length"] = strconv.Itoa(len(body))
	}
	maps.Copy(header, extra)
	return reply{Status: status, Header: header, Body: body}
}

// CRD-1, CRD-8: every row of the sync listener's table, on a real socket, with
// its exact body and headers.
func TestEveryRowOfTheSyncListener(t *testing.T) {
	t.Parallel()
	alpha := string(document(nodeSet("alpha", 42, "a")))
	badRequest := func(reason string) string {
		return `{"error":"bad_request","reason":"FL3001 bad-query: ` + reason + `"}`
	}
	unsafe := func(name string) string {
		return "node: " + strings.ReplaceAll(envelope.SafeName(name).Error(), `"`, `\"`)
	}
	const have, wait = "have: want one number from 1 to 9007199254740991", "wait: want one number from 0 to 4294967296"
	cases := map[string]struct {
		method, target string
		status         int
		body           string
		extra          map[string]string
	}{
		"the set of a node":                    {"GET", "/artifact/mgmt/alpha", 200, alpha, map[string]string{"Flor-Set-Version": "42"}},
		"the set for whom has an older one":    {"GET", "/artifact/mgmt/alpha?have=41", 200, alpha, map[string]string{"Flor-Set-Version": "42"}},
		"the set for whom has a newer one":     {"GET", "/artifact/mgmt/alpha?have=43", 200, alpha, map[string]string{"Flor-Set-Version": "42"}},
		"at once though it might wait":         {"GET", "/artifact/mgmt/alpha?have=41&wait=60", 200, alpha, map[string]string{"Flor-Set-Version": "42"}},
		"not modified":                         {"GET", "/artifact/mgmt/alpha?have=42", 304, "", nil},
		"not modified, wait of zero":           {"GET", "/artifact/mgmt/alpha?have=42&wait=0", 304, "", nil},
		"a parameter nobody knows":             {"GET", "/artifact/mgmt/alpha?have=42&novel=1", 304, "", nil},
		"a node that is not in the tree":       {"GET", "/artifact/mgmt/gamma", 404, `{"error":"unknown_node"}`, nil},
		"have does not hide an unknown node":   {"GET", "/artifact/mgmt/gamma?have=42", 404, `{"error":"unknown_node"}`, nil},
		"a name in another case is not served": {"GET", "/artifact/mgmt/ALPHA", 404, `{"error":"unknown_node"}`, nil},
		"an escaped name is the same name":     {"GET", "/artifact/mgmt/%61lpha?have=42", 304, "", nil},
		"have that is no number":               {"GET", "/artifact/mgmt/alpha?have=x", 400, badRequest(have), nil},
		"have of zero":                         {"GET", "/artifact/mgmt/alpha?have=0", 400, badRequest(have), nil},
		"have that is empty":                   {"GET", "/artifact/mgmt/alpha?have=", 400, badRequest(have), nil},
		"have with a sign":                     {"GET", "/artifact/mgmt/alpha?have=%2B1", 400, badRequest(have), nil},
		"have with a leading zero":             {"GET", "/artifact/mgmt/alpha?have=042", 400, badRequest(have), nil},
		"have over the largest version":        {"GET", "/artifact/mgmt/alpha?have=9007199254740992", 400, badRequest(have), nil},
		"have twice":                           {"GET", "/artifact/mgmt/alpha?have=1&have=2", 400, badRequest(have), nil},
		"a negative wait":                      {"GET", "/artifact/mgmt/alpha?wait=-1", 400, badRequest(wait), nil},
		"a wait with a unit":                   {"GET", "/artifact/mgmt/alpha?wait=5s", 400, badRequest(wait), nil},
		"a query that is not escaped properly": {"GET", "/artifact/mgmt/alpha?have=%zz", 400, badRequest("the query is not escaped properly"), nil},
		"a name that is a path":                {"GET", "/artifact/mgmt/..%2Falpha", 400, badRequest(unsafe("../alpha")), nil},
		"no name":                              {"GET", "/artifact/mgmt/", 400, badRequest(unsafe("")), nil},
		"an unknown path":                      {"GET", "/", 404, `{"error":"not_found"}`, nil},
		"a path below a node":                  {"GET", "/artifact/mgmt/alpha/flor", 404, `{"error":"not_found"}`, nil},
		"a path reserved for later":            {"GET", "/artifact/ctrl/alpha/x", 404, `{"error":"not_found"}`, nil},
		"the other listener's path":            {"POST", "/publish/mgmt", 404, `{"error":"not_found"}`, nil},
		"a path that wants cleaning":           {"GET", "//artifact/mgmt/alpha", 404, `{"error":"not_found"}`, nil},
		"a wrong method":                       {"POST", "/artifact/mgmt/alpha", 405, `{"error":"method_not_allowed"}`, map[string]string{"Allow": "GET, HEAD"}},
		"a method nobody knows":                {"BREW", "/artifact/mgmt/alpha", 405, `{"error":"method_not_allowed"}`, map[string]string{"Allow": "GET, HEAD"}},
		"a wrong method on no path":            {"DELETE", "/x", 404, `{"error":"not_found"}`, nil},
		"a wrong method on bad input":          {"PUT", "/artifact/mgmt/alpha?have=x", 405, `{"error":"method_not_allowed"}`, map[string]string{"Allow": "GET, HEAD"}},
	}
	h := newHarness(t, new(relay.Memory))
	h.mustPost(document(nodeSet("alpha", 42, "a"), nodeSet("beta", 7, "b")))
	sync, _ := h.listen()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := answered(c.status, c.body, c.extra)
			want.Header["Flor-Wait"] = "60"
			if diff := cmp.Diff(want, request(t, c.method, sync+c.target, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// CRD-1: before the first publish.
func TestAFreshCoordinatorSaysThatNothingIsPublished(t *testing.T) {
	t.Parallel()
	sync, _ := newHarness(t, new(relay.Memory)).listen()
	want := answered(503, `{"error":"not_published"}`, map[string]string{"Retry-After": "5", "Flor-Wait": "60"})
	if diff := cmp.Diff(want, request(t, "GET", sync+"/artifact/mgmt/alpha?have=3", nil)); diff != "" {
		t.Error(diff)
	}
}

// CRD-8: HEAD is GET without its body.
func TestHeadHasTheHeadersOfGet(t *testing.T) {
	t.Parallel()
	h := newHarness(t, new(relay.Memory))
	h.mustPost(document(nodeSet("alpha", 42, "a")))
	sync, _ := h.listen()
	for _, target := range []string{"/artifact/mgmt/alpha", "/artifact/mgmt/alpha?have=42", "/artifact/mgmt/x", "/nowhere"} {
		want := request(t, "GET", sync+target, nil)
		want.Body = ""
		if diff := cmp.Diff(want, request(t, "HEAD", sync+target, nil)); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
}

// CRD-8: headers of later milestones are ignored, and nothing is compressed.
func TestUnknownRequestHeadersAreIgnored(t *testing.T) {
	t.Parallel()
	h := newHarness(t, new(relay.Memory))
	h.mustPost(document(nodeSet("alpha", 42, "a")))
	sync, _ := h.listen()
	req, err := http.NewRequest("GET", sync+"/artifact/mgmt/alpha", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Flor-Schema-Ceiling", "1.0")
	req.Header.Set("If-None-Match", "*")
	req.Header.Set("Range", "bytes=0-3")
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := int64(len(document(nodeSet("alpha", 42, "a"))))
	if resp.StatusCode != 200 || resp.ContentLength != want || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("%d, %d bytes, encoding %q", resp.StatusCode, resp.ContentLength, resp.Header.Get("Content-Encoding"))
	}
}

// CRD-2, CRD-5: what is served is what was published, though its major is of the
// future.
func TestMembersOfAnUnknownMajorAreServedByteForByte(t *testing.T) {
	t.Parallel()
	member := strings.Replace(string(artifact("alpha", "agent", 3, "{  \"x\" :1}")), `"1.0"`, `"12.0"`, 1)
	h := newHarness(t, new(relay.Memory))
	h.mustPost(document([][]byte{[]byte(member)}))
	sync, _ := h.listen()
	if got := request(t, "GET", sync+"/artifact/mgmt/alpha", nil); !strings.Contains(got.Body, member) {
		t.Errorf("%q is not in %q", member, got.Body)
	}
}
