package compiler

import "github.com/florete/flor/envelope"

// Exported is the compiled set of one node as a set document, which an agent
// takes when the network is what is broken (`flor agent sync --from`, AGT-6).
type Exported struct {
	Node    string
	Version uint64
	// Text is the document; each member stands in it as it lies in the tree.
	Text []byte
}

// Export takes the set of a node out of a compiled tree. A set that the node
// would not accept, because it was edited by hand or is another rete's, is
// refused here (ReasonTreeUnsuitable), where somebody can do something about it;
// so is a name that no node has (ReasonUnknownNode), and a node without a set
// (ReasonNothingCompiled).
func (t *CompiledTree) Export(v *View, node string) (*Exported, error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	if _, err := findNode(v, node); err != nil {
		return nil, err
	}
	var files setFiles
	if t != nil {
		files = t.sets[node]
	}
	if len(files) == 0 {
		return nil, refuse(ReasonNothingCompiled, "node %s has no compiled set; run \"retectl compile\" first", node)
	}
	version, genuine := files.genuineVersion(v.anchor(), node)
	if !genuine {
		return nil, refuse(ReasonTreeUnsuitable, "%s is not a set that node %s would accept: it was edited, or another authority signed it; run \"retectl compile\"", setDir(node), node)
	}
	return &Exported{Node: node, Version: version, Text: envelope.AppendSet(nil, files.members()...)}, nil
}
