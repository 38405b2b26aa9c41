package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// set reads "name=run:payload …"; a payload "-" is an artifact that failed.
func set(text string) []member {
	var members []member
	for _, field := range strings.Fields(text) {
		name, rest, _ := strings.Cut(field, "=")
		run, payload, _ := strings.Cut(rest, ":")
		m := member{name: name, run: run}
		if payload != "-" {
			m.payload = []byte(payload)
		}
		members = append(members, m)
	}
	return members
}

func spell(steps []step) string {
	var words []string
	for _, s := range steps {
		words = append(words, s.action.String()+" "+s.name)
	}
	return strings.Join(words, ", ")
}

// AGT-4.5, SUP-8: only what changed is touched, in list order.
func TestActivationPlan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prev, next, want string
	}{
		{"nothing changed keeps all", "a=x:1 b=y:1", "a=x:1 b=y:1", "keep a, keep b"},
		{"a changed payload is offered", "a=x:1 b=y:1", "a=x:2 b=y:1", "offer a, keep b"},
		{"a changed executable is a restart", "a=x:1", "a=y:1", "restart a"},
		{"a new workload starts", "a=x:1", "a=x:1 b=y:1", "keep a, start b"},
		{"those that left stop first and in reverse", "a=x:1 b=y:1 c=z:1", "b=y:1 d=w:1", "stop c, stop a, keep b, start d"},
		{"another order alone changes nothing", "a=x:1 b=y:1", "b=y:1 a=x:1", "keep b, keep a"},
		{"what could not be verified starts when it can", "a=x:-", "a=x:1", "start a"},
		{"the first set starts everything in list order", "", "b=y:1 a=x:1", "start b, start a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, spell(plan(set(tt.prev), set(tt.next)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// AGT-4.3: what is checked before staging is exactly what would run anew.
func TestOnlyWhatRunsOnSomethingNewIsChecked(t *testing.T) {
	t.Parallel()
	steps := plan(set("a=x:1 b=y:1 c=z:1 e=q:1"), set("a=x:2 b=w:1 c=z:1 d=v:1"))
	if diff := cmp.Diff([]string{"a", "b", "d"}, changed(steps)); diff != "" {
		t.Error(diff)
	}
}

// ENV-8, SUP-2: a process is kept as long as executable and canonical payload are
// the same.
func TestRevisionNamesExecutableAndPayload(t *testing.T) {
	t.Parallel()
	m := set("a=x:1")[0]
	if m.revision() != set("b=x:1")[0].revision() {
		t.Error("a name is part of the revision")
	}
	for _, other := range set("a=y:1 a=x:2 a=x1:") {
		if m.revision() == other.revision() {
			t.Errorf("run %q payload %q has the revision of run x payload 1", other.run, other.payload)
		}
	}
}
