package compiler

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/relay/config"
)

// CompiledTree is a compiled tree that was read: that of a repository, or an
// earlier one.
type CompiledTree struct{ sets map[string]setFiles }

// Nodes is how many nodes have a set in the tree.
func (t *CompiledTree) Nodes() int {
	if t == nil {
		return 0
	}
	return len(t.sets)
}

// ReadTree reads the compiled tree of the repository at dir, without taking its
// lock. One without any set is read as empty; one that a compile is writing, or
// left unfinished, is refused.
func ReadTree(ctx context.Context, dir string) (*CompiledTree, error) {
	fsys, closeRoot, err := peek(dir)
	if err != nil {
		return nil, err
	}
	defer closeRoot()
	nodes, err := treeNodes(fsys)
	if err != nil {
		return nil, err
	}
	sets := make([]setFiles, len(nodes))
	err = eachNode(ctx, len(nodes), func(i int) (err error) {
		if sets[i], err = readSet(fsys, nodes[i]); err != nil {
			return fmt.Errorf("read the compiled set of node %s: %w", nodes[i], err)
		}
		return nil
	})
	tree := &CompiledTree{sets: make(map[string]setFiles, len(nodes))}
	for i, node := range nodes {
		if len(sets[i]) > 0 {
			tree.sets[node] = sets[i]
		}
	}
	return tree, err
}

// TreePath is where the compiled tree lies below the root of a repository.
const TreePath = treeDir

// RecordsPath is where everything lies that is kept beside the source: the
// compiled tree, the ledger, and what was issued, revoked and published.
const RecordsPath = florDir

// ReadTreeArchive reads a compiled tree out of a tar archive whose paths start
// with TreePath, as `git archive REV .flor/compiled` writes it. What else is in
// the archive is passed over; a tree over envelope.MaxSetPublish is refused.
func ReadTreeArchive(r io.Reader) (*CompiledTree, error) {
	tree := &CompiledTree{sets: map[string]setFiles{}}
	left := int64(envelope.MaxSetPublish)
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return tree, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the archived tree: %w", err)
		}
		node, file, isMember := memberPath(header)
		if !isMember {
			continue
		}
		if left -= header.Size; left < 0 || header.Size > envelope.MaxEnvelope {
			return nil, refuse(ReasonTooLarge, "%s: the archived tree is over %d bytes, or the file over %d", header.Name, envelope.MaxSetPublish, envelope.MaxEnvelope)
		}
		if err := tree.add(node, file, archive); err != nil {
			return nil, err
		}
	}
}

// memberPath takes the path of an artifact apart: .flor/compiled/<node>/mgmt/<file>.
func memberPath(header *tar.Header) (node, file string, ok bool) {
	rest, inTree := strings.CutPrefix(header.Name, treeDir+"/")
	node, rest, _ = strings.Cut(rest, "/")
	plane, file, _ := strings.Cut(rest, "/")
	ok = inTree && header.Typeflag == tar.TypeReg && plane == planeDir && path.Ext(file) == fileSuffix && !strings.Contains(file, "/")
	return node, file, ok
}

func (t *CompiledTree) add(node, file string, content io.Reader) error {
	text, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("read the archived tree: %w", err)
	}
	if t.sets[node] == nil {
		t.sets[node] = setFiles{}
	}
	if len(t.sets[node]) == envelope.MaxArtifacts {
		return refuse(ReasonTooLarge, "%s holds more than %d artifacts", setDir(node), envelope.MaxArtifacts)
	}
	t.sets[node][file] = text
	return nil
}

// payloads are those of every node, ordered by node.
func (t *CompiledTree) payloads(ctx context.Context) ([]NodePayloads, error) {
	if t == nil {
		return nil, nil
	}
	nodes := sortedKeys(t.sets)
	list := make([]NodePayloads, len(nodes))
	err := eachNode(ctx, len(nodes), func(i int) (err error) {
		if list[i], err = t.sets[nodes[i]].payloads(nodes[i]); err != nil {
			return refuse(ReasonTreeUnsuitable, "%s cannot be compared: %w; compile writes it anew", setDir(nodes[i]), err)
		}
		return nil
	})
	return list, err
}

// payloads reads a set with the schemas of its consumers.
func (f setFiles) payloads(node string) (NodePayloads, error) {
	p := NodePayloads{Node: node}
	err := errors.Join(
		readMember(f, envelope.AgentName, schema.ParseAgent, &p.Agent),
		readMember(f, VertexName, schema.ParseVertex, &p.Vertex),
	)
	if _, has := f[CoordinatorName+fileSuffix]; has {
		err = errors.Join(err, readMember(f, CoordinatorName, config.Parse, &p.Coordinator))
	}
	return p, err
}

func readMember[T any](f setFiles, name string, parse func([]byte) (*T, error), into **T) error {
	text, has := f[name+fileSuffix]
	if !has {
		return fmt.Errorf("%s is missing", name+fileSuffix)
	}
	artifact, err := envelope.Parse(withoutNewline(text))
	if err != nil {
		return err
	}
	*into, err = parse(artifact.Payload())
	return err
}
