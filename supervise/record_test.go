package supervise

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whatever the record holds, what comes out of it is safe to send a signal to.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"schema_version":"1.0","children":[{"name":"a","pid":42,"start_ticks":7,"boot_id":"b"}]}`))
	f.Add([]byte(`{"schema_version":"1.0","children":[{"name":"a","pid":-42}]}`))
	f.Add([]byte(`{"schema_version":"1.0","marks":[{"name":"a","boot_id":"b","marker":"K=v","cgroup":"/x/w-a"}]}`))
	f.Add([]byte(`{"schema_version":"9.0"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := parseRecord(text)
		if err != nil {
			return
		}
		for _, m := range doc.Marks {
			if m.Cgroup != "" && filepath.Base(m.Cgroup) != "w-"+m.Name || !strings.Contains(m.Marker+"=", "=") {
				t.Errorf("a mark %+v", m)
			}
		}
		for _, c := range doc.Children {
			if c.PID <= 1 || c.BootID == "" {
				t.Errorf("a child %+v", c)
			}
		}
		if again, err := json.Marshal(doc); err != nil {
			t.Error(err)
		} else if _, err := parseRecord(again); err != nil {
			t.Errorf("its own form is refused: %v in %s", err, again)
		}
	})
}

func TestEveryCodeIsOfThisPackageAndHasAReason(t *testing.T) {
	t.Parallel()
	for code, words := range Codes() {
		if !regexp.MustCompile(`^FL23\d\d$`).MatchString(code) || !regexp.MustCompile(`^[a-z0-9-]+: `).MatchString(words) {
			t.Errorf("%s: %s", code, words)
		}
	}
}
