package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParseCurrent: what is accepted is the one spelling of a set's name.
func FuzzParseCurrent(f *testing.F) {
	for _, seed := range []string{"v1\n", "v42", "", "v0", "v01", "v9007199254740992\n", "../v1", "v1\nv2\n", "\x00\x00\x00", "v-1", "v+1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		version, err := parseCurrent(text)
		if err != nil {
			return
		}
		if got := string(formatCurrent(version)); got != string(text) && got != string(text)+"\n" {
			t.Errorf("%q was read as version %d", text, version)
		}
	})
}

// FuzzParseState: what is accepted survives being written and read again.
func FuzzParseState(f *testing.F) {
	good, err := formatState(State{Node: testNode, Mark: 3, Pending: 4, Retired: []string{"a"}, Sets: []SetRecord{recordOf(mustSet(f))}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`{"schema_version":"1.1"}`))
	f.Add([]byte(`{"schema_version":"1.0","node":"a","mark":1,"sets":[{"version":1,"members":{"agent":"00"},"trust":{}}],"retired":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		st, err := parseState(text)
		if err != nil {
			return
		}
		written, err := formatState(st)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseState(written)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, written)
		}
		if rewritten, err := formatState(again); err != nil || !cmp.Equal(written, rewritten) {
			t.Errorf("written anew it differs:\n%s\n%s", written, rewritten)
		}
	})
}
