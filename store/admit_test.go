package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// TestAdmissionSteps shows what stands on disk after each step (SET-3, AGT-4).
func TestAdmissionSteps(t *testing.T) {
	t.Parallel()
	network := newRete()
	stateDir := network.enrol(t, 1)
	s := open(t, stateDir)
	load(t, s)
	set := network.set(t, 2)

	staged, err := s.Stage(set)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1", "v2.partial"}, names(t, s.Root(), setsPath)); diff != "" {
		t.Errorf("staged (-want +got):\n%s", diff)
	}
	web, _ := set.Member("web")
	if got := read(t, "/", staged.Path("web")); got != string(web.Raw()) {
		t.Errorf("the staged text differs:\n%s", got)
	}

	st, err := s.Admit(staged)
	if err != nil {
		t.Fatal(err)
	}
	if st.Active != 2 || st.Pending != 2 || st.Mark != 1 || read(t, s.Root(), currentPath) != "v2\n" {
		t.Errorf("admitted: active %d, pending %d, mark %d, current %q", st.Active, st.Pending, st.Mark, read(t, s.Root(), currentPath))
	}
	if staged.Path("web") != s.ArtifactPath(2, "web") {
		t.Errorf("the admitted path is %s", staged.Path("web"))
	}
	if loaded := load(t, open(t, stateDir)); loaded.State.Pending != 2 || loaded.State.Mark != 1 {
		t.Errorf("a restart before the confirmation: pending %d, mark %d", loaded.State.Pending, loaded.State.Mark)
	}

	st, err = s.ConfirmMark(2)
	if err != nil || st.Mark != 2 || st.Pending != 0 {
		t.Errorf("confirmed: mark %d, pending %d, %v", st.Mark, st.Pending, err)
	}
	loaded := load(t, open(t, stateDir))
	if diff := cmp.Diff(st, loaded.State); diff != "" {
		t.Errorf("state after a restart (-held +read):\n%s", diff)
	}
}

func TestConfirmMarkIsForTheActiveSetOnly(t *testing.T) {
	t.Parallel()
	network := newRete()
	s := open(t, network.enrol(t, 5))
	load(t, s)
	for _, version := range []uint64{0, 4, 6} {
		_, err := s.ConfirmMark(version)
		wantReason(t, err, NotActive)
	}
	if st, err := s.ConfirmMark(5); err != nil || st.Mark != 5 {
		t.Errorf("mark %d, %v", st.Mark, err)
	}
}

// TestStageFindsTheSameSet is the end of SET-3: an existing sets/v<N> is taken
// when it is the same canonically, else refused.
func TestStageFindsTheSameSet(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(t *testing.T, dir string)
		want   Reason
	}{
		"the same bytes":      {func(*testing.T, string) {}, ""},
		"other white space":   {func(t *testing.T, d string) { overwrite(t, d, "web.json", read(t, d, "web.json")+"\n") }, ""},
		"a changed byte":      {func(t *testing.T, d string) { flip(t, d, "web.json") }, SetConflict},
		"a member less":       {func(t *testing.T, d string) { remove(t, d, "web.json") }, SetConflict},
		"a member more":       {func(t *testing.T, d string) { overwrite(t, d, "x.json", "{}") }, SetConflict},
		"a member as a link":  {func(t *testing.T, d string) { remove(t, d, "web.json"); link(t, d, "edge.json", "web.json") }, SetConflict},
		"a file in its place": {func(t *testing.T, d string) { overwrite(t, filepath.Dir(d), filepath.Base(d), "") }, SetConflict},
	}
	network := newRete()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, network.enrol(t, 1))
			load(t, s)
			set := network.set(t, 2)
			if err := durable.PublishDir(s.fsys, setDir(2), treeOf(set)); err != nil {
				t.Fatal(err)
			}
			c.change(t, filepath.Join(s.Root(), setDir(2)))
			staged, err := s.Stage(set)
			if c.want != "" {
				wantReason(t, err, c.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := staged.Discard(); err != nil {
				t.Fatal(err)
			}
			if st, err := s.Admit(staged); err != nil || st.Active != 2 {
				t.Errorf("active %d, %v", st.Active, err)
			}
		})
	}
}

// TestStageMendsAnAdmittedSet is a damaged active set without a predecessor: the
// same set, offered again, makes it whole (SET-5), and no other one does.
func TestStageMendsAnAdmittedSet(t *testing.T) {
	t.Parallel()
	damages := map[string]func(t *testing.T, dir string){
		"a changed byte":     func(t *testing.T, d string) { flip(t, d, "web.json") },
		"a member less":      func(t *testing.T, d string) { remove(t, d, "web.json") },
		"two members":        func(t *testing.T, d string) { flip(t, d, "web.json"); remove(t, d, "edge.json") },
		"a member as a link": func(t *testing.T, d string) { remove(t, d, "web.json"); link(t, d, "edge.json", "web.json") },
	}
	network := newRete()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir := network.enrol(t, 1)
			s := open(t, stateDir)
			load(t, s)
			whole := snapshot(t, filepath.Join(s.Root(), setDir(1)))
			damage(t, filepath.Join(s.Root(), setDir(1)))
			_, err := s.Stage(newRete().set(t, 1))
			wantReason(t, err, SetConflict)
			staged, err := s.Stage(network.set(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			if text := read(t, filepath.Dir(staged.Path("web")), "web.json"); text == "" {
				t.Error("what is staged cannot be read before it is admitted")
			}
			if st, err := s.Admit(staged); err != nil || st.Active != 1 || s.State().Pending != 1 {
				t.Fatalf("%+v, %v", st, err)
			}
			if diff := cmp.Diff(whole, snapshot(t, filepath.Join(s.Root(), setDir(1)))); diff != "" {
				t.Errorf("mended (-whole +mended):\n%s", diff)
			}
			if loaded := load(t, open(t, stateDir)); loaded.Recovered || len(loaded.Active.Unverified) > 0 {
				t.Errorf("after a restart: %+v", loaded)
			}
		})
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	t.Parallel()
	network := newRete()
	s := open(t, network.enrol(t, 1))
	load(t, s)
	before := snapshot(t, s.Root())
	staged, err := s.Stage(network.set(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	if err := staged.Discard(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, snapshot(t, s.Root())); diff != "" {
		t.Errorf("left over (-before +after):\n%s", diff)
	}
}

// TestDryRunStaysOutOfTheScope is AGT-4 step 3: a dry run's set lies below the
// runtime root and can never become active.
func TestDryRunStaysOutOfTheScope(t *testing.T) {
	t.Parallel()
	network := newRete()
	s := open(t, network.enrol(t, 1))
	load(t, s)
	before, runtimeRoot := snapshot(t, s.Root()), t.TempDir()
	staged, err := StageDryRun(runtimeRoot, network.set(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(staged.Path("web")); err != nil {
		t.Error(err)
	}
	_, err = s.Admit(staged)
	wantReason(t, err, StagedElsewhere)
	if err := staged.Discard(); err != nil {
		t.Fatal(err)
	}
	if left := names(t, runtimeRoot, "."); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	if diff := cmp.Diff(before, snapshot(t, s.Root())); diff != "" {
		t.Errorf("the scope changed (-before +after):\n%s", diff)
	}
}

// TestClean is the table of SET-4.
func TestClean(t *testing.T) {
	t.Parallel()
	network := newRete()
	s := open(t, network.enrol(t, 1))
	load(t, s)
	for _, version := range []uint64{2, 3, 4, 5} {
		network.admit(t, s, version)
	}
	if _, err := s.WorkloadDir("gone"); err != nil {
		t.Fatal(err)
	}
	for _, stranger := range []string{"current~", ".swp", "current.tmp", "sets/v43.bak", "sets/v6.partial", "sets/v007"} {
		overwrite(t, s.Root(), "artifacts/mgmt/"+stranger, "")
	}
	mkdir(t, s.Root(), "artifacts/mgmt/sets/v9")
	mkdir(t, s.Root(), "artifacts/mgmt/sets/v7.partial/deep")
	link(t, s.Root(), "../../../workloads", "artifacts/mgmt/sets/v8")
	if err := s.Clean(2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v2", "v4", "v5"}, names(t, s.Root(), setsPath)); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"current", "sets"}, names(t, s.Root(), "artifacts/mgmt")); diff != "" {
		t.Errorf("artifacts/mgmt (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"gone"}, names(t, s.Root(), "workloads")); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
	loaded := load(t, s)
	var recorded []uint64
	for _, r := range loaded.State.Sets {
		recorded = append(recorded, r.Version)
	}
	if diff := cmp.Diff([]uint64{4, 5}, recorded); diff != "" {
		t.Errorf("records after a start without processes (-want +got):\n%s", diff)
	}
}

// TestHeldTrustIsTheActiveSets is SET-6: what is held is the block that was
// recorded, and nothing of a file that can be changed without its record.
func TestHeldTrustIsTheActiveSets(t *testing.T) {
	t.Parallel()
	network := newRete()
	s := open(t, network.enrol(t, 1))
	held, err := s.Held(load(t, s).State)
	if err != nil {
		t.Fatal(err)
	}
	want := envelope.Block{Mgmt: []envelope.Entry{network.signer.Entry()}}
	if diff := cmp.Diff(want, held.Signers.Block()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if held.Anchor.TrustDomain.Name() != "rete-lovers" || !held.Anchor.CA.Equal(network.ca.CA) {
		t.Errorf("anchor: %v", held.Anchor.TrustDomain)
	}
}

func TestAnchorRefuses(t *testing.T) {
	t.Parallel()
	network := newRete()
	for name, damage := range map[string]func(t *testing.T, root string){
		"no ca.crt":            func(t *testing.T, r string) { remove(t, r, "identity/ca.crt") },
		"no rete.json":         func(t *testing.T, r string) { remove(t, r, "identity/rete.json") },
		"no identity":          func(t *testing.T, r string) { remove(t, r, "identity") },
		"a ca.crt without PEM": func(t *testing.T, r string) { overwrite(t, r, "identity/ca.crt", "x") },
		"two certificates in ca.crt": func(t *testing.T, r string) {
			overwrite(t, r, "identity/ca.crt", read(t, r, "identity/ca.crt")+read(t, r, "identity/ca.crt"))
		},
		"a ca.crt of 1 MiB": func(t *testing.T, r string) { overwrite(t, r, "identity/ca.crt", string(make([]byte, 1<<20))) },
		"rete.json with more members": func(t *testing.T, r string) {
			overwrite(t, r, "identity/rete.json", `{"trust_domain":"rete-lovers","x":1}`)
		},
		"rete.json with an ID": func(t *testing.T, r string) {
			overwrite(t, r, "identity/rete.json", `{"trust_domain":"spiffe://rete-lovers/x"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, network.enrol(t, 1))
			damage(t, s.Root())
			_, err := s.Anchor()
			wantReason(t, err, BadAnchor)
		})
	}
}

// TestWorkloadDir makes what is missing and follows no link.
func TestWorkloadDir(t *testing.T) {
	t.Parallel()
	s := open(t, newRete().enrol(t, 1))
	dir, err := s.WorkloadDir("web")
	if err != nil {
		t.Fatal(err)
	}
	wantMode(t, dir, 0o700)
	overwrite(t, dir, "kept", "x")
	if again, err := s.WorkloadDir("web"); err != nil || again != dir || read(t, dir, "kept") != "x" {
		t.Errorf("the second time: %s, %v", again, err)
	}
	_, err = s.WorkloadDir("../identity")
	wantReason(t, err, BadWorkloadName)
	link(t, s.Root(), "../identity", "workloads/evil")
	if _, err := s.WorkloadDir("evil"); !errors.As(err, new(*durable.KindError)) {
		t.Errorf("a link as workload directory: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	stateDir := newRete().enrol(t, 1)
	retes := filepath.Join(stateDir, "retes")
	_, err := Open(stateDir, "other")
	wantReason(t, err, NotEnrolled)
	link(t, retes, testScope, "linked")
	if _, err := Open(stateDir, "linked"); !errors.As(err, new(*durable.KindError)) {
		t.Errorf("a link as scope root: %v", err)
	}
	overwrite(t, retes, "file", "")
	if _, err := Open(stateDir, "file"); !errors.As(err, new(*durable.KindError)) {
		t.Errorf("a file as scope root: %v", err)
	}
}

// TestOpenFinishesTheIdentity is the end of SET-8.
func TestOpenFinishesTheIdentity(t *testing.T) {
	t.Parallel()
	network := newRete()
	for name, rename := range map[string]string{"undone": "identity.old", "finished": "identity.partial"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, network.enrol(t, 1))
			if err := os.Rename(s.IdentityDir(), filepath.Join(s.Root(), rename)); err != nil {
				t.Fatal(err)
			}
			if rename == "identity.partial" {
				mkdir(t, s.Root(), "identity.old")
			}
			again := open(t, filepath.Dir(filepath.Dir(s.Root())))
			if _, err := again.Anchor(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(s.Root(), "identity.old")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("identity.old is left: %v", err)
			}
		})
	}
}

// TestCreateRefusesAnExistingScope keeps what is enrolled (BND-2).
func TestCreateRefusesAnExistingScope(t *testing.T) {
	t.Parallel()
	network := newRete()
	stateDir := network.enrol(t, 1)
	before := snapshot(t, stateDir)
	e, err := network.enrolment()
	if err != nil {
		t.Fatal(err)
	}
	err = Create(stateDir, testScope, e)
	wantReason(t, err, AlreadyEnrolled)
	if want := "node alpha of rete-lovers, mark 1"; !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not tell %q", err, want)
	}
	if diff := cmp.Diff(before, snapshot(t, stateDir)); diff != "" {
		t.Errorf("the scope changed (-before +after):\n%s", diff)
	}
}

// TestCreateAfterACrash starts over where an enrolment was cut short (BND-2).
func TestCreateAfterACrash(t *testing.T) {
	t.Parallel()
	network := newRete()
	stateDir := filepath.Join(t.TempDir(), "state")
	mkdir(t, stateDir, "retes/lovers.partial/identity/certs")
	l := Layout{State: stateDir}
	if scopes, err := l.Scopes(); len(scopes) != 0 || err != nil {
		t.Errorf("half a scope is listed: %v, %v", scopes, err)
	}
	e, err := network.enrolment()
	if err != nil {
		t.Fatal(err)
	}
	if err := Create(stateDir, testScope, e); err != nil {
		t.Fatal(err)
	}
	load(t, open(t, stateDir))
	if diff := cmp.Diff([]string{"lovers"}, names(t, stateDir, "retes")); diff != "" {
		t.Errorf("retes (-want +got):\n%s", diff)
	}
}
