package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// treeWriters is how many nodes are signed and written at once: writing waits
// for the disk more than for a processor.
const treeWriters = 16

// journal is a compile that has been decided: what is staged belongs into the
// tree. It is written once everything is staged, and that is the moment from
// which the new tree is the truth (CMP-15).
type journal struct {
	SchemaVersion string                 `json:"schema_version"`
	Nodes         map[string]journalNode `json:"nodes"`
	Ledger        *Ledger                `json:"ledger"`
}

// journalNode is what becomes of one node's files. A node that puts nothing is
// removed.
type journalNode struct {
	Put  []string `json:"put"`
	Drop []string `json:"drop"`
}

// commit is a compile on its way into the tree: sets are staged one by one, and
// then all of them take their places as one step. Its methods may be called
// from several goroutines until commit is.
type commit struct {
	fsys durable.FS
	// staging is the staging directory, once open was called, and done closes it.
	staging durable.FS
	done    func() error
	durable durability

	mu    sync.Mutex
	nodes map[string]journalNode
	// digests are those of the files of each staged node.
	digests map[string]map[string]string
}

func newCommit(fsys durable.FS) *commit {
	return &commit{fsys: fsys, nodes: map[string]journalNode{}, digests: map[string]map[string]string{}}
}

// open makes the staging directory, empty, for so many nodes. Close it.
func (c *commit) open(nodes int) (err error) {
	c.durable = durabilityOf(c.fsys, nodes)
	if err := c.fsys.RemoveAll(stagingDir); err != nil {
		return fmt.Errorf("stage the compiled tree: %w", err)
	}
	if err := c.fsys.Mkdir(stagingDir, dirMode); err != nil {
		return fmt.Errorf("stage the compiled tree: %w", err)
	}
	c.staging, c.done, err = below(c.fsys, stagingDir)
	return err
}

// giveUp removes what was staged, when nothing was decided yet: on a full disk it
// would be in the way.
func (c *commit) giveUp() error { return c.fsys.RemoveAll(stagingDir) }

func (c *commit) close() error {
	if c.done == nil {
		return nil
	}
	return c.done()
}

// put stages the new set of a node, whose files before are given by name. Its
// content is durable at the latest when the step ends.
func (c *commit) put(node string, before map[string]string, files setFiles) error {
	entry := journalNode{Put: sortedKeys(files)}
	for _, name := range entry.Put {
		if err := c.write(staged(node, name), files[name]); err != nil {
			return fmt.Errorf("stage the set of node %s: %w", node, err)
		}
	}
	for _, name := range sortedKeys(before) {
		if _, stays := files[name]; !stays {
			entry.Drop = append(entry.Drop, name)
		}
	}
	digests := files.digests()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[node], c.digests[node] = entry, digests
	return nil
}

// staged is the name under which a node's file waits: all in one directory,
// which is synced once. No name of a node or an artifact has a tilde in it.
func staged(node, file string) string { return node + "~" + file }

func (c *commit) write(name string, data []byte) error {
	f, err := c.staging.Create(name, fileMode)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(c.durable.file(f), f.Close())
}

// drop removes a node.
func (c *commit) drop(node string) { c.nodes[node] = journalNode{} }

// commit replaces the sets of nodes in the tree, and the ledger, as one step: a
// crash leaves the old or the new. The caller holds the lock and has called
// recoverTree.
func (c *commit) commit(ledger *Ledger) error {
	if len(c.digests) > 0 {
		if err := errors.Join(c.durable.dirs(c.fsys, stagingDir, florDir), c.durable.step()); err != nil {
			return fmt.Errorf("stage the compiled tree: %w", err)
		}
	}
	j := journal{SchemaVersion: LedgerSchemaVersion, Nodes: c.nodes, Ledger: ledger}
	if err := writeJournal(c.fsys, j); err != nil {
		return err
	}
	return finish(c.fsys, j)
}

func writeJournal(fsys durable.FS, j journal) error {
	text, err := json.Marshal(j, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode journal: %w", err)
	}
	if err := durable.ReplaceFile(fsys, journalFile, text, fileMode); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// recoverTree completes a compile that was cut short after its decision, and
// drops one that was cut short before. The caller holds the lock.
func recoverTree(fsys durable.FS) error {
	text, err := fsys.ReadFile(journalFile, MaxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return dropLeftovers(fsys)
	}
	if err != nil {
		return err
	}
	j, err := parseJournal(text)
	if err != nil {
		return refuse(ReasonJournalDamaged, "%s: %w; restore %s from git and remove the journal and %s", journalFile, err, florDir, stagingDir)
	}
	return finish(fsys, j)
}

// dropLeftovers removes what was written before a decision that never came.
func dropLeftovers(fsys durable.FS) error {
	return errors.Join(
		fsys.RemoveAll(stagingDir),
		fsys.RemoveAll(journalFile+durable.TmpSuffix),
		fsys.RemoveAll(ledgerFile+durable.TmpSuffix),
		fsys.RemoveAll(publishedFile+durable.TmpSuffix),
	)
}

func parseJournal(text []byte) (journal, error) {
	var j journal
	if err := json.Unmarshal(text, &j, json.RejectUnknownMembers(true)); err != nil {
		return j, err
	}
	if j.SchemaVersion != LedgerSchemaVersion || j.Ledger == nil {
		return j, fmt.Errorf("it has schema_version %q and not %s, or no ledger", j.SchemaVersion, LedgerSchemaVersion)
	}
	for node, entry := range j.Nodes {
		if err := entry.check(node); err != nil {
			return j, err
		}
	}
	return j, j.Ledger.check()
}

func (n journalNode) check(node string) error {
	if err := envelope.SafeName(node); err != nil {
		return err
	}
	for _, list := range [][]string{n.Put, n.Drop} {
		for _, name := range list {
			if err := envelope.SafeName(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish does what the journal says. Every step may have been done already: a
// staged file that is gone has been moved.
func finish(fsys durable.FS, j journal) error {
	if err := ensureDir(fsys, treeDir); err != nil {
		return err
	}
	how := durabilityOf(fsys, len(j.Nodes))
	if err := j.apply(fsys, how); err != nil {
		return err
	}
	if err := errors.Join(how.dirs(fsys, treeDir, florDir), how.step()); err != nil {
		return err
	}
	if err := writeLedger(fsys, j.Ledger); err != nil {
		return err
	}
	return clearJournal(fsys)
}

func (j journal) apply(fsys durable.FS, how durability) error {
	flor, done, err := below(fsys, florDir)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(treeWriters)
	for node, entry := range j.Nodes {
		group.Go(func() error {
			if err := entry.apply(flor, node, how); err != nil {
				return fmt.Errorf("move the set of node %s into the compiled tree: %w", node, err)
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), done())
}

// apply moves and removes the files of one node. Names are below florDir.
func (n journalNode) apply(flor durable.FS, node string, how durability) error {
	top := path.Join(treeName, node)
	if len(n.Put) == 0 {
		return flor.RemoveAll(top)
	}
	dir := path.Join(top, planeDir)
	for _, name := range n.Put {
		if err := moveStaged(flor, path.Join(stagingName, staged(node, name)), dir, name); err != nil {
			return err
		}
	}
	for _, name := range n.Drop {
		if err := flor.RemoveAll(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return how.dirs(flor, dir, top)
}

// moveStaged moves a file over its predecessor, unless that was done before.
// Where there is no predecessor there may be no directory either.
func moveStaged(flor durable.FS, staged, dir, name string) error {
	final := path.Join(dir, name)
	err := flor.Rename(staged, final)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := flor.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		_, err := flor.Lstat(final)
		return err
	}
	if err := errors.Join(ensureDir(flor, path.Dir(dir)), ensureDir(flor, dir)); err != nil {
		return err
	}
	return flor.Rename(staged, final)
}

func ensureDir(fsys durable.FS, dir string) error {
	err := fsys.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// clearJournal ends a commit. The journal goes first: staging without one is
// rubbish, a journal without staging would be a riddle.
func clearJournal(fsys durable.FS) error {
	if err := fsys.RemoveAll(journalFile); err != nil {
		return err
	}
	if err := fsys.SyncDir(florDir); err != nil {
		return err
	}
	return fsys.RemoveAll(stagingDir)
}

// readLedger reads the ledger; a missing one is empty, and the tree tells the
// versions.
func readLedger(fsys durable.FS) (*Ledger, error) {
	text, err := fsys.ReadFile(ledgerFile, MaxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return emptyLedger(), nil
	}
	if err != nil {
		return nil, err
	}
	return parseLedger(text)
}

// writeLedger replaces the ledger unless it would not change.
func writeLedger(fsys durable.FS, ledger *Ledger) error {
	text, err := ledger.text()
	if err != nil {
		return err
	}
	if before, err := fsys.ReadFile(ledgerFile, MaxLedger); err == nil && bytes.Equal(before, text) {
		return nil
	}
	if err := durable.ReplaceFile(fsys, ledgerFile, text, fileMode); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}
