package store

import (
	"slices"
	"strings"
	"testing"
)

// harmless lists the syncs that may be forgotten, because the next start makes
// good what is lost. The code has them all the same: SET-2 asks for every one.
var harmless = map[string]string{
	"re-enrolment/rename lovers/identity lovers/identity.old":                                      "the journal is there, and identity/ is replaced again",
	"enrolment by force/rename .next-lovers lovers":                                                "the new scope is there, whole, and gets its name at the next start",
	"recovery of a set/rename lovers/artifacts/mgmt/sets/v2 lovers/artifacts/mgmt/sets/v2.partial": "the set is damaged and has no record: half of it is no worse",
	"mending of a set/write lovers/artifacts/mgmt/sets/v1.partial/agent.json":                      "this member is whole where it stands, and is not moved there",
	"mending of a set/write lovers/artifacts/mgmt/sets/v1.partial/edge.json":                       "this member is whole where it stands, and is not moved there",
	"mending of a set/sync lovers/artifacts/mgmt/sets/v1.partial/web.json":                         "what is lost of the staged directory is staged again",
	"clean-up/rename lovers/agent/state.json.tmp lovers/agent/state.json":                          "the next start forgets the record of what is gone again",
}

// findsMissingSyncs takes each sync away in turn, as somebody would who
// forgot it, and asks the enumeration to find out (SET-7).
func findsMissingSyncs(t *testing.T, scenarios []scenario) {
	tried, idle := 0, 0
	for _, sc := range scenarios {
		for i, o := range sc.ops {
			if o.kind != "sync" && o.kind != "syncdir" {
				continue
			}
			if !settles(sc.ops, i) {
				idle++
				continue
			}
			tried++
			of := sc.name + "/" + sc.ops[i-1].String()
			if found := sc.without(i).isFound(i); found == (harmless[of] != "") {
				t.Errorf("operation %d, %s, after %s: found %v", i, o, of, found)
			}
		}
	}
	t.Logf("%d syncs taken away, %d of them harmless; %d more had nothing to make durable", tried, len(harmless), idle)
}

// settles tells whether a sync makes anything durable: that of an empty directory
// does not.
func settles(ops []op, i int) bool {
	if ops[i].kind == "sync" {
		return true
	}
	return len(looseNames(ops[:i+1])) < len(looseNames(ops[:i]))
}

func (sc scenario) without(i int) scenario {
	sc.ops = slices.Delete(slices.Clone(sc.ops), i, i+1)
	return sc
}

// isFound tells whether some crash after the first operations shows what is
// wrong.
func (sc scenario) isFound(from int) bool {
	for _, fault := range sc.points(from, false) {
		if fault != nil {
			return true
		}
	}
	return false
}

// findsWrongOrders swaps what must happen in its order (SET-3, SET-6,
// BND-3).
func findsWrongOrders(t *testing.T, scenarios []scenario) {
	admission, again := named(scenarios, "admission"), named(scenarios, "re-enrolment")
	for name, mutant := range map[string]scenario{
		"the flip before the record":           admission.swapped(replaces(stateFile), replaces(currentFile)),
		"the flip before the set":              admission.swapped(renames(setDir(3)), replaces(currentFile)),
		"identity before the journal":          again.swapped(renames(journalDir), renames(identityDir)),
		"the journal away before the new flip": again.swapped(replaces(currentFile), renames(journalDir+".partial")),
	} {
		if !mutant.isFound(0) {
			t.Errorf("nobody finds %s", name)
		}
	}
}

func named(scenarios []scenario, name string) scenario {
	return scenarios[slices.IndexFunc(scenarios, func(sc scenario) bool { return sc.name == name })]
}

// replaces tells the operations that replace a file of the scope.
func replaces(name string) func(op) bool {
	return func(o op) bool {
		return strings.TrimSuffix(o.name, ".tmp") == testScope+"/"+name || o.to == testScope+"/"+name
	}
}

// renames tells the rename that gives a name of the scope.
func renames(name string) func(op) bool {
	return func(o op) bool { return o.kind == "rename" && o.to == testScope+"/"+name }
}

// swapped moves the first run of operations that first tells behind the first run
// that second tells.
func (sc scenario) swapped(first, second func(op) bool) scenario {
	i, n := run(sc.ops, first)
	moved := slices.Clone(sc.ops[i : i+n])
	ops := slices.Delete(slices.Clone(sc.ops), i, i+n)
	j, m := run(ops, second)
	sc.ops = slices.Insert(ops, j+m, moved...)
	return sc
}

func run(ops []op, is func(op) bool) (start, length int) {
	start = slices.IndexFunc(ops, is)
	for start+length < len(ops) && is(ops[start+length]) {
		length++
	}
	return start, length
}
