package store

import (
	"path"
	"testing"
	"time"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// world is what the scenarios are made of: a rete whose signer is rotated, and
// a stranger of the same name.
type world struct {
	t                      *testing.T
	first, second, foreign rete
	sets                   map[uint64]*schema.Set // by the first signer up to 2, by the second from 3 on
}

func newWorld(t *testing.T) world {
	w := world{t: t, first: newRete(), foreign: newRete(), sets: map[uint64]*schema.Set{}}
	w.second = rete{ca: w.first.ca, signer: w.first.ca.Signer("second")}
	for version := uint64(1); version <= 5; version++ {
		by := w.first
		if version > 2 {
			by = w.second
		}
		w.sets[version] = by.set(t, version)
	}
	return w
}

func (w world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// enrolment has an identity with a key that nobody else has.
func (w world) enrolment(r rete, key string, set *schema.Set) Enrolment {
	identity := append(r.identity(), durable.Entry{Name: "certs/alpha.key", Mode: filePerm, Data: []byte(key)})
	return Enrolment{Identity: identity, Set: set}
}

// enrolled is a disk with a scope at version 1 whose workload has kept something.
func (w world) enrolled() image {
	disk := image{}
	w.must(create(disk, "", testScope, w.enrolment(w.first, "old", w.sets[1])))
	w.must(durable.PublishDir(subdir{disk, testScope}, workloadsDir+"/web", durable.Tree{Perm: dirPerm,
		Entries: []durable.Entry{{Name: "kept", Mode: filePerm, Data: []byte("by the workload")}}}))
	return disk
}

// grown is a disk with v1 retained and v2 active.
func (w world) grown() image {
	disk := w.enrolled()
	s := scopeOn(disk)
	_, err := s.Load()
	w.must(err)
	w.admit(s, 2)
	return disk
}

func (w world) admit(s *Scope, version uint64) {
	w.t.Helper()
	staged, err := s.Stage(w.sets[version])
	w.must(err)
	_, err = s.Admit(staged)
	w.must(err)
	_, err = s.ConfirmMark(version)
	w.must(err)
}

// scenario records what change does to a disk.
func (w world) scenario(name string, before image, change func(disk *recorder), allowed func(done map[string]bool) []seen) scenario {
	disk := &recorder{FS: before.clone()}
	change(disk)
	trees := map[uint64]durable.Tree{}
	for version, set := range w.sets {
		trees[version] = treeOf(set)
	}
	return scenario{name: name, before: before, ops: disk.ops, sets: trees, allowed: allowed, verdicts: map[uint64]verdict{}}
}

// now is what a start finds on a disk that had no crash.
func (w world) now(disk image) seen {
	w.t.Helper()
	found, err := start(disk.clone())
	w.must(err)
	return found
}

// oldOrNew allows what was there until the call has returned, and what comes
// after it from the beginning.
func oldOrNew(call string, before, after seen) func(map[string]bool) []seen {
	return func(done map[string]bool) []seen {
		if done[call] {
			return []seen{after}
		}
		return []seen{before, after}
	}
}

func newScenarios(t *testing.T) []scenario {
	w := newWorld(t)
	return []scenario{
		w.admission(), w.enrolling(), w.reenrolling(), w.replacing(), w.cleaning(), w.recovering(), w.repairing(), w.mending(), w.making(),
	}
}

// admission is stage → flip → adopt trust → mark, of a set whose signer is a new
// one (SET-3, SET-6).
func (w world) admission() scenario {
	before := w.grown()
	change := func(disk *recorder) {
		s := scopeOn(disk)
		_, err := s.Load()
		w.must(err)
		staged, err := s.Stage(w.sets[3])
		w.must(err)
		_, err = s.Admit(staged)
		w.must(err)
		disk.returned("admit")
		_, err = s.ConfirmMark(3)
		w.must(err)
		disk.returned("confirm")
	}
	old := w.now(before)
	pending := old
	pending.Active, pending.Pending, pending.Sets = 3, 3, "v2 v3 "
	pending.Trust, pending.Retired = w.second.signer.Entry().Pubkey, w.first.signer.Entry().Pubkey
	confirmed := pending
	confirmed.Mark, confirmed.Pending = 3, 0
	return w.scenario("admission", before, change, func(done map[string]bool) []seen {
		switch {
		case done["confirm"]:
			return []seen{confirmed}
		case done["admit"]:
			return []seen{pending, confirmed}
		}
		return []seen{old, pending}
	})
}

// enrolling is a first enrolment (BND-2).
func (w world) enrolling() scenario {
	e := w.enrolment(w.first, "old", w.sets[1])
	done := image{}
	w.must(create(done, "", testScope, e))
	return w.scenario("first enrolment", image{}, func(disk *recorder) {
		w.must(create(disk, "", testScope, e))
		disk.returned("enrol")
	}, oldOrNew("enrol", seen{}, w.now(done)))
}

// reenrolling replaces identity and set, by another signer (BND-3).
func (w world) reenrolling() scenario {
	before := w.grown()
	change := func(disk durable.FS) {
		s := scopeOn(disk)
		w.must(s.settle())
		h, err := s.Holding()
		w.must(err)
		w.must(s.Replace(h, w.enrolment(w.first, "new", w.sets[5]), false))
	}
	after := before.clone()
	change(after)
	return w.scenario("re-enrolment", before, func(disk *recorder) {
		change(disk)
		disk.returned("enrol")
	}, oldOrNew("enrol", w.now(before), w.now(after)))
}

// replacing is an enrolment by force: the old scope stands aside, whole, as soon
// as the new one stands (BND-3).
func (w world) replacing() scenario {
	before := w.grown()
	aside := replacedPrefix + testScope + "-" + time.Unix(0, 0).UTC().Format(replacedTime)
	change := func(disk durable.FS) {
		w.must(createInstead(disk, testScope, aside, w.enrolment(w.foreign, "new", w.foreign.set(w.t, 1))))
	}
	after := before.clone()
	change(after)
	sc := w.scenario("enrolment by force", before, func(disk *recorder) {
		change(disk)
		disk.returned("enrol")
	}, oldOrNew("enrol", w.now(before), w.now(after)))
	delete(sc.sets, 1) // the stranger has one of his own
	return sc
}

// cleaning is a start that clears away what is left over (SET-4).
func (w world) cleaning() scenario {
	before := w.grown()
	s := scopeOn(before)
	_, err := s.Load()
	w.must(err)
	w.admit(s, 3)
	for _, name := range []string{"sets/v9.partial", "sets/v43.bak", "current~"} {
		w.must(s.fsys.Mkdir(path.Join(mgmtDir, name), dirPerm))
	}
	found := w.now(before)
	return w.starting("clean-up", before, found)
}

// recovering is a start that falls back on the set before, because a member of
// the active one is damaged (SET-5).
func (w world) recovering() scenario {
	before := w.grown()
	before[path.Join(testScope, setDir(2), artifactFile("web"))].data = nil
	found := w.now(before)
	sc := w.starting("recovery of a set", before, found)
	delete(sc.sets, 2)
	return sc
}

// repairing is a start that finds current zero-filled (SET-5).
func (w world) repairing() scenario {
	before := w.grown()
	before[path.Join(testScope, currentFile)].data = make([]byte, 3)
	return w.starting("repair of current", before, w.now(before))
}

// mending is the admission of the active set whose member is damaged: nothing of
// what ran before is lost (SET-5).
func (w world) mending() scenario {
	before := w.enrolled()
	before[path.Join(testScope, setDir(1), artifactFile("web"))].data = nil
	change := func(disk durable.FS, admitted func()) {
		s := scopeOn(disk)
		_, err := s.Load()
		w.must(err)
		staged, err := s.Stage(w.sets[1])
		w.must(err)
		_, err = s.Admit(staged)
		w.must(err)
		admitted()
	}
	after := before.clone()
	change(after, func() {})
	damaged, mended := w.now(before), w.now(after)
	whole := damaged // the members stand, the record does not say so yet
	whole.Recovered, whole.Unverified = false, ""
	sc := w.scenario("mending of a set", before, func(disk *recorder) {
		change(disk, func() { disk.returned("admit") })
	}, func(done map[string]bool) []seen {
		if done["admit"] {
			return []seen{mended}
		}
		return []seen{damaged, whole, mended}
	})
	delete(sc.sets, 1)
	return sc
}

// starting is a start that finds damage the first time, and none later.
func (w world) starting(name string, before image, found seen) scenario {
	later := found
	later.Recovered = false
	return w.scenario(name, before, func(disk *recorder) {
		_, err := start(disk)
		w.must(err)
		disk.returned("start")
	}, func(done map[string]bool) []seen {
		if done["start"] {
			return []seen{later}
		}
		return []seen{found, later}
	})
}

// making is a workload's durable directory, made before it is spawned.
func (w world) making() scenario {
	before := w.grown()
	old := w.now(before)
	after := before.clone()
	_, err := scopeOn(after).WorkloadDir("edge")
	w.must(err)
	return w.scenario("a workload's directory", before, func(disk *recorder) {
		_, err := scopeOn(disk).WorkloadDir("edge")
		w.must(err)
		disk.returned("make")
	}, oldOrNew("make", old, w.now(after)))
}
