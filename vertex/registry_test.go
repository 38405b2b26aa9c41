package vertex

import "testing"

// VTX-14: what is accepted is counted, in all and by pair; what this vertex
// dialled is not, and what has ended is no longer, however often that is told.
func TestAcceptedConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	one, other := pair{user("alice"), service("web")}, pair{user("bob"), service("web")}
	accepted := func(p pair) *session { return &session{limits: bound{pair: p, side: accepting}} }
	first, second, third := accepted(one), accepted(one), accepted(other)
	for _, e := range []ender{first, second, third, &session{limits: bound{pair: one, side: dialling}}, &localFlow{}} {
		r.add(e)
	}
	for _, tt := range []struct {
		name        string
		remove      []ender
		all, ofPair int
	}{
		{"at first", nil, 3, 2},
		{"after the end of one", []ender{first}, 2, 1},
		{"which is told again", []ender{first}, 2, 1},
		{"after the end of all", []ender{second, third}, 0, 0},
	} {
		for _, e := range tt.remove {
			r.remove(e)
		}
		if all, ofPair := r.accepted(one); all != tt.all || ofPair != tt.ofPair {
			t.Errorf("%s: %d connections, %d of the pair, want %d and %d", tt.name, all, ofPair, tt.all, tt.ofPair)
		}
	}
	if len(r.cameOf) != 0 {
		t.Errorf("pairs without a connection are kept: %v", r.cameOf)
	}
}
