package relay

import (
	"net/url"
	"testing"
)

// FuzzParameters: what a query says of have and wait is what net/url reads in it.
func FuzzParameters(f *testing.F) {
	for _, query := range []string{"", "have=1", "have=1&wait=2&have=3", "h%61ve=%31&&x", "have", "have=+1&=&wait=%zz", "a;have=1", "have=1=2"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		have, wait, ok := parameters(query)
		want, err := url.ParseQuery(query)
		if ok != (err == nil) {
			t.Fatalf("understood: %v; net/url says: %v", ok, err)
		}
		if !ok {
			return
		}
		for name, got := range map[string]parameter{"have": have, "wait": wait} {
			if values := want[name]; got.times != len(values) || got.value != want.Get(name) {
				t.Errorf("%s is %+v, want %q", name, got, values)
			}
		}
	})
}
