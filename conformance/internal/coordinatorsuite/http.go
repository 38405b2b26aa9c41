package coordinatorsuite

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// httpCases are about HTTP as both listeners speak it.
func httpCases() []Case {
	return []Case{
		{Name: "http/unknown-path", Title: "an unknown path is 404 not_found, on both listeners", Rules: "CRD-8 CRD-1", Run: checkUnknownPath},
		{Name: "http/listeners-apart", Title: "each listener serves its own table and not the other's", Rules: "CRD-1", Run: checkListenersApart},
		{Name: "http/wrong-method", Title: "a wrong method is 405 with Allow", Rules: "CRD-8 CRD-1", Run: checkWrongMethod},
		{Name: "http/head", Title: "HEAD is GET without its body", Rules: "CRD-8", Run: checkHead},
		{Name: "http/content-type", Title: "every body is application/json", Rules: "CRD-8", Run: everyAnswer(hasContentType)},
		{Name: "http/content-length", Title: "every body comes with its Content-Length", Rules: "CRD-8", Run: everyAnswer(hasContentLength)},
		{Name: "http/no-store", Title: "every answer says Cache-Control: no-store", Rules: "CRD-8", Run: everyAnswer(hasNoStore)},
		{Name: "http/unknown-headers", Title: "request headers that nobody knows, or that are for caches, are ignored", Rules: "CRD-8", Run: checkUnknownHeaders},
		{Name: "http/unasked-compression", Title: "nothing is compressed for who does not ask for it", Rules: "CRD-8", Run: checkUncompressed},
		{Name: "http/keep-alive", Title: "a connection serves one question after the other, errors between them", Rules: "CRD-8", Run: checkKeepAlive},
		{Name: "http/slow-reader", Title: "a reader that takes nothing keeps neither a publish nor another reader waiting", Rules: "CRD-5 CRD-8", Run: checkSlowReader},
		{Name: "http/slow-publisher", Title: "a publisher that stands still keeps neither another publish nor a reader waiting", Rules: "CRD-4 CRD-8", Run: checkSlowPublisher},
	}
}

func checkUnknownPath(r *Relay) {
	r.publishAlpha()
	for _, url := range []string{
		r.sync + "/", r.sync + "/artifact/ctrl/alpha/x", r.at("alpha") + "/flor", r.publish + "/", r.publish + "/publish/ctrl", r.publish + "/publish/mgmt/x",
	} {
		r.wants("GET "+strings.TrimPrefix(strings.TrimPrefix(url, r.sync), r.publish), r.ask(http.MethodGet, url), http.StatusNotFound, "not_found")
	}
}

func checkListenersApart(r *Relay) {
	r.publishAlpha()
	r.wants("POST /publish/mgmt on the sync listener", r.ask(http.MethodPost, r.sync+"/publish/mgmt"), http.StatusNotFound, "not_found")
	a := r.ask(http.MethodGet, r.publish+"/artifact/mgmt/"+r.name("alpha"))
	r.wants("GET /artifact/mgmt/alpha on the publish listener", a, http.StatusNotFound, "not_found")
}

func checkWrongMethod(r *Relay) {
	r.publishAlpha()
	for _, q := range []struct{ method, url, allow string }{
		{http.MethodPost, r.at("alpha"), "GET"}, {http.MethodDelete, r.at("alpha"), "GET"}, {"BREW", r.at("alpha"), "GET"},
		{http.MethodGet, r.publish + "/publish/mgmt", "POST"}, {http.MethodPut, r.publish + "/publish/mgmt", "POST"},
	} {
		a := r.ask(q.method, q.url)
		r.wants(q.method+" in place of "+q.allow, a, http.StatusMethodNotAllowed, "method_not_allowed")
		if !strings.Contains(a.Header.Get("Allow"), q.allow) {
			r.Fatalf("%s is answered 405 with Allow %q: it must name %s", q.method, a.Header.Get("Allow"), q.allow)
		}
	}
}

func checkHead(r *Relay) {
	r.publishAlpha()
	for _, url := range []string{r.at("alpha"), r.at("alpha") + "?have=7", r.at("stranger"), r.sync + "/nowhere"} {
		get, head := r.ask(http.MethodGet, url), r.ask(http.MethodHead, url)
		if head.Status != get.Status || head.Body != "" {
			r.Fatalf("HEAD is answered %s where GET is %d: it must be the same without a body", head, get.Status)
		}
		for _, name := range []string{"Content-Length", "Content-Type", "Flor-Set-Version", "Flor-Wait", "Cache-Control"} {
			if head.Header.Get(name) != get.Header.Get(name) {
				r.Fatalf("HEAD has %s %q where GET has %q", name, head.Header.Get(name), get.Header.Get(name))
			}
		}
	}
}

// everyAnswer looks at an answer of every kind.
func everyAnswer(look func(*Relay, Reply)) func(*Relay) {
	return func(r *Relay) {
		r.publishAlpha()
		look(r, r.post(document(r.root("alpha", 8, strings.Repeat("x", 8<<10)))))
		look(r, r.post([]byte("{")))
		look(r, r.post(document(r.root("alpha", 7, "a"))))
		look(r, r.ask(http.MethodGet, r.publish+"/publish/mgmt"))
		for _, query := range []string{"", "?have=8", "?have=x"} {
			look(r, r.fetch("alpha", query))
		}
		look(r, r.fetch("stranger", ""))
		look(r, r.ask(http.MethodGet, r.sync+"/"))
	}
}

func hasContentType(r *Relay, a Reply) {
	if got := a.Header.Get("Content-Type"); a.Body != "" && got != "application/json" {
		r.Fatalf("%s has Content-Type %q: it must be application/json", a, got)
	}
}

func hasContentLength(r *Relay, a Reply) {
	if got := a.Header.Get("Content-Length"); a.Body != "" && got != strconv.Itoa(len(a.Body)) {
		r.Fatalf("%s has Content-Length %q: it must be %d", a, got, len(a.Body))
	}
}

func hasNoStore(r *Relay, a Reply) {
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		r.Fatalf("%s has Cache-Control %q: it must be no-store", a, got)
	}
}

func checkUnknownHeaders(r *Relay) {
	alpha, _ := r.publishAlpha()
	a, err := r.try(http.MethodGet, r.at("alpha"), map[string]string{
		"Flor-Schema-Ceiling": "1.0", "If-None-Match": "*", "If-Modified-Since": "Mon, 20 Apr 2099 12:00:00 GMT", "Range": "bytes=0-3", "X-Novel": "1",
	}, nil)
	r.Check(err, "GET with headers")
	r.wants("GET with If-None-Match, Range and more", a, http.StatusOK, "")
	r.holds(a, alpha...)
}

func checkUncompressed(r *Relay) {
	alpha, _ := r.publishAlpha()
	a := r.fetch("alpha", "")
	if got := a.Header.Get("Content-Encoding"); got != "" {
		r.Fatalf("without Accept-Encoding the answer has Content-Encoding %q", got)
	}
	r.holds(a, alpha...)
	a, err := r.try(http.MethodGet, r.at("alpha"), map[string]string{"Accept-Encoding": "gzip"}, nil)
	r.Check(err, "GET with Accept-Encoding: gzip")
	if a.Header.Get("Content-Encoding") == "gzip" {
		a.Body = unzip(r, a.Body)
	}
	r.holds(a, alpha...)
}

func unzip(r *Relay, body string) string {
	z, err := gzip.NewReader(strings.NewReader(body))
	r.Check(err, "read what came as gzip")
	text, err := io.ReadAll(z)
	r.Check(err, "read what came as gzip")
	return string(text)
}

// dial opens a connection to a listener that ends with the case.
func (r *Relay) dial(base string) net.Conn {
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	r.Check(err, "connect to the coordinator")
	r.Cleanup(func() { _ = conn.Close() })
	return conn
}

func checkKeepAlive(r *Relay) {
	r.publishAlpha()
	conn := r.dial(r.sync)
	answers := bufio.NewReader(conn)
	for i, q := range []struct {
		query string
		want  int
	}{{"alpha", 200}, {"stranger", 404}, {"alpha?have=x", 400}, {"alpha?have=7", 304}, {"alpha", 200}} {
		node, query, _ := strings.Cut(q.query, "?")
		_, err := fmt.Fprintf(conn, "GET /artifact/mgmt/%s?%s HTTP/1.1\r\nHost: x\r\n\r\n", r.name(node), query)
		r.Check(err, "ask on a connection that was used before")
		resp, err := http.ReadResponse(answers, nil)
		r.Check(err, fmt.Sprintf("read answer %d of one connection, which must stay open", i+1))
		_, err = io.Copy(io.Discard, resp.Body)
		r.Check(err, "read an answer")
		if resp.StatusCode != q.want {
			r.Fatalf("question %d on one connection is answered %d: it must be %d", i+1, resp.StatusCode, q.want)
		}
	}
}

// large is a payload that no socket's buffers hold.
var large = strings.Repeat("x", 3<<20)

func checkSlowReader(r *Relay) {
	var members [][]byte
	members = append(members, r.root("alpha", 1, "a"))
	for i := range 4 {
		members = append(members, r.member("alpha", fmt.Sprintf("w%d", i), 1, large))
	}
	r.mustPublish(members...)
	slow := r.dial(r.sync)
	_, err := fmt.Fprintf(slow, "GET /artifact/mgmt/%s HTTP/1.1\r\nHost: x\r\n\r\n", r.name("alpha"))
	r.Check(err, "begin to read")
	_, err = io.ReadFull(slow, make([]byte, 16))
	r.Check(err, "read the beginning of a set")
	next := r.root("alpha", 2, "b")
	r.mustPublish(next)
	r.serves("alpha", next)
}

func checkSlowPublisher(r *Relay) {
	alpha, _ := r.publishAlpha()
	doc := document(r.root("alpha", 8, "c"))
	slow := r.dial(r.publish)
	_, err := fmt.Fprintf(slow, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(doc), doc[:len(doc)/2])
	r.Check(err, "begin to publish")
	r.takenUp(r.publish)
	r.serves("alpha", alpha...)
	next := r.root("alpha", 8, "b")
	r.mustPublish(next)
	r.serves("alpha", next)
	_, err = slow.Write(doc[len(doc)/2:])
	r.Check(err, "go on to publish")
	resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
	r.Check(err, "read the answer of the slow publisher")
	if resp.StatusCode != http.StatusConflict {
		r.Fatalf("a publish of version 8 whose body came after another version 8 was taken is answered %d: it is judged when it is whole, 409", resp.StatusCode)
	}
}
