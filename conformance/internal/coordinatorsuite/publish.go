package coordinatorsuite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/florete/flor/envelope"
)

// publishCases are about what a publish that is well-formed does.
func publishCases() []Case {
	return []Case{
		{Name: "publish/accepted", Title: "a tree is accepted, and served from the answer on", Rules: "CRD-1 CRD-4", Run: checkAccepted},
		{Name: "publish/nodes", Title: "the answer counts the nodes of the tree", Rules: "CRD-1", Run: checkCountsNodes},
		{Name: "publish/unchanged", Title: "the same tree again is unchanged", Rules: "CRD-1", Run: checkUnchanged},
		{Name: "publish/unchanged-in-another-order", Title: "the same members in another order are the same tree", Rules: "CRD-1 CRD-3", Run: checkUnchangedInAnotherOrder},
		{Name: "publish/changed", Title: "changed lists what was added, altered and removed, sorted", Rules: "CRD-1", Run: checkChanged},
		{Name: "publish/whole", Title: "a publish replaces the whole tree: who is not in it has left", Rules: "CRD-4", Run: checkReplacesTheWhole},
		{Name: "publish/bytes", Title: "members are kept byte for byte, whatever their spelling", Rules: "ENV-8 CRD-1", Run: checkBytes},
		{Name: "publish/unknown-major", Title: "a member of a schema major that nobody knows passes", Rules: "CRD-2 ENV-16", Run: checkUnknownMajor},
		{Name: "publish/chunked", Title: "a body without Content-Length is taken", Rules: "CRD-8", Run: checkChunked},
		{Name: "publish/200-nodes", Title: "a tree of 200 nodes is served to each of them", Rules: "CRD-4 CRD-5", Run: checkManyNodes},
		{Name: "publish/publisher-leaves", Title: "half a body changes nothing", Rules: "CRD-4", Run: checkPublisherLeaves},
		{Name: "publish/all-at-once", Title: "of eight publishers with one version, one is taken and seven are told of the conflict", Rules: "CRD-3 CRD-4", Run: checkAllAtOnce},
		{Name: "publish/readers-see-whole-trees", Title: "beside publishes, a reader sees whole sets and never an older one after a newer", Rules: "CRD-4 CRD-5", Run: checkReadersSeeWholeTrees},
	}
}

// outcome is the body of a publish that was taken.
type outcome struct {
	Result  string
	Nodes   int
	Changed []string
}

func (r *Relay) outcome(a Reply) outcome {
	var o outcome
	r.Check(json.Unmarshal([]byte(a.Body), &o), "read the answer to a publish, "+a.String())
	if o.Changed == nil {
		r.Fatalf("a publish is answered %s: changed is a list, also where it is empty", a)
	}
	return o
}

func checkAccepted(r *Relay) {
	alpha := r.root("alpha", 1, "a")
	r.mustPublish(alpha)
	r.serves("alpha", alpha)
}

func checkCountsNodes(r *Relay) {
	a := r.mustPublish(r.root("alpha", 1, "a"), r.member("alpha", "flor", 1, "f"), r.root("beta", 1, "b"), r.root("gamma", 1, "c"))
	if o := r.outcome(a); o.Nodes != 3 {
		r.Fatalf("a tree of three nodes is answered %s: nodes must be 3", a)
	}
}

func checkUnchanged(r *Relay) {
	alpha, beta := r.publishAlpha()
	a := r.post(document(append(alpha, beta...)...))
	r.wants("the same tree again", a, http.StatusOK, "unchanged")
	if o := r.outcome(a); len(o.Changed) != 0 || o.Nodes != 2 {
		r.Fatalf("the same tree again is answered %s: nothing is changed, and it has 2 nodes", a)
	}
}

func checkUnchangedInAnotherOrder(r *Relay) {
	alpha, beta := r.publishAlpha()
	a := r.post(document(alpha[1], beta[0], alpha[0]))
	r.wants("the same members in another order", a, http.StatusOK, "unchanged")
}

func checkChanged(r *Relay) {
	r.mustPublish(r.root("same", 1, "s"), r.root("zeta", 1, "z"), r.root("gone", 1, "g"))
	a := r.mustPublish(r.root("same", 1, "s"), r.root("zeta", 2, "z"), r.root("added", 1, "a"))
	want := []string{r.name("added"), r.name("gone"), r.name("zeta")}
	if o := r.outcome(a); !slices.Equal(o.Changed, want) {
		r.Fatalf("zeta was altered, gone removed, added added: it is answered %s; changed must be %q", a, want)
	}
}

func checkReplacesTheWhole(r *Relay) {
	r.publishAlpha()
	r.mustPublish(r.root("beta", 4, "b"))
	r.wants("a fetch of a node that was left out", r.fetch("alpha", ""), http.StatusNotFound, "unknown_node")
}

// checkBytes publishes spellings that a careless relay makes nice.
func checkBytes(r *Relay) {
	name := r.name("alpha")
	odd := [][]byte{
		fmt.Appendf(nil, "{\t\"name\" :\r\n\"agent\",\"node\":%q,  \"version\":5,\"plane\":\"mgmt\",\"schema_version\":\"1.0\"}", name),
		fmt.Appendf(nil, `{"schema_version":"1.0","plane":"mgmt","version":5,"node":%q,"name":"w1","payload":{"b":1,"a":1e2,"a":1.0,"\u0061":"\u00e9é\/<>&","n":12345678901234567890,"z":-0}}`, name),
		fmt.Appendf(nil, `{"schema_version":"1.0","plane":"mgmt","version":5,"node":%q,"n\u0061me":"w2","extra":[[[]]],"payload":"`+"\u2028"+`"}`, name),
	}
	r.mustPublish(odd...)
	r.serves("alpha", odd...)
}

func checkUnknownMajor(r *Relay) {
	future := bytes.Replace(r.root("alpha", 5, "a"), []byte(`"schema_version": "1.0"`), []byte(`"schema_version": "12.7", "novel": {"x": [1]}`), 1)
	r.mustPublish(future)
	r.serves("alpha", future)
}

func checkChunked(r *Relay) {
	alpha := r.root("alpha", 1, "a")
	a, err := r.try(http.MethodPost, r.publish+"/publish/mgmt", nil, io.MultiReader(bytes.NewReader(document(alpha))))
	r.Check(err, "publish in chunks")
	r.wants("a publish in chunks", a, http.StatusOK, "accepted")
	r.serves("alpha", alpha)
}

func checkManyNodes(r *Relay) {
	const nodes = 200
	var members [][]byte
	for i := range nodes {
		members = append(members, r.root(fmt.Sprintf("n%d", i), 1, fmt.Sprint(i)))
	}
	o := r.outcome(r.mustPublish(members...))
	if o.Nodes != nodes {
		r.Fatalf("a tree of %d nodes is answered with %d nodes", nodes, o.Nodes)
	}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		if !slices.Contains(o.Changed, r.name(name)) { // beside those that a tree before had
			r.Fatalf("a tree of %d new nodes is answered without %s among those that changed", nodes, r.name(name))
		}
		r.serves(name, members[i])
	}
}

func checkPublisherLeaves(r *Relay) {
	alpha, _ := r.publishAlpha()
	next := document(r.root("alpha", 8, "b"))
	// Whole JSON inside of a body that is not: the rest was to come.
	conn := r.dial(r.publish)
	_, err := fmt.Fprintf(conn, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(next)+10, next)
	r.Check(err, "begin to publish")
	r.Check(conn.Close(), "leave")
	r.takenUp(r.publish)
	r.serves("alpha", alpha...)
	last := r.root("alpha", 8, "c")
	r.mustPublish(last)
	r.serves("alpha", last)
}

func checkAllAtOnce(r *Relay) {
	r.publishAlpha()
	const publishers = 8
	var (
		group   sync.WaitGroup
		members [publishers][]byte
		replies [publishers]Reply
		failed  [publishers]error
	)
	for i := range publishers {
		members[i] = r.root("alpha", 8, fmt.Sprint("from ", i))
		group.Go(func() { replies[i], failed[i] = r.tryPost(document(members[i])) })
	}
	group.Wait()
	taken := -1
	for i := range publishers {
		r.Check(failed[i], "publish beside others")
		switch {
		case replies[i].Status == http.StatusOK && taken < 0:
			taken = i
		case replies[i].Status == http.StatusOK:
			r.Fatalf("two publishes of version 8 with other bytes were both taken: each is judged against the state at its turn")
		default:
			r.wants("a publish that came second", replies[i], http.StatusConflict, "version_conflict")
		}
	}
	if taken < 0 {
		r.Fatalf("of eight publishes of a good tree none was taken")
	}
	r.serves("alpha", members[taken])
}

// checkReadersSeeWholeTrees has a reader beside publishes of sets whose members
// all say their version.
func checkReadersSeeWholeTrees(r *Relay) {
	const versions = 25
	set := func(v uint64) [][]byte {
		return [][]byte{r.root("alpha", v, "a"), r.member("alpha", "flor", v, "f"), r.member("alpha", "web", v, "w")}
	}
	r.mustPublish(set(1)...)
	var (
		reads atomic.Int64
		fault string
	)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); fault = r.readUntil(stop, &reads) }()
	for v := uint64(2); v <= versions; v++ {
		r.mustPublish(set(v)...)
		since := reads.Load()
		// The first read may have begun before; the second is of this version.
		r.Await("a reader beside publishes must be answered", func() bool { return reads.Load() > since+1 || isClosed(ended) })
	}
	close(stop)
	<-ended
	if fault != "" {
		r.Fatalf("%s", fault)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// readUntil reads sets until stop is closed, counts them, and says what is wrong with
// one.
func (r *Relay) readUntil(stop <-chan struct{}, reads *atomic.Int64) string {
	last := uint64(0)
	for ; ; reads.Add(1) {
		select {
		case <-stop:
			return ""
		default:
		}
		a, err := r.try(http.MethodGet, r.at("alpha"), nil, nil)
		if err != nil {
			return "a fetch beside publishes failed: " + err.Error()
		}
		texts, err := envelope.ParseSet([]byte(a.Body))
		if err != nil || len(texts) != 3 {
			return "a fetch beside publishes has no whole set: " + a.String()
		}
		for i, text := range texts {
			core, err := envelope.Probe(text)
			if err != nil || core.Version < last || i > 0 && core.Version != last {
				return fmt.Sprintf("a fetch beside publishes has a member of version %d where %d is due: a mix, or older than what was served before", core.Version, last)
			}
			last = core.Version
		}
	}
}

// gateCases are the structural gate (CRD-2) and the monotonic gate (CRD-3).
func gateCases() []Case {
	var cases []Case
	for _, g := range malformed {
		cases = append(cases, Case{Name: "gate/" + g.name, Title: g.title + " is 400 malformed_tree and changes nothing", Rules: "CRD-2 CRD-4", Run: func(r *Relay) {
			alpha, _ := r.publishAlpha()
			a := r.post(g.doc(r))
			r.wants(g.title, a, http.StatusBadRequest, "malformed_tree")
			if !strings.Contains(a.Body, `"reason"`) {
				r.Fatalf("%s is answered %s, without a reason", g.title, a)
			}
			r.serves("alpha", alpha...)
		}})
	}
	return append(cases,
		Case{Name: "gate/too-large", Title: "a body of more than 256 MiB is 413 too_large", Rules: "CRD-1 CRD-8", Run: checkTooLarge},
		Case{Name: "gate/256-artifacts", Title: "a node may have 256 artifacts", Rules: "CRD-2", Run: checkLargestNode},
		Case{Name: "gate/older", Title: "an older version is 409 with node, stored and offered", Rules: "CRD-3", Run: conflicts("alpha", 6, 7)},
		Case{Name: "gate/equal-with-other-bytes", Title: "the stored version with other bytes is 409", Rules: "CRD-3", Run: conflicts("alpha", 7, 7)},
		Case{Name: "gate/equal-with-other-white-space", Title: "the stored version with other white space is 409: bytes count", Rules: "CRD-3 ENV-8", Run: checkOtherWhiteSpace},
		Case{Name: "gate/far-above", Title: "a version more than 1,024 above what is on record is 409", Rules: "CRD-3", Run: conflicts("alpha", 7+1025, 7)},
		Case{Name: "gate/as-far-as-may-be", Title: "a version 1,024 above what is on record is taken", Rules: "CRD-3", Run: checkAsFarAsMayBe},
		Case{Name: "gate/new-node-far-above", Title: "a new node above version 1,024 is 409", Rules: "CRD-3", Run: conflicts("novel", 1025, 0)},
		Case{Name: "gate/departed-node", Title: "a node that had left may not come back lower", Rules: "CRD-3", Run: checkDepartedNode},
		Case{Name: "gate/all-conflicts", Title: "all conflicts are listed, and one refuses the whole", Rules: "CRD-3 CRD-4", Run: checkAllConflicts},
	)
}

var malformed = []struct {
	name, title string
	doc         func(*Relay) []byte
}{
	{"no-json", "what is no JSON", func(r *Relay) []byte { return []byte("artifacts: []") }},
	{"half", "half a document", func(r *Relay) []byte { doc := document(r.root("alpha", 8, "a")); return doc[:len(doc)-4] }},
	{"empty-tree", "a tree without artifacts", func(r *Relay) []byte { return document() }},
	{"unknown-member", "a document with a second member", func(r *Relay) []byte {
		return bytes.Replace(document(r.root("alpha", 8, "a")), []byte("{"), []byte(`{"novel":1,`), 1)
	}},
	{"member-a-string", "a member that is no object", func(r *Relay) []byte { return document(r.root("alpha", 8, "a"), []byte(`"x"`)) }},
	{"no-version", "a member without a version", func(r *Relay) []byte {
		return document(bytes.Replace(r.root("alpha", 8, "a"), []byte(`"version": 8,`), nil, 1))
	}},
	{"version-twice", "a member with two versions", func(r *Relay) []byte {
		return document(bytes.Replace(r.root("alpha", 8, "a"), []byte(`"version": 8,`), []byte(`"version": 8, "version": 9,`), 1))
	}},
	{"unsafe-name", "a member whose name is not safe", func(r *Relay) []byte { return document(r.root("alpha", 8, "a"), r.member("alpha", "../x", 8, "x")) }},
	{"ctrl", "a member of plane ctrl", func(r *Relay) []byte {
		return document(r.root("alpha", 8, "a"), bytes.Replace(r.member("alpha", "x", 8, "x"), []byte(`"mgmt"`), []byte(`{"ctrl":{"obeys_mgmt_version":8}}`), 1))
	}},
	{"no-root", "a node without an artifact named agent", func(r *Relay) []byte { return document(r.root("alpha", 8, "a"), r.member("beta", "flor", 4, "b")) }},
	{"two-roots", "a node with two artifacts named agent", func(r *Relay) []byte { return document(r.root("alpha", 8, "a"), r.root("alpha", 8, "b")) }},
	{"name-twice-by-case", "a node with two names that differ by case", func(r *Relay) []byte {
		return document(r.root("alpha", 8, "a"), r.member("alpha", "flor", 8, "x"), r.member("alpha", "FLOR", 8, "y"))
	}},
	{"two-versions", "a node with two versions", func(r *Relay) []byte { return document(r.root("alpha", 8, "a"), r.member("alpha", "flor", 9, "x")) }},
	{"node-twice-by-case", "two nodes that differ by case", func(r *Relay) []byte {
		return document(r.root("alpha", 8, "a"), bytes.Replace(r.root("alpha", 8, "b"), []byte(`"alpha`), []byte(`"ALPHA`), 1))
	}},
	{"257-artifacts", "a node with 257 artifacts", func(r *Relay) []byte { return document(r.artifacts(257)...) }},
	{"large-member", "a member of more than 4 MiB", func(r *Relay) []byte {
		return document(r.root("alpha", 8, "a"), r.member("alpha", "flor", 8, strings.Repeat("x", envelope.MaxEnvelope)))
	}},
	{"large-node", "a node whose set document is over 64 MiB", func(r *Relay) []byte {
		members := [][]byte{r.root("alpha", 8, "a")}
		for i := range envelope.MaxSetFetch/len(large) + 1 {
			members = append(members, r.member("alpha", fmt.Sprint("w", i), 8, large))
		}
		return document(members...)
	}},
}

// artifacts are those of a node with n of them, at version 8.
func (r *Relay) artifacts(n int) [][]byte {
	members := [][]byte{r.root("alpha", 8, "a")}
	for i := range n - 1 {
		members = append(members, r.member("alpha", fmt.Sprint("w", i), 8, "w"))
	}
	return members
}

// spaces is an endless body.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// checkTooLarge sends one byte too many, announced; the answer may come before all
// of it has been sent.
func checkTooLarge(r *Relay) {
	r.publishAlpha()
	conn := r.dial(r.publish)
	const size = envelope.MaxSetPublish + 1
	_, err := fmt.Fprintf(conn, "POST /publish/mgmt HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
	r.Check(err, "begin to publish")
	var sender sync.WaitGroup
	sender.Go(func() { _, _ = io.CopyN(conn, spaces{}, size) })
	_ = conn.SetReadDeadline(time.Now().Add(2 * answerIn))
	resp, err := readResponse(conn)
	_ = conn.Close()
	sender.Wait()
	r.Check(err, "read the answer to a body of more than 256 MiB")
	r.wants("a body of more than 256 MiB", resp, http.StatusRequestEntityTooLarge, "too_large")
}

func checkLargestNode(r *Relay) {
	r.publishAlpha()
	members := r.artifacts(256)
	r.mustPublish(members...)
	r.serves("alpha", members...)
}

// conflict is a node of a 409.
type conflict struct {
	Node            string
	Stored, Offered uint64
}

func (r *Relay) conflicts(what string, a Reply) []conflict {
	r.wants(what, a, http.StatusConflict, "version_conflict")
	var doc struct{ Nodes []conflict }
	r.Check(json.Unmarshal([]byte(a.Body), &doc), "read a conflict")
	return doc.Nodes
}

// conflicts publishes a node at a version that the gate refuses.
func conflicts(node string, offered, stored uint64) func(*Relay) {
	return func(r *Relay) {
		alpha, beta := r.publishAlpha()
		members := append([][]byte{r.root(node, offered, "other")}, beta...)
		if node != "alpha" {
			members = append(members, alpha...)
		}
		a := r.post(document(members...))
		want := []conflict{{r.name(node), stored, offered}}
		if got := r.conflicts(fmt.Sprintf("%s at version %d, where %d is on record", node, offered, stored), a); !slices.Equal(got, want) {
			r.Fatalf("the conflict is told as %s: it must be %+v", a, want)
		}
		r.serves("alpha", alpha...)
	}
}

func checkOtherWhiteSpace(r *Relay) {
	alpha, beta := r.publishAlpha()
	other := append([][]byte{bytes.ReplaceAll(alpha[0], []byte("\n"), []byte("\n "))}, alpha[1:]...)
	r.conflicts("the stored version with other white space", r.post(document(append(other, beta...)...)))
}

func checkAsFarAsMayBe(r *Relay) {
	r.publishAlpha()
	next := r.root("alpha", 7+1024, "b")
	r.mustPublish(next, r.root("novel", 1024, "n"))
	r.serves("alpha", next)
}

func checkDepartedNode(r *Relay) {
	_, beta := r.publishAlpha()
	r.mustPublish(beta...)
	r.conflicts("alpha at version 6, which had left at 7", r.post(document(append(beta, r.root("alpha", 6, "a"))...)))
	back := r.root("alpha", 7, "z")
	r.mustPublish(append(beta, back)...)
	r.serves("alpha", back)
}

func checkAllConflicts(r *Relay) {
	alpha, beta := r.publishAlpha()
	a := r.post(document(r.root("beta", 2, "b"), r.root("alpha", 6, "a"), r.root("novel", 1, "n")))
	got := r.conflicts("a tree with two conflicts", a)
	want := []conflict{{r.name("alpha"), 7, 6}, {r.name("beta"), 3, 2}}
	slices.SortFunc(got, func(a, b conflict) int { return strings.Compare(a.Node, b.Node) })
	if !slices.Equal(got, want) {
		r.Fatalf("a tree with two conflicts is answered %s: both must be listed, %+v", a, want)
	}
	r.serves("alpha", alpha...)
	r.serves("beta", beta...)
	r.wants("a fetch of the node that was new in it", r.fetch("novel", ""), http.StatusNotFound, "unknown_node")
}
