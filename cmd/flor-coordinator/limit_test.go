package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/florete/flor/relay/client"
)

// OBS-4: a publisher that offers the same refused tree again and again writes one
// line, and a refusal of another code its own.
func TestRepeatedRefusalsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	r := newPlace(t).start()
	r.publish(tree(3))
	for range 5 {
		var conflict *client.VersionConflict
		if _, err := r.tryPublish(tree(2)); !errors.As(err, &conflict) {
			t.Fatalf("an older tree: %v, want a conflict", err)
		}
		var malformed *client.Malformed
		if _, err := r.tryPublish("{}"); !errors.As(err, &malformed) {
			t.Fatalf("no tree: %v, want malformed", err)
		}
	}
	_, stderr := r.stop()
	if lines := strings.Count(stderr, "publish refused"); lines != 2 {
		t.Errorf("10 refusals of 2 codes are %d lines, want 2:\n%s", lines, stderr)
	}
}
