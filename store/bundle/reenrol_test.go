package bundle

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/envelope/envelopetest"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/store/identity"
)

// enrolled is a scope of node alpha that was enrolled at version 3 and whose
// workload has kept something.
func (k kitchen) enrolled(t *testing.T) (stateDir string) {
	t.Helper()
	stateDir = t.TempDir()
	b := readBundle(t, k.deliver(t, order{version: 3, signer: k.signer}))
	if err := b.Install(stateDir, "lovers", Options{}); err != nil {
		t.Fatal(err)
	}
	dir, err := openScope(t, stateDir).WorkloadDir("edge")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kept"), []byte("by the workload"), 0o600); err != nil {
		t.Fatal(err)
	}
	return stateDir
}

func openScope(t *testing.T, stateDir string) *store.Scope {
	t.Helper()
	s, err := store.Open(stateDir, "lovers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func loadScope(t *testing.T, stateDir string) *store.Loaded {
	t.Helper()
	loaded, err := openScope(t, stateDir).Load()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func (k kitchen) install(t *testing.T, stateDir string, o order, options Options) error {
	t.Helper()
	return readBundle(t, k.deliver(t, o)).Install(stateDir, "lovers", options)
}

// rotate admits a set of this version by another signer, so that the first one's
// key is retired.
func (k kitchen) rotate(t *testing.T, stateDir string, version uint64, to *envelopetest.Identity) {
	t.Helper()
	s := openScope(t, stateDir)
	loaded, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	held, err := s.Held(loaded.State)
	if err != nil {
		t.Fatal(err)
	}
	set, err := schema.VerifySet(held, "alpha", k.ca.Set(to, "alpha", version), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	staged, err := s.Stage(set)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(staged); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ConfirmMark(version); err != nil {
		t.Fatal(err)
	}
}

func leafOf(t *testing.T, stateDir string) string {
	t.Helper()
	identities, err := identity.Open(openScope(t, stateDir).IdentityDir())
	if err != nil {
		t.Fatal(err)
	}
	svid, err := identities.SVID(alpha)
	if err != nil {
		t.Fatal(err)
	}
	return identity.Fingerprint(svid.Certificates[0])
}

// TestEnrolAgain is BND-3: identity and set are new, the mark is not lower, and
// what the workload kept is there.
func TestEnrolAgain(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	for name, version := range map[string]uint64{"at the same version": 3, "at a newer one": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir := k.enrolled(t)
			before := leafOf(t, stateDir)
			if err := k.install(t, stateDir, order{version: version, signer: k.signer}, Options{}); err != nil {
				t.Fatal(err)
			}
			if after := leafOf(t, stateDir); after == before {
				t.Error("the certificate is still the old one")
			}
			loaded := loadScope(t, stateDir)
			if loaded.Active.Version != version || loaded.State.Mark != version || loaded.Problem != nil {
				t.Errorf("active %d, mark %d, %v", loaded.Active.Version, loaded.State.Mark, loaded.Problem)
			}
			wantKept(t, stateDir)
		})
	}
}

func wantKept(t *testing.T, stateDir string) {
	t.Helper()
	kept := filepath.Join(stateDir, "retes", "lovers", "workloads", "edge", "kept")
	if text, err := os.ReadFile(kept); string(text) != "by the workload" {
		t.Errorf("the workload's state: %q, %v", text, err)
	}
}

// TestEnrolTheSameBundleAgain renews nothing and harms nothing.
func TestEnrolTheSameBundleAgain(t *testing.T) {
	t.Parallel()
	b, stateDir := readBundle(t, newKitchen().bake(t)), t.TempDir()
	for range 2 {
		if err := b.Install(stateDir, "lovers", Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if loaded := loadScope(t, stateDir); loaded.Active.Version != 3 || loaded.State.Mark != 3 {
		t.Errorf("active %d, mark %d", loaded.Active.Version, loaded.State.Mark)
	}
}

// TestEnrolAgainIsRefused: each refusal has its reason and leaves everything as
// it was.
func TestEnrolAgainIsRefused(t *testing.T) {
	t.Parallel()
	k, foreign := newKitchen(), newKitchen()
	other := k.ca.Signer("other")
	for name, c := range map[string]struct {
		k    kitchen
		by   order
		want any
	}{
		"a bundle older than the mark":      {k, order{version: 4, signer: other}, store.OlderThanMark},
		"another set of the active version": {k, order{version: 5, signer: other}, store.SetConflict},
		"another CA":                        {foreign, order{version: 9, signer: foreign.signer}, OtherEnrolment},
		"another node":                      {k, order{version: 9, signer: other, node: "beta"}, OtherEnrolment},
		"a retired signer":                  {k, order{version: 9, signer: k.signer}, NotTrustedHere},
		"a block that lists a retired one":  {k, order{version: 9, signer: other, block: k.both(other)}, NotTrustedHere},
		"a manifest by a retired signer":    {k, order{version: 9, signer: other, manifestBy: k.signer, block: k.both(other)}, NotTrustedHere},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir := k.enrolled(t)
			k.rotate(t, stateDir, 5, other)
			before := contentOf(t, stateDir)
			err := c.k.install(t, stateDir, c.by, Options{})
			switch want := c.want.(type) {
			case Reason:
				wantReason(t, err, want)
			case store.Reason:
				if refusal, ok := errors.AsType[*store.Refusal](err); !ok || refusal.Reason != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			if after := contentOf(t, stateDir); after != before {
				t.Errorf("what was there changed:\n%s\n%s", before, after)
			}
		})
	}
}

// contentOf is every file below a directory, with its content.
func contentOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".lock") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all.WriteString(name + "\n" + string(text) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestEnrolAgainByTheWayBack is ENV-12 (b): a node that was away during a
// rotation takes a bundle by a signer it has never heard of; the one it knew is
// retired then, and stays so through the next enrolment.
func TestEnrolAgainByTheWayBack(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	stateDir := k.enrolled(t)
	second, third := k.ca.Signer("second"), k.ca.Signer("third")
	for i, signer := range []*envelopetest.Identity{second, third} {
		if err := k.install(t, stateDir, order{version: uint64(6 + i), signer: signer}, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	retired := loadScope(t, stateDir).State.Retired
	for _, signer := range []*envelopetest.Identity{k.signer, second} {
		if !slices.Contains(retired, signer.Entry().Pubkey) {
			t.Errorf("the key of %s is not retired", signer.ID)
		}
		wantReason(t, k.install(t, stateDir, order{version: 9, signer: signer}, Options{}), NotTrustedHere)
	}
}

// TestResetMark lets the mark fall, and nothing else: retired keys stay.
func TestResetMark(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	stateDir := k.enrolled(t)
	other := k.ca.Signer("other")
	k.rotate(t, stateDir, 50, other)
	wantReason(t, k.install(t, stateDir, order{version: 2, signer: k.signer}, Options{ResetMark: true}), NotTrustedHere)
	if err := k.install(t, stateDir, order{version: 2, signer: other}, Options{ResetMark: true}); err != nil {
		t.Fatal(err)
	}
	loaded := loadScope(t, stateDir)
	if loaded.Active.Version != 2 || loaded.State.Mark != 2 || len(loaded.State.Sets) != 1 {
		t.Errorf("active %d, mark %d, %d records", loaded.Active.Version, loaded.State.Mark, len(loaded.State.Sets))
	}
	if !slices.Contains(loaded.State.Retired, k.signer.Entry().Pubkey) {
		t.Error("the retired key is forgotten")
	}
}

// TestEnrolByForce moves the whole scope aside and forgets what it held; the
// mark of the very same node is not given up by it.
func TestEnrolByForce(t *testing.T) {
	t.Parallel()
	k, foreign := newKitchen(), newKitchen()
	other := k.ca.Signer("other")
	for name, c := range map[string]struct {
		k       kitchen
		by      order
		options Options
		refused store.Reason
	}{
		"another CA":               {k: foreign, by: order{version: 1, signer: foreign.signer}, options: Options{Force: true}},
		"another node":             {k: k, by: order{version: 1, signer: other, node: "beta"}, options: Options{Force: true}},
		"a retired signer":         {k: k, by: order{version: 9, signer: k.signer}, options: Options{Force: true}},
		"older than the mark":      {k: k, by: order{version: 4, signer: k.signer}, options: Options{Force: true}, refused: store.OlderThanMark},
		"older, with --reset-mark": {k: k, by: order{version: 4, signer: k.signer}, options: Options{Force: true, ResetMark: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir := k.enrolled(t)
			k.rotate(t, stateDir, 5, other)
			old := contentOf(t, filepath.Join(stateDir, "retes", "lovers"))
			i, err := readBundle(t, c.k.deliver(t, c.by)).Begin(stateDir, "lovers", c.options)
			if c.refused != "" {
				if refusal, ok := errors.AsType[*store.Refusal](err); !ok || refusal.Reason != c.refused {
					t.Errorf("got %v, want %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if i.Kind != Replaced || i.Before == nil || !i.Before.Held.Anchor.CA.Equal(k.ca.CA) {
				t.Errorf("kind %s, before %v: the old CA cannot be shown", i.Kind, i.Before)
			}
			if err := errors.Join(i.Commit(), i.Close()); err != nil {
				t.Fatal(err)
			}
			if moved := contentOf(t, i.Aside); moved != old || filepath.Dir(i.Aside) != filepath.Join(stateDir, "retes") {
				t.Errorf("%s does not hold what was there", i.Aside)
			}
			loaded := loadScope(t, stateDir)
			if loaded.State.Mark != c.by.version || len(loaded.State.Retired) != 0 {
				t.Errorf("mark %d, retired %v", loaded.State.Mark, loaded.State.Retired)
			}
		})
	}
}

// TestEnrolOverDamage: what the store says to enrol again for can be enrolled
// again; what nobody can read takes force.
func TestEnrolOverDamage(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	for name, c := range map[string]struct {
		lost  []string
		needs Reason // empty: none
	}{
		"the state is lost":        {lost: []string{"agent/state.json"}},
		"every directory is lost":  {lost: []string{"agent", "artifacts/ctrl", "artifacts/mgmt/sets"}, needs: OtherEnrolment},
		"the sets are lost":        {lost: []string{"artifacts"}},
		"the keys are lost":        {lost: []string{"identity/certs"}},
		"the anchor is lost":       {lost: []string{"identity/ca.crt"}, needs: OtherEnrolment},
		"the identity is lost":     {lost: []string{"identity"}, needs: OtherEnrolment},
		"all but the root is lost": {lost: []string{"identity", "agent", "artifacts", "workloads"}, needs: OtherEnrolment},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateDir := k.enrolled(t)
			for _, lost := range c.lost {
				if err := os.RemoveAll(filepath.Join(stateDir, "retes", "lovers", lost)); err != nil {
					t.Fatal(err)
				}
			}
			o := order{version: 4, signer: k.signer}
			err := k.install(t, stateDir, o, Options{})
			if c.needs != "" {
				wantReason(t, err, c.needs)
				err = k.install(t, stateDir, o, Options{Force: true})
			} else {
				defer wantKept(t, stateDir)
			}
			if err != nil {
				t.Fatal(err)
			}
			if loaded := loadScope(t, stateDir); loaded.Active.Version != 4 || loaded.Problem != nil || loaded.TrustLost {
				t.Errorf("active %d, trust lost %v, %v", loaded.Active.Version, loaded.TrustLost, loaded.Problem)
			}
		})
	}
}

// TestStateOfANewerFlorIsNotEnrolledOver unless somebody insists.
func TestStateOfANewerFlorIsNotEnrolledOver(t *testing.T) {
	t.Parallel()
	k := newKitchen()
	stateDir := k.enrolled(t)
	state := filepath.Join(stateDir, "retes", "lovers", "agent", "state.json")
	if err := os.WriteFile(state, []byte(`{"schema_version":"2.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := k.install(t, stateDir, order{version: 4, signer: k.signer}, Options{})
	if refusal, ok := errors.AsType[*store.Refusal](err); !ok || refusal.Reason != store.StateTooNew {
		t.Errorf("got %v, want %s", err, store.StateTooNew)
	}
	if text, err := os.ReadFile(state); string(text) != `{"schema_version":"2.0"}` {
		t.Errorf("the file was touched: %q, %v", text, err)
	}
	if err := k.install(t, stateDir, order{version: 4, signer: k.signer}, Options{Force: true}); err != nil {
		t.Error(err)
	}
}
