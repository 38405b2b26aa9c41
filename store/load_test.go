package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

const (
	currentPath = "artifacts/mgmt/current"
	setsPath    = "artifacts/mgmt/sets"
	statePath   = "agent/state.json"
)

// flip changes an artifact so that it still parses: one letter of its signature.
func flip(t *testing.T, root, name string) {
	t.Helper()
	text := read(t, root, name)
	const member = `"value": "`
	i := strings.Index(text, member) + len(member)
	letter := "A"
	if text[i] == 'A' {
		letter = "B"
	}
	overwrite(t, root, name, text[:i]+letter+text[i+1:])
}

func remove(t *testing.T, root, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

func zeroFill(t *testing.T, root, name string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, root, name, strings.Repeat("\x00", int(info.Size())))
}

// TestLoadRunsTheLastKnownGood is the table of SET-5: v1 is retained, v2 active.
func TestLoadRunsTheLastKnownGood(t *testing.T) {
	t.Parallel()
	type want struct {
		Version    uint64
		Recovered  bool
		Unverified []string
		Sets       []string // on disk afterwards
	}
	both, first := []string{"v1", "v2"}, []string{"v1"}
	cases := map[string]struct {
		damage func(t *testing.T, root string)
		want   want
	}{
		"nothing is damaged":                 {func(*testing.T, string) {}, want{2, false, nil, both}},
		"current has no newline":             {func(t *testing.T, r string) { overwrite(t, r, currentPath, "v2") }, want{2, false, nil, both}},
		"current is missing":                 {func(t *testing.T, r string) { remove(t, r, currentPath) }, want{2, true, nil, both}},
		"current is empty":                   {func(t *testing.T, r string) { overwrite(t, r, currentPath, "") }, want{2, true, nil, both}},
		"current is zero-filled":             {func(t *testing.T, r string) { zeroFill(t, r, currentPath) }, want{2, true, nil, both}},
		"current names what is not there":    {func(t *testing.T, r string) { overwrite(t, r, currentPath, "v9\n") }, want{2, true, nil, both}},
		"current names a path":               {func(t *testing.T, r string) { overwrite(t, r, currentPath, "../sets/v2\n") }, want{2, true, nil, both}},
		"current has two lines":              {func(t *testing.T, r string) { overwrite(t, r, currentPath, "v1\nv2\n") }, want{2, true, nil, both}},
		"current is huge":                    {func(t *testing.T, r string) { overwrite(t, r, currentPath, strings.Repeat("v", 1<<20)) }, want{2, true, nil, both}},
		"current is a directory":             {func(t *testing.T, r string) { remove(t, r, currentPath); mkdir(t, r, currentPath) }, want{2, true, nil, both}},
		"current is a link":                  {func(t *testing.T, r string) { remove(t, r, currentPath); link(t, r, "sets/v1/agent.json", currentPath) }, want{2, true, nil, both}},
		"the active set is gone":             {func(t *testing.T, r string) { remove(t, r, setsPath+"/v2") }, want{1, true, nil, first}},
		"the active root is changed":         {func(t *testing.T, r string) { flip(t, r, setsPath+"/v2/agent.json") }, want{1, true, nil, first}},
		"the active root is missing":         {func(t *testing.T, r string) { remove(t, r, setsPath+"/v2/agent.json") }, want{1, true, nil, first}},
		"an active member is changed":        {func(t *testing.T, r string) { flip(t, r, setsPath+"/v2/web.json") }, want{1, true, nil, first}},
		"an active member is no artifact":    {func(t *testing.T, r string) { edit(t, r, setsPath+"/v2/web.json", "payload", "Payload") }, want{1, true, nil, first}},
		"an active member is missing":        {func(t *testing.T, r string) { remove(t, r, setsPath+"/v2/web.json") }, want{1, true, nil, first}},
		"an active member is empty":          {func(t *testing.T, r string) { overwrite(t, r, setsPath+"/v2/web.json", "") }, want{1, true, nil, first}},
		"an active member is zero-filled":    {func(t *testing.T, r string) { zeroFill(t, r, setsPath+"/v2/web.json") }, want{1, true, nil, first}},
		"an active member is of another set": {func(t *testing.T, r string) { copyFile(t, r, setsPath+"/v1/web.json", setsPath+"/v2/web.json") }, want{1, true, nil, first}},
		"an active member is a link": {func(t *testing.T, r string) {
			remove(t, r, setsPath+"/v2/web.json")
			link(t, r, "edge.json", setsPath+"/v2/web.json")
		}, want{1, true, nil, first}},
		"an active member is a FIFO": {func(t *testing.T, r string) {
			remove(t, r, setsPath+"/v2/web.json")
			fifo(t, r, setsPath+"/v2/web.json")
		}, want{1, true, nil, first}},
		"a member of every set is damaged": {func(t *testing.T, r string) {
			flip(t, r, setsPath+"/v1/web.json")
			flip(t, r, setsPath+"/v2/edge.json")
		}, want{2, true, []string{"edge"}, both}},
		"only a root of the older set is left": {func(t *testing.T, r string) {
			remove(t, r, setsPath+"/v1/web.json")
			remove(t, r, setsPath+"/v1/edge.json")
			remove(t, r, setsPath+"/v2")
		}, want{1, true, []string{"edge", "web"}, first}},
	}
	network := newRete()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir, root := network.twoSets(t)
			c.damage(t, root)
			loaded := load(t, open(t, stateDir))
			got := want{loaded.Active.Version, loaded.Recovered, loaded.Active.Unverified, names(t, root, setsPath)}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("wrong outcome (-want +got):\n%s\nproblem: %v", diff, loaded.Problem)
			}
			if (loaded.Problem != nil) != c.want.Recovered {
				t.Errorf("recovered is %v, the problem %v", c.want.Recovered, loaded.Problem)
			}
			if loaded.State.Mark != 2 || loaded.TrustLost {
				t.Errorf("mark %d, trust lost %v; the mark must stay at 2 and the trust known", loaded.State.Mark, loaded.TrustLost)
			}
			again := load(t, open(t, stateDir))
			if again.Active.Version != loaded.Active.Version || again.State.Mark != 2 {
				t.Errorf("a second start runs version %d under mark %d", again.Active.Version, again.State.Mark)
			}
		})
	}
}

// TestLoadAfterRecoveryAdmitsAgain shows that the damaged set can come again
// from the network: the mark does not stand in its way (SET-5).
func TestLoadAfterRecoveryAdmitsAgain(t *testing.T) {
	t.Parallel()
	network := newRete()
	stateDir, root := network.twoSets(t)
	flip(t, root, setsPath+"/v2/web.json")
	s := open(t, stateDir)
	if got := load(t, s).Active.Version; got != 1 {
		t.Fatalf("version %d is active after the damage, want 1", got)
	}
	if st, err := s.ConfirmMark(1); err != nil || st.Mark != 2 {
		t.Errorf("confirming the older set: mark %d, %v", st.Mark, err)
	}
	if st := network.admit(t, s, 2); st.Active != 2 || st.Mark != 2 {
		t.Errorf("after admitting it again: active %d, mark %d", st.Active, st.Mark)
	}
}

// TestLoadOfNothing refuses with the remedy when nothing can run (SET-5).
func TestLoadOfNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, root string){
		"no sets":             func(t *testing.T, r string) { remove(t, r, setsPath); mkdir(t, r, setsPath) },
		"no sets directory":   func(t *testing.T, r string) { remove(t, r, setsPath) },
		"sets is a file":      func(t *testing.T, r string) { overwrite(t, r, setsPath, "") },
		"sets is a link":      func(t *testing.T, r string) { remove(t, r, setsPath); link(t, r, "/etc", setsPath) },
		"no artifacts at all": func(t *testing.T, r string) { remove(t, r, "artifacts") },
		"every root is damaged": func(t *testing.T, r string) {
			flip(t, r, setsPath+"/v1/agent.json")
			flip(t, r, setsPath+"/v2/agent.json")
		},
		"nothing and state.json": func(t *testing.T, r string) { remove(t, r, setsPath); remove(t, r, statePath) },
		"every directory is empty": func(t *testing.T, r string) {
			remove(t, r, setsPath)
			mkdir(t, r, setsPath+"/v1")
			mkdir(t, r, setsPath+"/v2")
		},
	}
	network := newRete()
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir, root := network.twoSets(t)
			damage(t, root)
			_, err := open(t, stateDir).Load()
			wantReason(t, err, NothingUsable)
			if !strings.Contains(err.Error(), "flor enroll") {
				t.Errorf("the refusal names no remedy: %v", err)
			}
		})
	}
}

// TestLoadWithoutState is the table of SET-6: the record of trust is lost.
func TestLoadWithoutState(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, root string){
		"state.json is missing":            func(t *testing.T, r string) { remove(t, r, statePath) },
		"state.json is empty":              func(t *testing.T, r string) { overwrite(t, r, statePath, "") },
		"state.json is zero-filled":        func(t *testing.T, r string) { zeroFill(t, r, statePath) },
		"state.json is cut short":          func(t *testing.T, r string) { cutHalf(t, r, statePath) },
		"state.json is no object":          func(t *testing.T, r string) { overwrite(t, r, statePath, "[]") },
		"state.json has an unknown member": func(t *testing.T, r string) { edit(t, r, statePath, `"mark"`, `"extra": 1, "mark"`) },
		"state.json has a member twice":    func(t *testing.T, r string) { edit(t, r, statePath, `"mark"`, `"mark": 1, "mark"`) },
		"state.json has a bad digest":      func(t *testing.T, r string) { edit(t, r, statePath, `"agent": "`, `"agent": "zz`) },
		"state.json has a mark over 2^53":  func(t *testing.T, r string) { edit(t, r, statePath, `"mark": 2`, `"mark": 9007199254740993`) },
		"state.json has no records": func(t *testing.T, r string) {
			overwrite(t, r, statePath, `{"schema_version":"1.0","node":"alpha","mark":2,"sets":[],"retired":[]}`)
		},
		"state.json is of an unknown schema": func(t *testing.T, r string) { edit(t, r, statePath, `"1.0"`, `"one"`) },
		"state.json is a directory":          func(t *testing.T, r string) { remove(t, r, statePath); mkdir(t, r, statePath) },
		"the agent directory is gone":        func(t *testing.T, r string) { remove(t, r, "agent") },
	}
	network := newRete()
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir, root := network.twoSets(t)
			damage(t, root)
			overwrite(t, root, "artifacts/mgmt/current~", "v1")
			before := snapshot(t, root)
			delete(before, currentPath+"~")
			s := open(t, stateDir)
			loaded := load(t, s)
			if !loaded.TrustLost || loaded.Active.Version != 2 || len(loaded.Active.Unverified) != 0 || loaded.State.Node != testNode {
				t.Errorf("trust lost %v, active %d, unverified %v, node %q", loaded.TrustLost, loaded.Active.Version,
					loaded.Active.Unverified, loaded.State.Node)
			}
			if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
				t.Errorf("a start without trust changed the scope (-before +after):\n%s", diff)
			}
			_, err := s.Held(loaded.State)
			wantReason(t, err, TrustStateLost)
			_, err = s.Stage(network.set(t, 3))
			wantReason(t, err, TrustStateLost)
			_, err = s.ConfirmMark(2)
			wantReason(t, err, TrustStateLost)
		})
	}
}

// TestLoadWithoutStateVerifies runs nothing that its root's block does not
// vouch for (SET-6).
func TestLoadWithoutStateVerifies(t *testing.T) {
	t.Parallel()
	network := newRete()
	stateDir, root := network.twoSets(t)
	remove(t, root, statePath)
	flip(t, root, setsPath+"/v2/web.json")
	flip(t, root, setsPath+"/v1/edge.json")
	loaded := load(t, open(t, stateDir))
	if diff := cmp.Diff([]string{"web"}, loaded.Active.Unverified); diff != "" || loaded.Active.Version != 2 {
		t.Errorf("active %d, unverified (-want +got):\n%s", loaded.Active.Version, diff)
	}
	if got, want := slices.Sorted(maps.Keys(loaded.Active.Artifacts)), []string{"agent", "edge"}; !slices.Equal(got, want) {
		t.Errorf("artifacts %v, want %v", got, want)
	}
}

// TestLoadWithoutStateRefusesStrangers shows that a set by another CA does not
// run, however coherent (SET-6).
func TestLoadWithoutStateRefusesStrangers(t *testing.T) {
	t.Parallel()
	network, stranger := newRete(), newRete()
	stateDir, root := network.twoSets(t)
	remove(t, root, statePath)
	for i, name := range []string{"agent", "edge", "web"} {
		overwrite(t, root, setsPath+"/v2/"+name+".json", string(stranger.texts(2)[i]))
	}
	if got := load(t, open(t, stateDir)).Active.Version; got != 1 {
		t.Errorf("version %d runs, want 1", got)
	}
}

// TestLoadWithoutStateJudgesMembers: a member counts only where it belongs, and
// by the root's signer (SET-6, ENV-18).
func TestLoadWithoutStateJudgesMembers(t *testing.T) {
	t.Parallel()
	network := newRete()
	second := network.ca.Signer("second")
	payload := map[string]any{"schema_version": "1.0"}
	agent := network.ca.AgentPayload(testNode, envelopetest.Block(network.signer, second), "edge", "web")
	foreign := network.ca.AgentPayload(testNode, envelopetest.Block(network.signer), "edge", "web")
	foreign.Sync.Coordinator = "spiffe://elsewhere/service/coordinator"
	cases := map[string]struct {
		root, web      []byte
		wantVersion    uint64
		wantUnverified []string
	}{
		"as it was":                {nil, nil, 2, nil},
		"of another version":       {nil, network.signer.Sign(testNode, "web", 1, payload), 2, []string{"web"}},
		"of another node":          {nil, network.signer.Sign("beta", "web", 2, payload), 2, []string{"web"}},
		"of another name":          {nil, network.signer.Sign(testNode, "edge", 2, payload), 2, []string{"web"}},
		"of another listed signer": {network.signer.Sign(testNode, "agent", 2, agent), second.Sign(testNode, "web", 2, payload), 2, []string{"web"}},
		"a root of another domain": {network.signer.Sign(testNode, "agent", 2, foreign), nil, 1, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir, root := network.twoSets(t)
			remove(t, root, statePath)
			if c.root != nil {
				overwrite(t, root, setsPath+"/v2/agent.json", string(c.root))
			}
			if c.web != nil {
				overwrite(t, root, setsPath+"/v2/web.json", string(c.web))
				remove(t, root, setsPath+"/v1")
			}
			got := load(t, open(t, stateDir)).Active
			if got.Version != c.wantVersion || !slices.Equal(got.Unverified, c.wantUnverified) {
				t.Errorf("version %d runs without %v, want %d without %v", got.Version, got.Unverified, c.wantVersion, c.wantUnverified)
			}
		})
	}
}

// TestNewerFilesAreLeftAlone: what a newer flor wrote is refused, and nothing
// is touched (design "Directories").
func TestNewerFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.1", "2.0", "99999999999999999999.0"} {
		t.Run("state.json "+version, func(t *testing.T) {
			t.Parallel()
			stateDir, root := newRete().twoSets(t)
			edit(t, root, statePath, `"schema_version": "1.0"`, `"future": true, "schema_version": "`+version+`"`)
			overwrite(t, root, "artifacts/mgmt/v3.partial", "")
			before := snapshot(t, root)
			_, err := open(t, stateDir).Load()
			wantReason(t, err, StateTooNew)
			if diff := cmp.Diff(before, snapshot(t, root)); diff != "" {
				t.Errorf("the scope was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestNewerActiveSetIsLeftAlone: a set that a newer flor admitted is intact, and
// not dropped for an older one.
func TestNewerActiveSetIsLeftAlone(t *testing.T) {
	t.Parallel()
	stateDir, root := newRete().twoSets(t)
	web := setsPath + "/v2/web.json"
	before := canonicalDigest(t, root, web)
	edit(t, root, web, `"1.0"`, `"1.1"`)
	edit(t, root, statePath, before, canonicalDigest(t, root, web))
	scope := snapshot(t, root)
	_, err := open(t, stateDir).Load()
	wantReason(t, err, StateTooNew)
	if diff := cmp.Diff(scope, snapshot(t, root)); diff != "" {
		t.Errorf("the scope was changed (-before +after):\n%s", diff)
	}
}

func canonicalDigest(t *testing.T, root, name string) string {
	t.Helper()
	canonical, err := envelope.Canonical([]byte(read(t, root, name)))
	if err != nil {
		t.Fatal(err)
	}
	return digest(canonical)
}

func TestLoadForgetsASetThatNeverBecameActive(t *testing.T) {
	t.Parallel()
	network := newRete()
	stateDir, root := network.twoSets(t)
	s := open(t, stateDir)
	load(t, s)
	staged, err := s.Stage(network.set(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(staged); err != nil {
		t.Fatal(err)
	}
	overwrite(t, root, currentPath, "v2\n") // the crash came before the flip
	loaded := load(t, open(t, stateDir))
	if loaded.Active.Version != 2 || loaded.Recovered || loaded.State.Pending != 0 {
		t.Errorf("active %d, recovered %v, pending %d", loaded.Active.Version, loaded.Recovered, loaded.State.Pending)
	}
	if diff := cmp.Diff([]string{"v1", "v2"}, names(t, root, setsPath)); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
}

// TestUnflippedRotationRetiresNobody: a root that never became active took no
// key from anybody (SET-6, ENV-12); one that did keeps them retired (SET-5).
func TestUnflippedRotationRetiresNobody(t *testing.T) {
	t.Parallel()
	network := newRete()
	next := rete{ca: network.ca, signer: network.ca.Signer("second")}
	old := network.signer.Entry().Pubkey
	rotate := func(t *testing.T) (string, string) {
		stateDir, root := network.twoSets(t)
		s := open(t, stateDir)
		held, err := s.Held(load(t, s).State)
		if err != nil {
			t.Fatal(err)
		}
		staged, err := s.Stage(next.verify(t, held, next.texts(3)))
		if err != nil {
			t.Fatal(err)
		}
		st, err := s.Admit(staged)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{old}, st.Retired); diff != "" {
			t.Fatalf("retired after the rotation (-want +got):\n%s", diff)
		}
		return stateDir, root
	}
	t.Run("the crash came before the flip", func(t *testing.T) {
		t.Parallel()
		stateDir, root := rotate(t)
		overwrite(t, root, currentPath, "v2\n")
		if got := load(t, open(t, stateDir)).State.Retired; len(got) != 0 {
			t.Errorf("retired %v, want nobody", got)
		}
	})
	t.Run("the active set was damaged", func(t *testing.T) {
		t.Parallel()
		stateDir, root := rotate(t)
		flip(t, root, setsPath+"/v3/web.json")
		loaded := load(t, open(t, stateDir))
		if diff := cmp.Diff([]string{old}, loaded.State.Retired); diff != "" || loaded.Active.Version != 2 {
			t.Errorf("active %d, retired (-want +got):\n%s", loaded.Active.Version, diff)
		}
	})
}

func mkdir(t *testing.T, root, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, root, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

func fifo(t *testing.T, root, name string) {
	t.Helper()
	if err := syscall.Mkfifo(filepath.Join(root, name), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func copyFile(t *testing.T, root, from, to string) {
	t.Helper()
	overwrite(t, root, to, read(t, root, from))
}

func cutHalf(t *testing.T, root, name string) {
	t.Helper()
	text := read(t, root, name)
	overwrite(t, root, name, text[:len(text)/2])
}

// edit replaces one text by another, which must occur.
func edit(t *testing.T, root, name, from, to string) {
	t.Helper()
	text := read(t, root, name)
	if !strings.Contains(text, from) {
		t.Fatalf("%s does not contain %q:\n%s", name, from, text)
	}
	overwrite(t, root, name, strings.Replace(text, from, to, 1))
}

func names(t *testing.T, root, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Reason != want {
		t.Errorf("got error %v, want reason %s", err, want)
		return
	}
	if !strings.HasPrefix(err.Error(), want.Code()+" "+string(want)+":") {
		t.Errorf("%q does not begin with its code and reason", err)
	}
}
