package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/store/durable"
)

// scenario is a change of a scope that a crash may cut short, on the directory
// of the scope roots.
type scenario struct {
	name    string
	before  image
	ops     []op
	sets    map[uint64]durable.Tree           // what a set that stands must be
	allowed func(done map[string]bool) []seen // what a start may find when these calls have returned

	verdicts map[uint64]verdict // of disks that were looked at already, by their sum
}

// seen is what a start finds of a scope; zero where there is none.
type seen struct {
	Active, Mark, Pending uint64
	Trust, Retired        string // keys
	Identity              string // every file of identity/
	Workloads             string
	Sets                  string // versions of the records that are held
	Recovered             bool
	Unverified            string // workloads of which no whole artifact stands
	Aside                 string // what a replaced scope's root holds
}

// start opens the scope as the agent does at its start, and looks around.
func start(disk durable.FS) (seen, error) {
	found := seen{Aside: asideOn(disk)}
	if err := settleScope(disk, testScope); err != nil {
		return found, err
	}
	if _, err := disk.Lstat(testScope); errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	s := scopeOn(disk)
	if err := s.settle(); err != nil {
		return found, err
	}
	loaded, err := s.Load()
	if err != nil {
		return found, err
	}
	return found, found.fill(s, loaded)
}

func scopeOn(disk durable.FS) *Scope {
	return &Scope{name: testScope, dir: "/" + testScope, fsys: subdir{disk, testScope}}
}

func (found *seen) fill(s *Scope, loaded *Loaded) error {
	found.Unverified = strings.Join(loaded.Active.Unverified, " ")
	if loaded.TrustLost || loaded.Problem != nil && !loaded.Recovered && found.Unverified == "" {
		return fmt.Errorf("trust lost %v: %w", loaded.TrustLost, loaded.Problem)
	}
	held, err := s.Held(loaded.State)
	if err != nil {
		return err
	}
	st := loaded.State
	found.Active, found.Mark, found.Pending, found.Recovered = loaded.Active.Version, st.Mark, st.Pending, loaded.Recovered
	found.Trust, found.Retired = strings.Join(held.Signers.Keys(), " "), strings.Join(st.Retired, " ")
	for _, r := range st.Sets {
		found.Sets += setName(r.Version) + " "
	}
	found.Identity, found.Workloads = contentOn(s.fsys, identityDir), contentOn(s.fsys, workloadsDir)
	return nil
}

// contentOn is every file below a directory, with a digest of its content.
func contentOn(disk durable.FS, dir string) string {
	entries, err := readTree(disk, dir, "")
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&all, "%s %x\n", e.Name, sha256.Sum256(e.Data))
	}
	return all.String()
}

func asideOn(disk durable.FS) string {
	entries, err := disk.ReadDir(".")
	if err != nil {
		return err.Error()
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), replacedPrefix) {
			return contentOn(disk, e.Name())
		}
	}
	return ""
}

// checkSets finds a set that stands under its final name and is not whole
// (SET-3, SET-4).
func (sc scenario) checkSets(disk image) error {
	dir := path.Join(testScope, setsDir)
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return nil // there is none
	}
	for _, e := range entries {
		version, err := parseSetName(e.Name())
		if err != nil {
			continue
		}
		for _, want := range sc.sets[version].Entries {
			got := disk[path.Join(dir, e.Name(), want.Name)]
			if got == nil || !bytes.Equal(got.data, want.Data) {
				return fmt.Errorf("%s stands and its %s is not whole", e.Name(), want.Name)
			}
		}
	}
	return nil
}

// strays finds what a start has to clean away and has not (SET-4).
func strays(disk image) error {
	for name := range disk {
		first, _, _ := strings.Cut(name, "/")
		base := path.Base(name)
		switch {
		case strings.HasPrefix(first, replacedPrefix):
		case path.Dir(name) == "." && base == testScope+durable.PartialSuffix:
			// Half a first enrolment is no scope; the next one clears it away.
		case first != testScope && strings.HasPrefix(first, testScope+durable.PartialSuffix):
		case strings.HasPrefix(first, nextPrefix) && strings.HasSuffix(first, durable.PartialSuffix):
			// Half a replacement: the next one clears it away.
		case strings.HasSuffix(base, durable.TmpSuffix), strings.HasSuffix(base, durable.PartialSuffix),
			strings.HasSuffix(base, ".old"), strings.HasPrefix(first, nextPrefix), name == path.Join(testScope, journalDir):
			return fmt.Errorf("%s is left", name)
		}
	}
	return nil
}

// verdict is what a start made of a crashed disk.
type verdict struct {
	found seen
	err   error
}

// points tries every crash of the scenario from an operation on and yields what is wrong after it:
// nil where it held. With again it tries every crash of the start that follows
// on each, too.
func (sc scenario) points(from int, again bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, c := range crashes(sc.ops, from) {
			done := returned(sc.ops[:c.after])
			disk := sc.before.after(sc.ops, c)
			sum := disk.sum()
			_, known := sc.verdicts[sum]
			if !yield(sc.describe(c), sc.judge(disk, sum, done)) {
				return
			}
			if again && !known && !sc.crashAgain(disk, c, done, yield) {
				return
			}
		}
	}
}

// crashAgain tries every crash of the start that finds this disk.
func (sc scenario) crashAgain(disk image, c crash, done map[string]bool, yield func(string, error) bool) bool {
	again := &recorder{FS: disk.clone()}
	if _, err := start(again); err != nil {
		return true // judged already
	}
	for _, second := range crashes(again.ops, 0) {
		crashed := disk.after(again.ops, second)
		where := fmt.Sprintf("%s, and in the start after that %s", sc.describe(c), tell(again.ops, second))
		if !yield(where, sc.judge(crashed, crashed.sum(), done)) {
			return false
		}
	}
	return true
}

func returned(ops []op) map[string]bool {
	done := map[string]bool{}
	for _, o := range ops {
		if o.kind == "return" {
			done[o.name] = true
		}
	}
	return done
}

func (sc scenario) judge(disk image, sum uint64, done map[string]bool) error {
	v, known := sc.verdicts[sum]
	if !known {
		v.err = sc.checkSets(disk)
		if v.err == nil {
			disk = disk.clone()
			v.found, v.err = start(disk)
			v.err = errors.Join(v.err, strays(disk))
		}
		sc.verdicts[sum] = v
	}
	if v.err != nil {
		return v.err
	}
	allowed := sc.allowed(done)
	if !slices.Contains(allowed, v.found) {
		return fmt.Errorf("a start finds something else than it may (-may +finds):\n%s", cmp.Diff(allowed, []seen{v.found}))
	}
	return nil
}

func (sc scenario) describe(c crash) string { return sc.name + " " + tell(sc.ops, c) }

func tell(ops []op, c crash) string {
	last := "nothing"
	if c.after > 0 {
		last = ops[c.after-1].String()
	}
	var lost []string
	for i := range c.lost {
		lost = append(lost, ops[i].String())
	}
	slices.Sort(lost)
	return fmt.Sprintf("cut after %d (%s), un-synced data %s, lost: %s", c.after, last, c.data, strings.Join(lost, ", "))
}

// TestCrash pulls the plug at every point of every scenario (SET-7). Each time
// a start finds the old state or the new one, whole, and the mark never falls.
// Then it does so to code with a mistake, and asks that some point shows it.
func TestCrash(t *testing.T) {
	t.Parallel()
	scenarios := newScenarios(t)
	everyPointHolds(t, scenarios)
	t.Run("finds a missing sync", func(t *testing.T) { findsMissingSyncs(t, scenarios) })
	t.Run("finds a wrong order", func(t *testing.T) { findsWrongOrders(t, scenarios) })
}

func everyPointHolds(t *testing.T, scenarios []scenario) {
	tried, held := 0, 0
	for _, sc := range scenarios {
		before, reported := tried, 0
		for where, fault := range sc.points(0, true) {
			tried++
			if fault == nil {
				held++
			} else if reported++; reported <= 3 {
				t.Errorf("%s: %v", where, fault)
			}
		}
		t.Logf("%-28s %3d operations, %6d points", sc.name, len(sc.ops), tried-before)
	}
	t.Logf("crash points: %d tried, %d held", tried, held)
	if tried < 1000 {
		t.Errorf("only %d points", tried)
	}
}

// TestCrashOnARealDisk cuts each scenario after each of its renames, and opens
// what is left with the real [Open].
func TestCrashOnARealDisk(t *testing.T) {
	t.Parallel()
	for _, sc := range newScenarios(t) {
		for i, o := range sc.ops {
			if o.kind == "rename" {
				sc.openForReal(t, crash{after: i + 1, data: kept})
			}
		}
	}
}

func (sc scenario) openForReal(t *testing.T, c crash) {
	t.Helper()
	stateDir := t.TempDir()
	mkdir(t, stateDir, "retes")
	disk := sc.before.after(sc.ops, c)
	disk.write(t, filepath.Join(stateDir, "retes"))
	want, err := start(disk)
	if err != nil {
		t.Fatal(err)
	}
	want.Aside = ""
	got := seen{}
	s, err := Open(stateDir, testScope)
	if err == nil {
		err = errors.Join(got.fill(s, load(t, s)), s.Close())
	} else if r, ok := errors.AsType[*Refusal](err); ok && r.Reason == NotEnrolled {
		err = nil
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v (-image +disk):\n%s", sc.describe(c), err, diff)
	}
}
