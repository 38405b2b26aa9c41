package relay

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
)

// CRD-2, CRD-4: a tree that could not be read back from the disk is not taken: its
// members stand a little further apart there than they may in a publish.
func TestATreeThatOutgrowsTheLimitIsTooLarge(t *testing.T) {
	t.Parallel()
	doc := treeAt(t, map[string]uint64{"alpha": 1, "beta": 1}).Document()
	found, err := readGroups(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = found.layOut(len(doc) - 1)
	var refusal *TreeError
	if !errors.As(err, &refusal) || refusal.Reason != TreeTooLarge {
		t.Fatal(err)
	}
	r := &Relay{log: slog.New(slog.DiscardHandler)}
	if got := r.refuseTree(err); got.status != 413 || got.result != "too_large" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if laidOut, err := found.layOut(len(doc) + len(separator)); err != nil || len(laidOut) != len(doc) {
		t.Errorf("%d bytes, %v", len(laidOut), err)
	}
}

// CRD-5: a document that has the members of each node together, as a publisher
// sends it, is the text of the tree, and is not copied; any other is put in order.
func TestATreeIsInMemoryOnce(t *testing.T) {
	t.Parallel()
	core := func(node, name string) string {
		return `{"schema_version":"1.0","plane":"mgmt","version":1,"node":"` + node + `","name":"` + name + `"}`
	}
	a, aw, b := core("a", "agent"), core("a", "w"), core("b", "agent")
	set := func(members string) string { return "{\"artifacts\":[\n" + members + "\n]}\n" }
	cases := map[string]struct {
		doc  string
		once bool
	}{
		"as it is written":                   {set(a + ",\n" + aw + ",\n" + b), true},
		"nodes and members in another order": {set(b + ",\n" + aw + ",\n" + a), true},
		"space between nodes":                {"\n{ \"artifacts\" : [" + a + ",\n" + aw + " , " + b + "]}", true},
		"space within a node":                {set(a + ", " + aw + ",\n" + b), false},
		"a node in two places":               {set(a + ",\n" + b + ",\n" + aw), false},
	}
	for name, c := range cases {
		doc := []byte(c.doc)
		tree, err := takeTree(doc, nil)
		if err != nil {
			t.Fatal(err)
		}
		if once := &tree.Document()[0] == &doc[0]; once != c.once {
			t.Errorf("%s: in memory once: %v", name, once)
		}
		got := string(tree.SetDocument("a"))
		if got != set(a+",\n"+aw) && got != set(aw+",\n"+a) {
			t.Errorf("%s: a is served %s", name, got)
		}
		if got := string(tree.SetDocument("b")); got != set(b) {
			t.Errorf("%s: b is served %s", name, got)
		}
	}
}

// CRD-2: what is published must be fetchable.
func TestASetThatNobodyCouldFetchIsRefused(t *testing.T) {
	t.Parallel()
	g := &group{node: "alpha", version: 1, hasRoot: true}
	doc := make([]byte, envelope.MaxSetFetch)
	g.members = []member{{name: "agent", text: doc}}
	_, err := g.seal(doc)
	var refusal *TreeError
	if !errors.As(err, &refusal) || refusal.Reason != SetTooLarge || !strings.Contains(err.Error(), "alpha: a set document of") {
		t.Error(err)
	}
}

// CRD-5: memory for answers is lent to a bounded number of readers; the others are
// served without.
func TestMemoryForAnswersIsBounded(t *testing.T) {
	t.Parallel()
	lender := new(scratches)
	var used []*scratch
	for s := lender.borrow(); s != nil; s = lender.borrow() {
		used = append(used, s)
	}
	if len(used) != maxScratch {
		t.Fatalf("%d are lent, the limit is %d", len(used), maxScratch)
	}
	tree := treeAt(t, map[string]uint64{"alpha": 1})
	get := func() string {
		w, req := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		tree.set("alpha").served.write(w, req, lender)
		return w.Body.String()
	}
	without := get()
	lender.giveBack(used[0])
	if with := get(); with != without || with != string(tree.SetDocument("alpha")) {
		t.Errorf("with: %s; without: %s", with, without)
	}
	if lender.borrow() == nil {
		t.Error("what was given back is not lent again")
	}
}

// CRD-8: what announces nothing is stopped while it is read, and memory never
// grows beyond the limit.
func TestABodyWithoutAnEndIsStoppedAtTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	endless, body := &spaces{}, &upload{all: new(uploads)}
	refused := body.read(endless, -1, limit)
	want := `{"error":"too_large","reason":"FL3112 tree-too-large: a published tree has at most 1048576 bytes: split the rete"}`
	if refused == nil || refused.status != 413 || string(refused.body) != want {
		t.Fatalf("%d bytes, %+v", len(body.doc), refused)
	}
	if endless.read != limit+1 || body.all.held.Load() > limit+1 {
		t.Errorf("%d bytes were taken into %d, the limit is %d", endless.read, body.all.held.Load(), limit)
	}
	full := bytes.Repeat([]byte(" "), limit)
	for _, announced := range []int64{-1, limit} {
		body := &upload{all: new(uploads)}
		if refused := body.read(bytes.NewReader(full), announced, limit); refused != nil || len(body.doc) != limit || cap(body.doc) > limit+1 {
			t.Errorf("a body of exactly the limit, announced %d: %d bytes in %d, %+v", announced, len(body.doc), cap(body.doc), refused)
		}
		body.release()
		if held := body.all.held.Load(); held != 0 {
			t.Errorf("%d bytes are held after the end", held)
		}
	}
}

// CRD-5: a tree keeps the memory of its body, so that this is not larger than the
// body, whether it was announced or not.
func TestABodyKeepsWhatItNeeds(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 5_000, 300_000, 5 << 20} {
		for _, announced := range []int64{-1, int64(size)} {
			body := &upload{all: new(uploads)}
			if refused := body.read(bytes.NewReader(make([]byte, size)), announced, 32<<20); refused != nil {
				t.Fatalf("%d %s", refused.status, refused.body)
			}
			if got := cap(body.doc); len(body.doc) != size || got > size+size/8+1 || body.held != int64(got) {
				t.Errorf("a body of %d bytes, announced %d, has %d bytes in room for %d, of which %d are counted",
					size, announced, len(body.doc), got, body.held)
			}
		}
	}
}

// CRD-8: what uploads hold together is bounded, whoever comes when nothing is
// left is told to come again, and whoever announces much holds no more than what
// he sent.
func TestUploadsShareABoundedMemory(t *testing.T) {
	t.Parallel()
	all := new(uploads)
	all.held.Store(maxUploads - 10<<20)
	liar := &upload{all: all}
	if refused := liar.read(bytes.NewReader(make([]byte, 1<<20)), envelope.MaxSetPublish, envelope.MaxSetPublish); refused != nil {
		t.Fatalf("%d %s", refused.status, refused.body)
	}
	if liar.held > 2<<20 {
		t.Errorf("one who sent 1 MiB and announced 256 holds %d bytes", liar.held)
	}
	large := &upload{all: all}
	refused := large.read(&spaces{}, -1, envelope.MaxSetPublish)
	want := `{"error":"busy","reason":"FL3127 busy: other uploads hold all the memory that uploads may have"}`
	if refused == nil || refused.status != 503 || string(refused.body) != want || refused.extra.name != "Retry-After" {
		t.Errorf("%+v", refused)
	}
	if all.held.Load() > maxUploads {
		t.Errorf("%d bytes are held, the limit is %d", all.held.Load(), maxUploads)
	}
	large.release()
	small := &upload{all: all}
	if refused := small.read(bytes.NewReader(make([]byte, 1<<20)), 1<<20, envelope.MaxSetPublish); refused != nil {
		t.Errorf("after it was released: %d %s", refused.status, refused.body)
	}
}

// CRD-8: what a body held is free again once its publish is answered, whatever
// became of it.
func TestAnAnsweredPublishHoldsNoMemory(t *testing.T) {
	t.Parallel()
	r, err := New(t.Context(), new(Memory), Options{})
	if err != nil {
		t.Fatal(err)
	}
	good := treeAt(t, map[string]uint64{"alpha": 1}).Document()
	for status, body := range map[int][]byte{200: good, 400: good[1:]} {
		w := httptest.NewRecorder()
		r.PublishHandler().ServeHTTP(w, httptest.NewRequest("POST", "/publish/mgmt", bytes.NewReader(body)))
		if held := r.uploads.held.Load(); w.Code != status || held != 0 {
			t.Errorf("%d %s; %d bytes are held", w.Code, w.Body, held)
		}
	}
}

// spaces is a body that never ends.
type spaces struct{ read int }

func (s *spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	s.read += len(p)
	return len(p), nil
}
