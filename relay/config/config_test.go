package config_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/relay/config"
)

const good = `{"schema_version":"1.0","listen":{"sync":"127.0.0.1:9000","publish":"127.0.0.1:9001"}}`

// CRD-1: the payload on the page is taken, and is what a producer writes.
func TestThePayloadOfTheContractIsTaken(t *testing.T) {
	t.Parallel()
	got, err := config.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{SchemaVersion: "1.0", Listen: config.Listen{Sync: "127.0.0.1:9000", Publish: "127.0.0.1:9001"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	written, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(good, string(written)); diff != "" {
		t.Error(diff)
	}
}

// CRD-1, ENV-14: what cannot be served is refused with a code and the next step.
func TestPayloadsThatCannotBeServedAreRefused(t *testing.T) {
	t.Parallel()
	listen := func(sync, publish string) string {
		return `{"schema_version":"1.0","listen":{"sync":"` + sync + `","publish":"` + publish + `"}}`
	}
	cases := map[string]struct {
		payload string
		code    string
		words   []string
	}{
		"nothing":                        {"", "FL3401", []string{"one JSON object"}},
		"null":                           {"null", "FL3401", []string{"one JSON object"}},
		"an array":                       {"[]", "FL3401", []string{"one JSON object"}},
		"cut short":                      {good[:40], "FL3401", nil},
		"two documents":                  {good + good, "FL3401", nil},
		"an unknown member":              {strings.Replace(good, "{", `{"x":1,`, 1), "FL3401", []string{"x"}},
		"an unknown member below listen": {strings.Replace(good, `"sync"`, `"z":1,"sync"`, 1), "FL3401", nil},
		"a name in another case":         {strings.Replace(good, `"listen"`, `"Listen"`, 1), "FL3401", nil},
		"a duplicate name":               {strings.Replace(good, `{"schema`, `{"schema_version":"1.0","schema`, 1), "FL3401", nil},
		"too long":                       {good + strings.Repeat(" ", config.MaxPayload), "FL3401", []string{"limit"}},
		"a newer minor":                  {strings.Replace(good, "1.0", "1.1", 1), "FL3402", []string{"upgrade flor-coordinator"}},
		"a newer minor with new members": {`{"schema_version":"1.7","listen":{},"watch":{}}`, "FL3402", []string{"upgrade"}},
		"a newer major":                  {strings.Replace(good, "1.0", "2.0", 1), "FL3402", []string{"upgrade"}},
		"an older major":                 {strings.Replace(good, "1.0", "0.9", 1), "FL3403", []string{"compile it again"}},
		"no schema_version":              {`{"listen":{"sync":"127.0.0.1:1","publish":"127.0.0.1:2"}}`, "FL3404", []string{"missing"}},
		"a schema_version of one number": {strings.Replace(good, "1.0", "1", 1), "FL3404", []string{"MAJOR.MINOR"}},
		"a leading zero":                 {strings.Replace(good, "1.0", "01.0", 1), "FL3404", nil},
		"no listeners, both named":       {`{"schema_version":"1.0","listen":{}}`, "FL3405", []string{"listen.sync is missing", "listen.publish is missing"}},
		"a host name":                    {listen("localhost:9000", "127.0.0.1:9001"), "FL3405", []string{"localhost:9000", "IP literal"}},
		"no port":                        {listen("127.0.0.1", "127.0.0.1:9001"), "FL3405", nil},
		"port zero":                      {listen("127.0.0.1:0", "127.0.0.1:9001"), "FL3405", []string{"port 0"}},
		"a zone":                         {listen("[fe80::1%eth0]:1", "127.0.0.1:9001"), "FL3405", nil},
		"one address twice":              {listen("127.0.0.1:9000", "127.0.0.1:9000"), "FL3405", []string{"a listener each"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Parse([]byte(c.payload))
			var refusal *config.Refusal
			if got != nil || !errors.As(err, &refusal) {
				t.Fatalf("Parse = %v, %v; want a refusal", got, err)
			}
			if refusal.Code() != c.code {
				t.Errorf("code %s, want %s: %v", refusal.Code(), c.code, err)
			}
			for _, word := range append(c.words, c.code) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
}

func TestEveryCodeIsOfTheBlock(t *testing.T) {
	t.Parallel()
	for _, code := range slices.Sorted(maps.Keys(config.Codes())) {
		if !strings.HasPrefix(code, "FL34") {
			t.Errorf("%s is of another block", code)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"schema_version":"1.1","listen":[]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		c, err := config.Parse(payload)
		var refusal *config.Refusal
		switch {
		case err == nil && c.Validate() != nil:
			t.Errorf("took what does not validate: %v", c.Validate())
		case err != nil && !errors.As(err, &refusal):
			t.Errorf("an error without a code: %v", err)
		}
	})
}
