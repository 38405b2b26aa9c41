package coordinatorsuite

import (
	"net/http"
	"strings"
)

// fetchCases are the rows of the sync listener's table that are answered at once.
func fetchCases() []Case {
	cases := []Case{
		{Name: "fetch/set", Title: "a node is served its members byte for byte, with the version in a header", Rules: "CRD-1 ENV-8 ENV-17", Run: checkSet},
		{Name: "fetch/slice", Title: "a node is served its own artifacts and no other's", Rules: "CRD-1", Run: checkSlice},
		{Name: "fetch/have-older", Title: "who has an older version is served the set", Rules: "CRD-1", Run: withQuery("?have=6", http.StatusOK, "")},
		{Name: "fetch/have-newer", Title: "who has a newer version is served the set", Rules: "CRD-1", Run: withQuery("?have=8", http.StatusOK, "")},
		{Name: "fetch/have-same", Title: "who has the version is told 304, without a body", Rules: "CRD-1", Run: checkNotModified},
		{Name: "fetch/unknown-node", Title: "a node that is not in the tree is 404 unknown_node", Rules: "CRD-1", Run: unknownNode("stranger", "")},
		{Name: "fetch/unknown-node-with-have", Title: "have does not hide that a node is unknown", Rules: "CRD-1", Run: unknownNode("stranger", "?have=7")},
		{Name: "fetch/another-case", Title: "a name in another case is not served", Rules: "CRD-1 ENV-4", Run: unknownNode("ALPHA", "")},
		{Name: "fetch/escaped-name", Title: "an escaped name is the same name", Rules: "CRD-1", Run: checkEscapedName},
		{Name: "fetch/other-parameters", Title: "a parameter that nobody knows is ignored", Rules: "CRD-1", Run: withQuery("?have=7&novel=1", http.StatusNotModified, "")},
		{Name: "fetch/wait-when-there-is-news", Title: "who waits and is not up to date is served at once", Rules: "CRD-1", Run: withQuery("?have=6&wait=60", http.StatusOK, "")},
		{Name: "fetch/wait-zero", Title: "a wait of zero is no wait", Rules: "CRD-1", Run: withQuery("?have=7&wait=0", http.StatusNotModified, "")},
		{Name: "fetch/says-that-it-waits", Title: "every answer says Flor-Wait: 60", Rules: "CRD-1", Run: checkSaysThatItWaits},
	}
	for _, b := range badQuestions {
		cases = append(cases, Case{Name: "fetch/" + b.name, Title: b.title + " is 400 bad_request", Rules: "CRD-1", Run: func(r *Relay) {
			r.publishAlpha()
			for _, target := range b.targets {
				a := r.ask(http.MethodGet, r.sync+"/artifact/mgmt/"+strings.ReplaceAll(target, "alpha", r.name("alpha")))
				r.wants("GET /artifact/mgmt/"+target, a, http.StatusBadRequest, "bad_request")
				if !strings.Contains(a.Body, `"reason"`) {
					r.Fatalf("GET /artifact/mgmt/%s is answered %s, without a reason", target, a)
				}
			}
		}})
	}
	return cases
}

var badQuestions = []struct {
	name, title string
	targets     []string
}{
	{"bad-have", "a have that is no version", []string{"alpha?have=x", "alpha?have=", "alpha?have=%2B1", "alpha?have=1.0", "alpha?have=-1"}},
	{"have-zero", "a have of zero", []string{"alpha?have=0"}},
	{"have-leading-zero", "a have with a leading zero", []string{"alpha?have=07"}},
	{"have-too-large", "a have over 2^53-1", []string{"alpha?have=9007199254740992", "alpha?have=18446744073709551616"}},
	{"have-twice", "have given twice", []string{"alpha?have=7&have=7"}},
	{"bad-wait", "a wait that is no number", []string{"alpha?wait=5s", "alpha?wait=", "alpha?wait=-1", "alpha?wait=1&wait=1"}},
	{"bad-escape", "a query that is not escaped properly", []string{"alpha?have=%zz"}},
	{"bad-node", "a name that is not safe", []string{"..%2Falpha", "con", "a%20b", strings.Repeat("a", 64)}},
	{"no-node", "no name", []string{""}},
}

// publishAlpha publishes the tree of most cases: alpha at version 7, beta at 3.
func (r *Relay) publishAlpha() (alpha, beta [][]byte) {
	alpha = [][]byte{r.root("alpha", 7, "a"), r.member("alpha", "flor", 7, "f")}
	beta = [][]byte{r.root("beta", 3, "b")}
	r.mustPublish(append(append([][]byte{}, alpha...), beta...)...)
	return alpha, beta
}

func checkSet(r *Relay) {
	alpha, _ := r.publishAlpha()
	a := r.fetch("alpha", "")
	r.wants("GET /artifact/mgmt/alpha", a, http.StatusOK, "")
	r.holds(a, alpha...)
	if got := a.Header.Get("Flor-Set-Version"); got != "7" {
		r.Fatalf("the header Flor-Set-Version is %q: it must be the version of the set, 7", got)
	}
}

func checkSlice(r *Relay) {
	_, beta := r.publishAlpha()
	r.serves("beta", beta...)
}

func withQuery(query string, status int, word string) func(*Relay) {
	return func(r *Relay) {
		r.publishAlpha()
		r.wants("GET /artifact/mgmt/alpha"+query+" of version 7", r.fetch("alpha", query), status, word)
	}
}

func checkNotModified(r *Relay) {
	r.publishAlpha()
	a := r.fetch("alpha", "?have=7")
	r.wants("GET …?have=7 of version 7", a, http.StatusNotModified, "")
	if a.Body != "" || a.Header.Get("Content-Type") != "" {
		r.Fatalf("304 came with a body or a Content-Type: it has neither")
	}
}

func unknownNode(node, query string) func(*Relay) {
	return func(r *Relay) {
		r.publishAlpha()
		r.wants("GET /artifact/mgmt/"+node+query, r.fetch(node, query), http.StatusNotFound, "unknown_node")
	}
}

func checkEscapedName(r *Relay) {
	r.publishAlpha()
	url := r.sync + "/artifact/mgmt/%61" + strings.TrimPrefix(r.name("alpha"), "a") + "?have=7"
	r.wants("GET /artifact/mgmt/%61lpha?have=7", r.ask(http.MethodGet, url), http.StatusNotModified, "")
}

func checkSaysThatItWaits(r *Relay) {
	r.publishAlpha()
	for _, target := range []string{r.at("alpha"), r.at("alpha") + "?have=7", r.at("alpha") + "?have=x", r.at("stranger"), r.sync + "/"} {
		if a := r.ask(http.MethodGet, target); a.Header.Get("Flor-Wait") != "60" {
			r.Fatalf("GET %s is answered %d with Flor-Wait %q: every answer of the sync listener says 60", strings.TrimPrefix(target, r.sync), a.Status, a.Header.Get("Flor-Wait"))
		}
	}
}
