package agent

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func texts(pairs ...string) map[string][]byte {
	m := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = []byte(pairs[i+1])
	}
	return m
}

// AGT-4.2: the version and the content decide, each refusal for its own reason.
func TestAdmissionJudgesByVersionAndContent(t *testing.T) {
	t.Parallel()
	active := texts("agent", "A", "flor", "F")
	tests := []struct {
		name    string
		held    held
		offered offered
		verdict verdict
		reason  Reason
	}{
		{"the next version is admitted", held{active: 4, mark: 4, members: active}, offered{version: 5, members: texts("agent", "B")}, admit, ""},
		{"a gap in versions is admitted", held{active: 4, mark: 4, members: active}, offered{version: 900, members: texts("agent", "B")}, admit, ""},
		{"the same set is unchanged", held{active: 4, mark: 4, members: active}, offered{version: 4, members: texts("agent", "A", "flor", "F")}, unchanged, ""},
		{"the same set not yet confirmed is unchanged", held{active: 4, mark: 3, members: active}, offered{version: 4, members: texts("agent", "A", "flor", "F")}, unchanged, ""},
		{"an older version is a replay", held{active: 4, mark: 4, members: active}, offered{version: 3, members: texts("agent", "A")}, 0, Replay},
		{"below an active set that is not confirmed is a replay", held{active: 5, mark: 3, members: active}, offered{version: 4, members: texts("agent", "A")}, 0, Replay},
		{"after recovery the mark still limits", held{active: 3, mark: 5, members: active}, offered{version: 4, members: texts("agent", "A")}, 0, Replay},
		{"after recovery the marked version is admitted", held{active: 3, mark: 5, members: active}, offered{version: 5, members: texts("agent", "B")}, admit, ""},
		{"the largest jump is admitted", held{active: 4, mark: 4, members: active}, offered{version: 4 + 1<<20, members: texts("agent", "B")}, admit, ""},
		{"one more is a version jump", held{active: 4, mark: 4, members: active}, offered{version: 5 + 1<<20, members: texts("agent", "B")}, 0, VersionJump},
		{"a member that differs is equivocation", held{active: 4, mark: 4, members: active}, offered{version: 4, members: texts("agent", "A", "flor", "G")}, 0, Equivocation},
		{"a member that is missing is equivocation", held{active: 4, mark: 4, members: active}, offered{version: 4, members: texts("agent", "A")}, 0, Equivocation},
		{"a member too many is equivocation", held{active: 4, mark: 4, members: active}, offered{version: 4, members: texts("agent", "A", "flor", "F", "x", "X")}, 0, Equivocation},
		{"a damaged active set is repaired by itself", held{active: 4, mark: 4, members: texts("agent", "A"), damaged: true}, offered{version: 4, members: texts("agent", "A", "flor", "F")}, admit, ""},
		{"a damaged active set is not repaired by another", held{active: 4, mark: 4, members: texts("agent", "A"), damaged: true}, offered{version: 4, members: texts("agent", "B", "flor", "F")}, 0, Equivocation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := judge(tt.held, tt.offered)
			var refusal *Refusal
			if errors.As(err, &refusal) != (tt.reason != "") || refusal != nil && refusal.Reason != tt.reason {
				t.Fatalf("judge: %v, want reason %q", err, tt.reason)
			}
			if refusal != nil && refusal.Offered != tt.offered.version {
				t.Errorf("refusal tells offered v%d, want v%d", refusal.Offered, tt.offered.version)
			}
			if diff := cmp.Diff(tt.verdict, got); err == nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// AGT-4.2: a person who hands an older set in reads of a file, not of a coordinator.
func TestAnOlderSetIsToldByItsSource(t *testing.T) {
	t.Parallel()
	for words, byFile := range map[string]bool{
		"FL1401 replay: the node has accepted v4, the file has v3: hand in a set that is not older":               true,
		"FL1401 replay: the node has accepted v4, the coordinator offers v3: publish the newest tree there again": false,
	} {
		if _, err := judge(held{active: 4, mark: 4}, offered{version: 3, byFile: byFile}); err == nil || err.Error() != words {
			t.Errorf("%v, want %s", err, words)
		}
	}
}
