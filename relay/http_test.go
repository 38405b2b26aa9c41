package relay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/relay"
)

// CRD-8: what HTTP lets a client write, of either version and in each form, is
// understood; what stands behind a request on the same connection is the next one.
func TestWhatHTTPLetsAClientWrite(t *testing.T) {
	t.Parallel()
	const (
		get   = "GET /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\n"
		post  = "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\n"
		last  = "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" // 404 and the end
		bound = 404
	)
	doc := string(document(nodeSet("alpha", 1, "a")))
	announced := fmt.Sprintf("Content-Length: %d\r\n", len(doc))
	chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x;ext=1\r\n%s\r\n%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n", 7, doc[:7], len(doc)-7, doc[7:])
	cases := map[string]struct {
		publish bool
		text    string
		want    []int
	}{
		"HTTP/1.0 closes":                    {false, "GET /artifact/mgmt/alpha HTTP/1.0\r\n\r\n" + last, []int{200}},
		"HTTP/1.0 that asks to be kept":      {false, strings.Repeat("GET /artifact/mgmt/alpha HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 2) + last, []int{200, 200, bound}},
		"a target with scheme and host":      {false, "GET http://elsewhere:1/artifact/mgmt/alpha?have=1 HTTP/1.1\r\nHost: x\r\n\r\n" + last, []int{304, bound}},
		"a target that is a star":            {false, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" + last, []int{404, bound}},
		"a target that is an authority":      {false, "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n" + last, []int{404, bound}},
		"a method in another case":           {false, "get /artifact/mgmt/alpha HTTP/1.1\r\nHost: x\r\n\r\n" + last, []int{405, bound}},
		"no host":                            {false, "GET /artifact/mgmt/alpha HTTP/1.1\r\n\r\n", []int{400}},
		"two hosts":                          {false, get + "Host: y\r\n\r\n", []int{400}},
		"a header of two lines":              {false, get + "X-Long: 1\r\n 2\r\n\r\n" + last, []int{200, bound}},
		"space before a colon":               {false, get + "X-Odd : 1\r\n\r\n", []int{400}},
		"tags of a cache":                    {false, get + "If-None-Match: W/\"1\", \"1\", *\r\nIf-Modified-Since: Mon, 20 Apr 2026 12:00:00 GMT\r\n\r\n" + last, []int{200, bound}},
		"a part of it":                       {false, get + "Range: bytes=0-0\r\nIf-Range: \"1\"\r\n\r\n" + last, []int{200, bound}},
		"an encoding and no other":           {false, get + "Accept-Encoding: gzip, identity;q=0\r\nAccept: text/html\r\n\r\n" + last, []int{200, bound}},
		"an upgrade":                         {false, get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n" + last, []int{200, bound}},
		"a fetch with a body":                {false, get + "Content-Length: 3\r\n\r\nabc" + last, []int{200, bound}},
		"a fetch with a body in pieces":      {false, get + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + last, []int{200, bound}},
		"a fetch that may go on":             {false, get + "Expect: 100-continue\r\n\r\n" + last, []int{200, bound}},
		"a fetch that expects a miracle":     {false, get + "Expect: miracles\r\n\r\n", []int{417}},
		"a coding that nobody knows":         {false, get + "Transfer-Encoding: gzip\r\n\r\n", []int{501}},
		"a length that is no number":         {false, get + "Content-Length: +3\r\n\r\nabc", []int{400}},
		"lines that end in half":             {false, "GET /artifact/mgmt/alpha HTTP/1.1\nHost: x\n\n" + last, []int{200, bound}},
		"a body":                             {true, post + announced + "\r\n" + doc + last, []int{200, bound}},
		"a body in pieces":                   {true, post + chunked + last, []int{200, bound}},
		"a body of another type":             {true, post + announced + "Content-Type: text/html\r\n\r\n" + doc + last, []int{200, bound}},
		"a body that waits to be asked for":  {true, post + announced + "Expect: 100-continue\r\n\r\n" + doc + last, []int{100, 200, bound}},
		"a body that nobody wants":           {true, "PUT /publish/mgmt HTTP/1.1\r\nHost: x\r\n" + announced + "\r\n" + doc + last, []int{405, bound}},
		"no body":                            {true, post + "Content-Length: 0\r\n\r\n" + last, []int{400, bound}},
		"neither a body nor a length":        {true, post + "\r\n" + last, []int{400, bound}},
		"a body that is longer than it says": {true, post + announced + "\r\n" + doc + "surplus", []int{200, 400}},
		"a piece that is no number":          {true, post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", []int{400}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, new(relay.Memory))
			if !c.publish {
				h.mustPost([]byte(doc))
			}
			address, publish := h.listen()
			if c.publish {
				address = publish
			}
			if diff := cmp.Diff(c.want, exchange(t, address, c.text)); diff != "" {
				t.Error(diff)
			}
			if taken := h.Published() != nil; c.publish && taken != slices.Contains(c.want, 200) {
				t.Errorf("something is published: %v", taken)
			}
		})
	}
}
