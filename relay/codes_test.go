package relay_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/florete/flor/relay"
)

// Each refusal has a code of its own, of the blocks of sync and publish.
func TestEveryCodeIsOfTheBlock(t *testing.T) {
	t.Parallel()
	for _, code := range slices.Sorted(maps.Keys(relay.Codes())) {
		if !strings.HasPrefix(code, "FL30") && !strings.HasPrefix(code, "FL31") {
			t.Errorf("%s is of another block", code)
		}
	}
	for _, reason := range []relay.Reason{
		relay.MalformedDocument, relay.MalformedArtifact, relay.EmptyTree, relay.WrongPlane, relay.NoRoot, relay.DuplicateArtifact,
		relay.DuplicateNode, relay.MixedVersions, relay.TooManyArtifacts, relay.ArtifactTooLarge, relay.SetTooLarge, relay.TreeTooLarge,
	} {
		if relay.Codes()[reason.Code()] == "" {
			t.Errorf("%s has no code", reason)
		}
	}
}
