package store

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocateFindsWhatTheAgentHandsOver(t *testing.T) {
	t.Parallel()
	l := Layout{State: t.TempDir()}
	mkdir(t, l.RetesDir(), "lovers/artifacts/mgmt")
	root := filepath.Join(l.RetesDir(), "lovers")
	overwrite(t, root, currentFile, "v7\n")
	want := func(set string) Paths {
		return Paths{
			Scope: "lovers", Name: "flor", ScopeRoot: root,
			Artifact: filepath.Join(root, "artifacts", "mgmt", "sets", set, "flor.json"),
			StateDir: filepath.Join(root, "workloads", "flor"),
		}
	}
	cases := map[string]struct {
		scope, name, set string
		want             Paths
		fails            bool
	}{
		"the only scope and its active set": {"", "flor", "", want("v7"), false},
		"what is named":                     {"lovers", "flor", "v3", want("v3"), false},
		"a set that is no set":              {"lovers", "flor", "../../x", Paths{}, true},
		"a set in another spelling":         {"lovers", "flor", "v03", Paths{}, true},
		"a name that leads out":             {"lovers", "../agent/state", "", Paths{}, true},
		"a scope that leads out":            {"../x", "flor", "", Paths{}, true},
		"a scope that is not enrolled":      {"haters", "flor", "", Paths{}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := l.Locate(c.scope, c.name, c.set)
			if (err != nil) != c.fails {
				t.Fatalf("error %v, want one: %v", err, c.fails)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestLocateStateNeedsNoSet(t *testing.T) {
	t.Parallel()
	l := Layout{State: t.TempDir()}
	mkdir(t, l.RetesDir(), "lovers")
	got, err := l.LocateState("", "coordinator")
	if want := filepath.Join(l.RetesDir(), "lovers", "workloads", "coordinator"); got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestLocateTellsADamagedCurrent(t *testing.T) {
	t.Parallel()
	l := Layout{State: t.TempDir()}
	mkdir(t, l.RetesDir(), "lovers/artifacts/mgmt")
	root := filepath.Join(l.RetesDir(), "lovers")
	for _, text := range []string{"", "\x00\x00", "current", "v1/../../x"} {
		overwrite(t, root, currentFile, text)
		if got, err := l.Locate("", "flor", ""); err == nil {
			t.Errorf("current %q: located %v", text, got)
		}
	}
}
