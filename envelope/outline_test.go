package envelope

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var outlineSeeds = []string{
	`{}`, `{ }`, `[]`, ``, ` {}`, `{} `, `{}{}`, `{"a":1}`, `{"a":-1.5e+3 , "b" : true,"c":null,"d":false}`,
	`{"a":"\"","b":"\\","c":"\\\"","d":"}","e":"{[","":"\u0000","f\"":"x"}`,
	`{"a":[],"b":{},"c":[[],{}],"d":{"e":[{"f":"]"}]},"g":[1,"2",null]}`,
	"{\r\n\t \"a\"\r\n\t :\r\n\t [ 1 , 2 ]\r\n\t ,\"b\":\r\n\t 0\r\n\t }",
	`{"n\u006fde":"alpha","node":"beta","plane":"\u006dgmt"}`, `{"a":1,"a":2}`,
	`{"a":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}`,
	`{"a":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`,
	`{"a":"` + "\xff" + `"}`, `{"a":"\ud800"}`, `{"a":01}`, `{"a":1,}`, `{"a" 1}`, `{,}`, `{"a":1 "b":2}`, `{"a":tru}`,
	`{"schema_version":"1.0","plane":"mgmt","version":1,"node":"a","name":"agent","payload":{"x":[1,{"y":"\u00e9é"}]}}`,
	`{"schema_version":"1.0","plane":{"ctrl":1},"version":1,"node":"a","name":"b"}`,
}

// FuzzOutline is ENV-16 held by two readers: the one that looks for the ends of
// values alone sees in every text exactly what the one sees that looks at each
// token, faults included.
func FuzzOutline(f *testing.F) {
	for _, s := range outlineSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = trimSpace(text)
		before := bytes.Clone(text)
		fast, fastErr := routingObject(nil, text)
		slow, slowErr := routingScanner(text).object()
		if !bytes.Equal(before, text) {
			t.Fatal("the text was changed")
		}
		if !reflect.DeepEqual(fastErr, slowErr) {
			t.Fatalf("%v, and token by token %v", fastErr, slowErr)
		}
		if diff := cmp.Diff(slow, fast, cmp.AllowUnexported(member{}), equateEmpty); slowErr == nil && diff != "" {
			t.Fatal(diff)
		}
		if slowErr == nil && !isObject(text) {
			t.Fatal("an object was read token by token, which is slow")
		}
	})
}

// FuzzMembers: a member of a set document routes as its text routes alone, in
// whatever company (ENV-16, ENV-17).
func FuzzMembers(f *testing.F) {
	for _, s := range outlineSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for m, err := range Members(AppendSet(nil, text, []byte("{}"))) {
			if err != nil {
				return
			}
			got, gotErr := m.Probe()
			want, wantErr := Probe(m.Text())
			if got != want || !reflect.DeepEqual(gotErr, wantErr) {
				t.Fatalf("%s: %+v, %v; alone %+v, %v", m.Text(), got, gotErr, want, wantErr)
			}
		}
	})
}

// equateEmpty takes no members for no members, whoever says so.
var equateEmpty = cmp.FilterValues(func(a, b object) bool { return len(a)+len(b) == 0 },
	cmp.Comparer(func(_, _ object) bool { return true }))

// TestNamesThatRepeat: few and many names are told apart alike.
func TestNamesThatRepeat(t *testing.T) {
	t.Parallel()
	names := func(s string) (o object) {
		for name := range strings.SplitSeq(s, "") {
			o = append(o, member{name: name})
		}
		return o
	}
	tests := map[string]struct {
		names string
		want  string
	}{
		"few, all different":  {"abcd", ""},
		"few, one twice":      {"abcb", "b"},
		"few, the last twice": {"abcdefghijklmnoo", "o"},
		"many, all different": {"abcdefghijklmnopq", ""},
		"many, one twice":     {"abcdefghijklmnopb", "b"},
		"the first to repeat": {"abba", "b"},
	}
	for name, tc := range tests {
		got, twice := names(tc.names).repeated()
		if got != tc.want || twice != (tc.want != "") {
			t.Errorf("%s: %q %v, want %q", name, got, twice, tc.want)
		}
	}
}

// TestMembersStopWhenNoMoreAreWanted: a fault behind them is not looked for.
func TestMembersStopWhenNoMoreAreWanted(t *testing.T) {
	t.Parallel()
	seen := 0
	for m, err := range Members([]byte(`{"artifacts":[{"a":1},{},,`)) {
		if err != nil || string(m.Text()) != `{"a":1}` {
			t.Errorf("%s, %v", m.Text(), err)
		}
		seen++
		break
	}
	if seen != 1 {
		t.Errorf("%d members", seen)
	}
}

// TestMembersGiveTheFaultLast: what stands before a fault is handed over, and the
// fault ends it.
func TestMembersGiveTheFaultLast(t *testing.T) {
	t.Parallel()
	var got []string
	var last error
	for m, err := range Members([]byte(`{"artifacts":[{"a":1},{"b":2},[]]}`)) {
		if last != nil {
			t.Fatalf("something follows %v", last)
		}
		got, last = append(got, string(m.Text())), err
	}
	if diff := cmp.Diff([]string{`{"a":1}`, `{"b":2}`, ``}, got); diff != "" {
		t.Error(diff)
	}
	var refusal *Refusal
	if !errors.As(last, &refusal) || refusal.Reason != WrongType {
		t.Errorf("the fault is %v", last)
	}
}

// TestAMemberOverTheLimitIsNoArtifact: a document may have members that no
// artifact may be as large as.
func TestAMemberOverTheLimitIsNoArtifact(t *testing.T) {
	t.Parallel()
	large := append(bytes.Repeat([]byte(" "), MaxEnvelope), '}')
	for m := range Members(AppendSet(nil, append([]byte("{"), large...))) {
		_, err := m.Probe()
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Reason != TooLarge {
			t.Error(err)
		}
	}
}
