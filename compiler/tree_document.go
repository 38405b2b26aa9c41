package compiler

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// Document is the compiled tree of a repository as one set document, which is
// what a coordinator takes (CRD-1). It is read from the tree while it is sent,
// one artifact at a time; until Close nobody else compiles in the repository.
// It is for one goroutine.
type Document struct {
	// Size is how many bytes it has.
	Size int64
	// Nodes has the version of each node, and who signed it.
	Nodes map[string]PublishedNode

	repo *repository
	tree durable.FS
	done func() error // closes tree
	todo []member
	// rest is what was read of the document and not yet handed out.
	rest []byte
	sent bool // the opening of the document
}

// member is an artifact in the tree. Its size is without the newline at the end
// of its file.
type member struct {
	file string
	size int64
}

// How a set document is written (ENV-17).
const (
	documentStart = "{\"artifacts\":[\n"
	documentComma = ",\n"
	documentEnd   = "\n]}\n"
)

// OpenDocument opens the compiled tree of the repository at dir. It refuses a
// repository without one, a tree of which a file is not as the ledger has it,
// and one over envelope.MaxSetPublish. Close it.
func OpenDocument(dir string) (*Document, error) {
	repo, err := openRepository(dir)
	if err != nil {
		return nil, err
	}
	tree, done, err := openTree(repo.fsys)
	if err != nil {
		return nil, errors.Join(err, repo.Close())
	}
	d := &Document{repo: repo, tree: tree, done: done, Nodes: map[string]PublishedNode{}}
	if err := d.survey(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// survey reads every file once, so that what is sent is known to be what was
// written.
func (d *Document) survey() error {
	ledger, err := readLedger(d.repo.fsys)
	if err != nil {
		return err
	}
	nodes, err := treeNodes(d.repo.fsys)
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return refuse(ReasonNothingCompiled, "%s is empty; run \"retectl compile\" first", treeDir)
	}
	d.Size = int64(len(documentStart) + len(documentEnd) - len(documentComma))
	for _, node := range nodes {
		if err := d.add(node, ledger.Nodes[node]); err != nil {
			return err
		}
	}
	if missing := ledger.missing(nodes); len(missing) > 0 {
		return refuse(ReasonTreeEdited, "the compiled sets of %s are gone, and a coordinator would take that for nodes that left; restore %s from git, or run \"retectl compile\"", some(missing), treeDir)
	}
	return nil
}

// missing lists the nodes with files in the ledger that are not among nodes.
func (l *Ledger) missing(nodes []string) []string {
	var missing []string
	for _, node := range sortedKeys(l.Nodes) {
		if _, stands := slices.BinarySearch(nodes, node); !stands && len(l.Nodes[node].Files) > 0 {
			missing = append(missing, node)
		}
	}
	return missing
}

func (d *Document) add(node string, recorded LedgerNode) error {
	files, err := readSetIn(d.tree, node)
	if err != nil {
		return fmt.Errorf("read the compiled set of node %s: %w", node, err)
	}
	if digests := files.digests(); !maps.Equal(digests, recorded.Files) {
		return refuse(ReasonTreeEdited, "the compiled set of node %s is not as it was written (%s); run \"retectl compile\", which signs it anew", node, editedByHand(recorded.Files, digests))
	}
	for _, name := range files.order() {
		m := member{file: path.Join(node, planeDir, name), size: int64(len(withoutNewline(files[name])))}
		d.todo = append(d.todo, m)
		d.Size += m.size + int64(len(documentComma))
	}
	if d.Size > envelope.MaxSetPublish {
		return refuse(ReasonTooLarge, "the compiled tree is over %d bytes, which no coordinator takes: split the rete", envelope.MaxSetPublish)
	}
	d.Nodes[node], err = nodeState(files[rootFile])
	return err
}

// Read hands the document out.
func (d *Document) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// next reads the next member, with what stands before it; after the last, it
// ends the document.
func (d *Document) next() error {
	switch {
	case len(d.todo) == 0 && d.todo != nil:
		d.todo, d.rest = nil, []byte(documentEnd)
		return nil
	case d.todo == nil:
		return io.EOF
	}
	m := d.todo[0]
	text, err := d.tree.ReadFile(m.file, envelope.MaxEnvelope+1)
	if err != nil {
		return err
	}
	text = withoutNewline(text)
	if int64(len(text)) != m.size {
		return refuse(ReasonTreeEdited, "%s changed while it was read", m.file)
	}
	before := documentComma
	if !d.sent {
		before, d.sent = documentStart, true
	}
	d.todo, d.rest = d.todo[1:], append([]byte(before), text...)
	return nil
}

// Published records that a coordinator took the document.
func (d *Document) Published() error {
	if err := (Published{Nodes: d.Nodes}).write(d.repo.fsys); err != nil {
		return fmt.Errorf("record what was published: %w", err)
	}
	return nil
}

// Learn takes the versions that a coordinator has stored into the ledger, so
// that the next compile goes above them (CMP-15). It returns the conflicts that
// it does not believe; see MaxFloorStep.
func (d *Document) Learn(conflicts []Conflict) (unbelieved []Conflict, err error) {
	return d.repo.learn(conflicts)
}

// Close lets others compile again.
func (d *Document) Close() error { return errors.Join(d.done(), d.repo.Close()) }

// LearnFloors is Document.Learn for the repository at dir.
func LearnFloors(dir string, conflicts []Conflict) (unbelieved []Conflict, err error) {
	repo, err := openRepository(dir)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	return repo.learn(conflicts)
}

func (r *repository) learn(conflicts []Conflict) (unbelieved []Conflict, err error) {
	ledger, err := readLedger(r.fsys)
	if err != nil {
		return nil, err
	}
	learnt, unbelieved := ledger.Learn(conflicts)
	return unbelieved, writeLedger(r.fsys, learnt)
}
