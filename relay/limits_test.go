package relay

import (
	"errors"
	"log/slog"
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
