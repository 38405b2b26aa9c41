package compiler

import "testing"

// CMP-17: what a set of roles reaches is worked out once, and shared by all who
// have those roles.
func TestWhoHasTheSameRolesSharesTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(benchSize{nodes: 30, services: 20, reach: 10})
	loaded, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	first := map[*Role]*User{}
	for _, u := range loaded.View.Users {
		role := u.Roles[0].Role
		other := first[role]
		if other == nil {
			first[role] = u
			continue
		}
		if &u.Targets()[0] != &other.Targets()[0] {
			t.Errorf("what %s reaches was worked out again for %s", role.Name, u.Name)
		}
	}
	if len(first) != 3 {
		t.Errorf("users have %d roles among them, want 3", len(first))
	}
}
