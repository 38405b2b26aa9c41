package relay

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
)

// CRD-2, CRD-4: a tree that could not be read back from the disk is not taken:
// its members stand a little further apart there than they may in a publish.
func TestATreeThatOutgrowsTheLimitIsTooLarge(t *testing.T) {
	t.Parallel()
	texts, err := envelope.ParseSet(treeAt(t, map[string]uint64{"alpha": 1, "beta": 1}).Document())
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	groups, err := groupByNode(texts)
	if err != nil {
		t.Fatal(err)
	}
	_, err = assemble(groups, size)
	var refusal *TreeError
	if !errors.As(err, &refusal) || refusal.Reason != TreeTooLarge {
		t.Fatal(err)
	}
	r := &Relay{log: slog.New(slog.DiscardHandler)}
	if got := r.refuseTree(err); got.status != 413 || got.result != "too_large" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if tree, err := assemble(groups, 2*size); err != nil || len(tree.Document()) > 2*size {
		t.Errorf("%d bytes, %v", len(tree.Document()), err)
	}
}

// CRD-2: what is published must be fetchable.
func TestASetThatNobodyCouldFetchIsRefused(t *testing.T) {
	t.Parallel()
	g := &group{node: "alpha", version: 1, hasRoot: true}
	for range envelope.MaxSetFetch / envelope.MaxEnvelope {
		g.members = append(g.members, member{name: "agent", text: make([]byte, envelope.MaxEnvelope)})
	}
	_, err := g.seal()
	var refusal *TreeError
	if !errors.As(err, &refusal) || refusal.Reason != SetTooLarge || !strings.Contains(err.Error(), "alpha: a set document of") {
		t.Error(err)
	}
}

// CRD-8: what announces nothing is stopped while it is read, and memory never
// grows beyond the limit.
func TestABodyWithoutAnEndIsStoppedAtTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	endless, body := &spaces{}, &upload{all: new(uploads)}
	refused := body.read(endless, -1, limit)
	want := `{"error":"too_large","reason":"a published tree has at most 1048576 bytes"}`
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
	if refused == nil || refused.status != 503 || string(refused.body) != want || refused.extra["Retry-After"] == nil {
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

// spaces is a body that never ends.
type spaces struct{ read int }

func (s *spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	s.read += len(p)
	return len(p), nil
}
