package compiler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/florete/flor/compiler"
)

func lines(answer []compiler.Reach) []string {
	var list []string
	for _, r := range answer {
		list = append(list, r.Principal.Name+" → "+r.Service.Name)
	}
	return list
}

func TestAccessAnswersAQuestion(t *testing.T) { // CLI-3
	t.Parallel()
	v := baseView(t)
	for name, c := range map[string]struct {
		who, to string
		want    []string
	}{
		"who reaches what": {"", "", []string{
			"alpha → coordinator", "laptop → coordinator", "mgmt01 → coordinator",
			"api → alpha/ssh", "alice → api", "fyodor → coordinator-publisher",
		}},
		"what one reaches":            {"alice", "", []string{"alice → api"}},
		"by SPIFFE ID":                {"spiffe://rete-lovers/user/alice", "", []string{"alice → api"}},
		"who reaches one":             {"", "coordinator", []string{"alpha → coordinator", "laptop → coordinator", "mgmt01 → coordinator"}},
		"whether one reaches one":     {"api", "alpha/ssh", []string{"api → alpha/ssh"}},
		"that one does not":           {"alice", "alpha/ssh", nil},
		"the targets of a service":    {"spiffe://rete-lovers/service/api", "", []string{"api → alpha/ssh"}},
		"somebody who reaches nobody": {"coordinator", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := compiler.AccessQuery{}
			if c.who != "" {
				q.Who = v.Principal(c.who)
			}
			if c.to != "" {
				q.To = v.Service(c.to)
			}
			if diff := cmp.Diff(c.want, lines(v.Access(q))); diff != "" {
				t.Errorf("the answer differs (-want +got):\n%s", diff)
			}
		})
	}
	if v.Principal("nobody") != nil || v.Service("alice") != nil {
		t.Error("a name was found that is none")
	}
}

// TestNarrowAnswersAreThePartsOfTheWhole is a law of Access: what is asked for
// by principal or by service is what the whole answer says of them.
func TestNarrowAnswersAreThePartsOfTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v, found := validateSplit(rt, t.TempDir(), aRete(rt, false), 1)
		if v == nil {
			rt.Fatalf("unexpected faults: %v", found)
		}
		whole := v.Access(compiler.AccessQuery{})
		who := rapid.SampledFrom(v.Principals()).Draw(rt, "who")
		to := rapid.SampledFrom(v.Services).Draw(rt, "to")
		for _, q := range []compiler.AccessQuery{{Who: who}, {To: to}, {Who: who, To: to}} {
			var want []compiler.Reach
			for _, r := range whole {
				if (q.Who == nil || r.Principal == q.Who) && (q.To == nil || r.Service == q.To) {
					want = append(want, r)
				}
				if len(r.Grants) == 0 {
					rt.Errorf("%s reaches %s without a reason", r.Principal.Name, r.Service.Name)
				}
			}
			if diff := cmp.Diff(lines(want), lines(v.Access(q))); diff != "" {
				rt.Errorf("the answer differs from its part of the whole (-want +got):\n%s", diff)
			}
		}
	})
}
