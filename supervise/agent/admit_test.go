package agent

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
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
		held    Held
		offered Offered
		verdict Verdict
		reason  Reason
	}{
		{"the next version is admitted", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 5, Members: texts("agent", "B")}, Admit, ""},
		{"a gap in versions is admitted", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 900, Members: texts("agent", "B")}, Admit, ""},
		{"the same set is unchanged", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 4, Members: texts("agent", "A", "flor", "F")}, Unchanged, ""},
		{"the same set not yet confirmed is unchanged", Held{Active: 4, Mark: 3, Members: active}, Offered{Version: 4, Members: texts("agent", "A", "flor", "F")}, Unchanged, ""},
		{"an older version is a replay", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 3, Members: texts("agent", "A")}, 0, Replay},
		{"below an active set that is not confirmed is a replay", Held{Active: 5, Mark: 3, Members: active}, Offered{Version: 4, Members: texts("agent", "A")}, 0, Replay},
		{"after recovery the mark still limits", Held{Active: 3, Mark: 5, Members: active}, Offered{Version: 4, Members: texts("agent", "A")}, 0, Replay},
		{"after recovery the marked version is admitted", Held{Active: 3, Mark: 5, Members: active}, Offered{Version: 5, Members: texts("agent", "B")}, Admit, ""},
		{"the largest jump is admitted", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 4 + 1<<20, Members: texts("agent", "B")}, Admit, ""},
		{"one more is a version jump", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 5 + 1<<20, Members: texts("agent", "B")}, 0, VersionJump},
		{"a member that differs is equivocation", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 4, Members: texts("agent", "A", "flor", "G")}, 0, Equivocation},
		{"a member that is missing is equivocation", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 4, Members: texts("agent", "A")}, 0, Equivocation},
		{"a member too many is equivocation", Held{Active: 4, Mark: 4, Members: active}, Offered{Version: 4, Members: texts("agent", "A", "flor", "F", "x", "X")}, 0, Equivocation},
		{"a damaged active set is repaired by itself", Held{Active: 4, Mark: 4, Members: texts("agent", "A"), Damaged: true}, Offered{Version: 4, Members: texts("agent", "A", "flor", "F")}, Admit, ""},
		{"a damaged active set is not repaired by another", Held{Active: 4, Mark: 4, Members: texts("agent", "A"), Damaged: true}, Offered{Version: 4, Members: texts("agent", "B", "flor", "F")}, 0, Equivocation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Judge(tt.held, tt.offered)
			var refusal *Refusal
			if errors.As(err, &refusal) != (tt.reason != "") || refusal != nil && refusal.Reason != tt.reason {
				t.Fatalf("Judge: %v, want reason %q", err, tt.reason)
			}
			if refusal != nil && refusal.Offered != tt.offered.Version {
				t.Errorf("refusal tells offered v%d, want v%d", refusal.Offered, tt.offered.Version)
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
		if _, err := Judge(Held{Active: 4, Mark: 4}, Offered{Version: 3, ByFile: byFile}); err == nil || err.Error() != words {
			t.Errorf("%v, want %s", err, words)
		}
	}
}

// AGT-4.2: what a verified set holds is compared in canonical form, under names
// whose case does not count (ENV-4).
func TestAVerifiedSetIsJudgedByItsContents(t *testing.T) {
	t.Parallel()
	authority := envelopetest.NewAuthority("demo")
	signer := authority.Signer("primary")
	set := func(version uint64, n int) *schema.Set {
		root := authority.AgentPayload("alpha", envelopetest.Block(signer), "App")
		texts := [][]byte{
			signer.Sign("alpha", envelope.AgentName, version, root),
			signer.Sign("alpha", "App", version, map[string]any{"schema_version": "1.0", "n": n}),
		}
		texts[1] = append(texts[1], '\n')
		verified, err := schema.VerifySet(envelope.Held{Anchor: authority.Anchor()}, "alpha", texts, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return verified
	}
	first := set(4, 1)
	holds := Held{Active: 4, Mark: 4, Members: Contents(first)}
	if _, ok := holds.Members["app"]; !ok || len(holds.Members) != 2 {
		t.Fatalf("contents: %q", slices.Collect(maps.Keys(holds.Members)))
	}
	judged := func(s *schema.Set) string {
		v, err := Judge(holds, Offered{Version: s.Version, Members: Contents(s)})
		if err != nil {
			return reasonOf(err)
		}
		return map[Verdict]string{Admit: "admit", Unchanged: "unchanged"}[v]
	}
	got := []string{judged(first), judged(set(5, 1)), judged(set(4, 2)), judged(set(3, 1))}
	if diff := cmp.Diff([]string{"unchanged", "admit", "equivocation", "replay"}, got); diff != "" {
		t.Error(diff)
	}
}
