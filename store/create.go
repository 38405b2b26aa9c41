package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/store/internal/anchor"
)

// Enrolment is what a new scope is made of.
type Enrolment struct {
	Identity []durable.Entry // files of identity/, names relative to it, parents first
	Set      *schema.Set     // the first active set; its version is the mark
	Owner    *durable.Owner  // the account that runs the agent; nil: this process's
}

// Create makes a scope: the whole of it or nothing, also through a crash
// (BND-2). The caller holds the lock of [LockForEnrolment] and has verified
// everything. A scope that exists is refused with reason AlreadyEnrolled.
func Create(stateDir, scope string, e Enrolment) error {
	return withinRetes(stateDir, scope, func(root *os.Root) error {
		return create(durable.OS(root).OwnedBy(e.Owner), stateDir, scope, e)
	})
}

// CreateInstead makes a scope in the place of one that exists, of which nothing
// is kept: its whole root is moved aside, to the absolute path that is returned
// (BND-3). A crash leaves the old scope or the new one, whole, once [Open] or
// [LockForEnrolment] has settled which. The caller holds the lock.
func CreateInstead(stateDir, scope string, e Enrolment, now time.Time) (aside string, err error) {
	aside = replacedPrefix + scope + "-" + now.UTC().Format(replacedTime)
	err = withinRetes(stateDir, scope, func(root *os.Root) error {
		return createInstead(durable.OS(root).OwnedBy(e.Owner), scope, aside, e)
	})
	return filepath.Join(retesDir(stateDir), aside), err
}

// withinRetes runs f on the directory of the scope roots.
func withinRetes(stateDir, scope string, f func(*os.Root) error) error {
	if err := CheckScope(scope); err != nil {
		return err
	}
	root, err := os.OpenRoot(retesDir(stateDir))
	if err != nil {
		return err
	}
	return errors.Join(f(root), root.Close())
}

func create(fsys durable.FS, stateDir, scope string, e Enrolment) error {
	if err := refuseExisting(fsys, stateDir, scope); err != nil {
		return err
	}
	tree, err := scopeTree(e, firstState(e.Set))
	if err != nil {
		return err
	}
	if err := durable.PublishDir(fsys, scope, tree); err != nil {
		return fmt.Errorf("make scope %s: %w", scope, err)
	}
	return nil
}

// createInstead gives the new root a name of its own when it is whole, so that
// whoever finds it beside no scope knows that it may become the scope.
func createInstead(fsys durable.FS, scope, aside string, e Enrolment) error {
	tree, err := scopeTree(e, firstState(e.Set))
	if err != nil {
		return err
	}
	if err := durable.PublishDir(fsys, nextPrefix+scope, tree); err != nil {
		return fmt.Errorf("make scope %s: %w", scope, err)
	}
	if err := durable.MoveDir(fsys, scope, aside); err != nil {
		return fmt.Errorf("move scope %s aside: %w", scope, err)
	}
	if err := durable.MoveDir(fsys, nextPrefix+scope, scope); err != nil {
		return fmt.Errorf("make scope %s: %w", scope, err)
	}
	return nil
}

// settleScope finishes or undoes a [CreateInstead] that was cut short. It
// writes nothing where there is nothing to settle.
func settleScope(fsys durable.FS, scope string) error {
	next := nextPrefix + scope
	_, err := fsys.Lstat(next)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = fsys.Lstat(scope); errors.Is(err, fs.ErrNotExist) {
		return durable.MoveDir(fsys, next, scope)
	}
	return errors.Join(err, durable.RemoveDir(fsys, next))
}

// firstState is what a first enrolment knows: its set, which is the mark.
func firstState(set *schema.Set) State {
	return State{Node: set.Node, Mark: set.Version, Sets: []SetRecord{recordOf(set)}}
}

func refuseExisting(fsys durable.FS, stateDir, scope string) error {
	_, err := fsys.Lstat(scope)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return refuse(AlreadyEnrolled, scope, "%s holds %s: enrol under another name with --as",
		filepath.Join(retesDir(stateDir), scope), describe(fsys, scope))
}

// describe says for people what an existing scope is.
func describe(fsys durable.FS, scope string) string {
	td, _, err := anchor.Read(fsys, path.Join(scope, identityDir))
	if err != nil {
		return "what cannot be read as a scope"
	}
	text, err := fsys.ReadFile(path.Join(scope, stateFile), maxState)
	if err != nil {
		return "a node of " + td.Name()
	}
	st, err := parseState(text)
	if err != nil {
		return "a node of " + td.Name()
	}
	return fmt.Sprintf("node %s of %s, mark %d", st.Node, td.Name(), st.Mark)
}

// scopeTree lays out a scope root, parents first.
func scopeTree(e Enrolment, state State) (durable.Tree, error) {
	text, err := formatState(state)
	if err != nil {
		return durable.Tree{}, fmt.Errorf("write %s: %w", stateFile, err)
	}
	active := setDir(e.Set.Version)
	tree := durable.Tree{Perm: dirPerm}
	tree.Entries = append(tree.Entries, directories(identityDir)...)
	tree.Entries = append(tree.Entries, below(identityDir, e.Identity)...)
	tree.Entries = append(tree.Entries, directories(path.Dir(mgmtDir), mgmtDir, ctrlDir, setsDir, active)...)
	tree.Entries = append(tree.Entries, below(active, treeOf(e.Set).Entries)...)
	tree.Entries = append(tree.Entries, directories(agentDir, workloadsDir)...)
	tree.Entries = append(tree.Entries,
		durable.Entry{Name: currentFile, Mode: filePerm, Data: formatCurrent(e.Set.Version)},
		durable.Entry{Name: stateFile, Mode: filePerm, Data: text})
	return tree, nil
}

func directories(names ...string) []durable.Entry {
	entries := make([]durable.Entry, 0, len(names))
	for _, name := range names {
		entries = append(entries, durable.Entry{Name: name, Mode: fs.ModeDir | dirPerm})
	}
	return entries
}

// below moves entries into a directory.
func below(dir string, entries []durable.Entry) []durable.Entry {
	moved := make([]durable.Entry, 0, len(entries))
	for _, e := range entries {
		e.Name = path.Join(dir, e.Name)
		moved = append(moved, e)
	}
	return moved
}
