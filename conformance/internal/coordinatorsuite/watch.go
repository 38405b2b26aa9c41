package coordinatorsuite

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// watchCases are about answers that are held (CRD-1, CRD-6).
func watchCases() []Case {
	return []Case{
		{Name: "watch/newer", Title: "who waits is served a newer version as soon as it is published", Rules: "CRD-1 CRD-6", Run: checkWatchNewer},
		{Name: "watch/leaves-the-tree", Title: "who waits is told 404 as soon as the node leaves the tree", Rules: "CRD-1 CRD-6", Run: checkWatchLeaves},
		{Name: "watch/appears", Title: "who waits for a node that is not in the tree is served once it is", Rules: "CRD-1 CRD-6", Run: checkWatchAppears},
		{Name: "watch/time-is-over", Title: "who waits in vain is told 304 when the time is over", Rules: "CRD-1", Run: checkHeldInVain},
		{Name: "watch/unknown-node", Title: "a node that is not in the tree is told 404 when the time is over", Rules: "CRD-1", Run: checkHeldUnknownNode},
		{Name: "watch/other-nodes", Title: "the news of another node are no news", Rules: "CRD-6", Run: checkOthersNews},
		{Name: "watch/same-tree", Title: "the same tree again is no news", Rules: "CRD-6", Run: checkSameTreeIsNoNews},
		{Name: "watch/long-wish", Title: "a wish for more than a minute is taken, and held", Rules: "CRD-1", Run: checkLongWish},
		{Name: "watch/many", Title: "300 who wait are all served by one publish", Rules: "CRD-6", Run: checkManyWatches},
	}
}

// held is a question that may be held.
type held struct {
	r       *Relay
	conn    net.Conn
	answers *bufio.Reader
	asked   time.Time
	what    string
}

// hold asks a question that is to be held, and returns when it has been taken up.
func (r *Relay) hold(node, query string) *held {
	q := r.begin(node, query)
	r.takenUp(r.sync)
	return q
}

// takenUp returns when a listener has taken up what was sent to it before, as far as
// that shows from outside: questions that came later have been answered, many of them
// and for a while.
func (r *Relay) takenUp(listener string) {
	const questions, while = 20, 100 * time.Millisecond
	begun := time.Now()
	for n := 0; n < questions || time.Since(begun) < while; n++ {
		r.ask(http.MethodGet, listener+"/conformance")
	}
}

// begin asks a question on a connection of its own and does not wait.
func (r *Relay) begin(node, query string) *held {
	q := &held{r: r, conn: r.dial(r.sync), what: "GET /artifact/mgmt/" + node + query}
	q.answers = bufio.NewReader(q.conn)
	q.asked = time.Now()
	_, err := fmt.Fprintf(q.conn, "GET /artifact/mgmt/%s%s HTTP/1.1\r\nHost: x\r\n\r\n", r.name(node), query)
	r.Check(err, "ask "+q.what)
	return q
}

// reply waits for the answer, for a limited time.
func (q *held) reply(limit time.Duration) Reply {
	_ = q.conn.SetReadDeadline(time.Now().Add(limit))
	a, err := readAnswer(q.answers)
	if err != nil {
		q.r.Fatalf("%s has no answer %s later, when it must have one: %w", q.what, limit, err)
	}
	a.Took = time.Since(q.asked)
	return a
}

func readResponse(conn net.Conn) (Reply, error) { return readAnswer(bufio.NewReader(conn)) }

func readAnswer(from *bufio.Reader) (Reply, error) {
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Reply{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}, err
}

func checkWatchNewer(r *Relay) {
	r.publishAlpha()
	q := r.hold("alpha", "?have=7&wait=60")
	next := r.root("alpha", 8, "b")
	r.mustPublish(next)
	a := q.reply(answerIn)
	r.wants(q.what+" when version 8 was published", a, http.StatusOK, "")
	r.holds(a, next)
}

func checkWatchLeaves(r *Relay) {
	_, beta := r.publishAlpha()
	q := r.hold("alpha", "?have=7&wait=60")
	r.mustPublish(beta...)
	r.wants(q.what+" when alpha left the tree", q.reply(answerIn), http.StatusNotFound, "unknown_node")
}

func checkWatchAppears(r *Relay) {
	alpha, beta := r.publishAlpha()
	q := r.hold("novel", "?wait=60")
	novel := r.root("novel", 1, "n")
	r.mustPublish(append(append(alpha, beta...), novel)...)
	a := q.reply(answerIn)
	r.wants(q.what+" when novel came into the tree", a, http.StatusOK, "")
	r.holds(a, novel)
}

// holdInVain asks with a wait, and requires that the question is held for all of its
// time: so long that no machine is so busy that an answer at once takes it.
func (r *Relay) holdInVain(node, query string, status int, word string) {
	const wait = 3 * time.Second
	q := r.begin(node, fmt.Sprint(query, int(wait/time.Second)))
	a := q.reply(wait + answerIn)
	q.r.wants(q.what, a, status, word)
	if a.Took < wait {
		q.r.Fatalf("%s is answered %d after %s: there was no news, so it is held for %s", q.what, a.Status, a.Took.Round(time.Millisecond), wait)
	}
}

func checkHeldInVain(r *Relay) {
	r.publishAlpha()
	r.holdInVain("alpha", "?have=7&wait=", http.StatusNotModified, "")
}

func checkHeldUnknownNode(r *Relay) {
	r.publishAlpha()
	r.holdInVain("stranger", "?wait=", http.StatusNotFound, "unknown_node")
}

// checkOthersNews has news of another node come again and again while alpha is
// waited for.
func checkOthersNews(r *Relay) {
	alpha, _ := r.publishAlpha()
	q := r.hold("alpha", "?have=7&wait=60")
	var beta []byte
	for v := uint64(4); v < 8; v++ {
		beta = r.root("beta", v, "b")
		r.mustPublish(append([][]byte{beta}, alpha...)...)
	}
	q.toldOfItsOwn(beta)
}

func checkSameTreeIsNoNews(r *Relay) {
	alpha, beta := r.publishAlpha()
	q := r.hold("alpha", "?have=7&wait=60")
	r.wants("the same tree again", r.post(document(append(alpha, beta...)...)), http.StatusOK, "unchanged")
	q.toldOfItsOwn(beta...)
}

// toldOfItsOwn publishes the next version of alpha, and requires that this is what a
// question about alpha is told: whoever answered it before has told of no news.
func (q *held) toldOfItsOwn(others ...[]byte) {
	next := q.r.root("alpha", 8, "b")
	q.r.mustPublish(append(others, next)...)
	a := q.reply(answerIn)
	if a.Status != http.StatusOK {
		q.r.Fatalf("%s is answered %s although nothing had happened to alpha: it is held until alpha's version 8 is published", q.what, a)
	}
	q.r.holds(a, next)
}

func checkLongWish(r *Relay) {
	r.publishAlpha()
	q := r.hold("alpha", "?have=7&wait=4294967296")
	next := r.root("alpha", 8, "b")
	r.mustPublish(next)
	r.wants("a wait of 2^32 seconds", q.reply(answerIn), http.StatusOK, "")
}

func checkManyWatches(r *Relay) {
	r.publishAlpha()
	const many = 300
	var all []*held
	for range many {
		all = append(all, r.begin("alpha", "?have=7&wait=60"))
	}
	r.takenUp(r.sync)
	next := r.root("alpha", 8, "b")
	r.mustPublish(next)
	for _, q := range all {
		a := q.reply(answerIn)
		r.wants("one of 300 held questions", a, http.StatusOK, "")
		if !strings.Contains(a.Body, `"version": 8`) {
			r.Fatalf("one of 300 held questions is answered %s: it must be version 8", a)
		}
	}
}
