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

// CMP-17: roles are a set, in whatever order somebody has them.
func TestTheOrderOfRolesIsNoOtherSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("users.yaml", "alice:  {roles: [developer]", "bob: {roles: [developer, admin], nodes: [{at: beta}]}\n  alice:  {roles: [admin, developer]")
	loaded, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := loaded.View.Principal("alice").Targets(), loaded.View.Principal("bob").Targets()
	if len(alice) != 2 || len(bob) != 2 || &alice[0] != &bob[0] {
		t.Errorf("alice reaches %d services and bob %d, want the same two", len(alice), len(bob))
	}
}
