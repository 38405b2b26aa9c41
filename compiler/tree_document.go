package compiler

import (
	"fmt"

	"github.com/florete/flor/envelope"
)

// Document is the compiled tree of a repository as one set document, which is
// what a coordinator takes (CRD-1).
type Document struct {
	// Text is the document; each member stands in it as it lies in the tree.
	Text []byte
	// Nodes is how many nodes it covers.
	Nodes int
}

// ReadDocument reads the compiled tree of the repository at dir. It refuses a
// repository without one, and a tree over envelope.MaxSetPublish.
func ReadDocument(dir string) (*Document, error) {
	repo, err := openRepository(dir)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	nodes, err := treeNodes(repo.fsys)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, refuse(ReasonNothingCompiled, "%s is empty; run \"retectl compile\" first", treeDir)
	}
	members, err := repo.members(nodes)
	if err != nil {
		return nil, err
	}
	return &Document{Text: envelope.AppendSet(nil, members...), Nodes: len(nodes)}, nil
}

// members reads the artifacts of all nodes and stops when they are too many to
// be published.
func (r *repository) members(nodes []string) ([][]byte, error) {
	var members [][]byte
	size := 0
	for _, node := range nodes {
		files, err := readSet(r.fsys, node)
		if err != nil {
			return nil, fmt.Errorf("read the compiled set of node %s: %w", node, err)
		}
		for _, member := range files.members() {
			size += len(member) + len(",\n")
			members = append(members, member)
		}
		if size > envelope.MaxSetPublish {
			return nil, refuse(ReasonTooLarge, "the compiled tree is over %d bytes, which no coordinator takes: split the rete", envelope.MaxSetPublish)
		}
	}
	return members, nil
}

// LearnFloors takes the versions that a coordinator has stored into the ledger
// of the repository at dir, so that the next compile goes above them (CMP-15).
// It returns the conflicts that it does not believe; see MaxFloorStep.
func LearnFloors(dir string, conflicts []Conflict) (unbelieved []Conflict, err error) {
	repo, err := openRepository(dir)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	ledger, err := readLedger(repo.fsys)
	if err != nil {
		return nil, err
	}
	learnt, unbelieved := ledger.Learn(conflicts)
	return unbelieved, writeLedger(repo.fsys, learnt)
}
