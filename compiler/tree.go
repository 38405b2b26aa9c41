package compiler

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// What the compiler keeps in the operator's repository, by its path below the
// root. The tree and the ledger are committed; the rest is ignored by git.
const (
	florDir     = ".flor"
	treeName    = "compiled" // below florDir
	treeDir     = florDir + "/" + treeName
	ledgerFile  = florDir + "/ledger.json"
	stagingName = "staging" // below florDir
	stagingDir  = florDir + "/" + stagingName
	journalFile = florDir + "/journal.json"
	lockFile    = florDir + "/lock"
	ignoreFile  = florDir + "/.gitignore"
	attributes  = florDir + "/.gitattributes"

	planeDir   = string(envelope.Mgmt)
	fileSuffix = ".json"
	rootFile   = envelope.AgentName + fileSuffix

	fileMode fs.FileMode = 0o644
	dirMode  fs.FileMode = 0o755
)

// ignored is the text of ignoreFile.
const ignored = "# What a compile needs while it runs (retectl).\n/staging/\n/journal.json\n/journal.json.tmp\n/ledger.json.tmp\n/published.json.tmp\n/lock\n"

// merged is the text of attributes. Bytes are signed, so that git converts none;
// and of the files that are only ever added to, both sides of a merge are right.
const merged = "# How git treats what retectl keeps here.\n* -text\n/issued.jsonl merge=union\n/revoked.jsonl merge=union\n"

// setDir is where the compiled set of a node lies.
func setDir(node string) string { return path.Join(treeDir, node, planeDir) }

// setFiles is the compiled set of one node as it lies on disk: file name to
// content, the final newline included.
type setFiles map[string][]byte

// treeNodes lists the nodes of the compiled tree, sorted.
func treeNodes(fsys durable.FS) ([]string, error) {
	entries, err := fsys.ReadDir(treeDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() {
			continue
		}
		if err := envelope.SafeName(e.Name()); err != nil {
			return nil, refuse(ReasonTreeUnsuitable, "%s/%s: %w; remove it", treeDir, e.Name(), err)
		}
		nodes = append(nodes, e.Name())
	}
	return nodes, nil
}

// openTree opens the compiled tree for readSetIn. It is opened once and not for
// each file, because the way down to it costs more than reading.
func openTree(fsys durable.FS) (tree durable.FS, done func() error, err error) {
	return below(fsys, treeDir)
}

// readSet reads the compiled set of one node; see readSetIn.
func readSet(fsys durable.FS, node string) (setFiles, error) {
	tree, done, err := openTree(fsys)
	if err != nil {
		return nil, err
	}
	defer done()
	return readSetIn(tree, node)
}

// readSetIn reads the compiled set of a node out of the open tree; nil when there
// is none. Files of other kinds beside it (what an editor leaves) are none of
// ours.
func readSetIn(tree durable.FS, node string) (setFiles, error) {
	dir := path.Join(node, planeDir)
	entries, err := tree.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := setFiles{}
	for _, e := range entries {
		if path.Ext(e.Name()) != fileSuffix {
			continue
		}
		if len(files) == envelope.MaxArtifacts {
			return nil, refuse(ReasonTooLarge, "%s holds more than %d artifacts", setDir(node), envelope.MaxArtifacts)
		}
		data, err := tree.ReadFile(path.Join(dir, e.Name()), envelope.MaxEnvelope+1)
		if err != nil {
			return nil, err
		}
		files[e.Name()] = data
	}
	return files, nil
}

// digests gives the SHA-256 of each file, in hex, as the ledger has them.
func (f setFiles) digests() map[string]string {
	digests := make(map[string]string, len(f))
	for name, data := range f {
		sum := sha256.Sum256(data)
		digests[name] = hex.EncodeToString(sum[:])
	}
	return digests
}

// order lists the files as they go into a set document: the root first and the
// rest by name.
func (f setFiles) order() []string {
	names := sortedKeys(f)
	if i := slices.Index(names, rootFile); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, rootFile)
	}
	return names
}

// members are the artifacts without the newline that ends a file (ENV-9), in
// that order.
func (f setFiles) members() [][]byte {
	names := f.order()
	members := make([][]byte, len(names))
	for i, name := range names {
		members[i] = withoutNewline(f[name])
	}
	return members
}

func withoutNewline(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		return text[:n-1]
	}
	return text
}

// genuineVersion is the version of a set whose signatures and coherence hold
// under the rete's own CA, whichever signer made it; false when they do not.
// It is what makes a version believable that no ledger vouches for.
func (f setFiles) genuineVersion(anchor envelope.Anchor, node string) (uint64, bool) {
	root, err := envelope.Parse(withoutNewline(f[rootFile]))
	if err != nil {
		return 0, false
	}
	agent, err := schema.ParseAgent(root.Payload())
	if err != nil {
		return 0, false
	}
	trust, err := anchor.TrustSet(agent.Trust)
	if err != nil {
		return 0, false
	}
	verified, err := verifyAll(trust, f.members())
	if err != nil {
		return 0, false
	}
	if _, err := schema.CheckSet(anchor.TrustDomain, node, verified); err != nil {
		return 0, false
	}
	return root.Version, true
}

func verifyAll(trust *envelope.TrustSet, members [][]byte) ([]envelope.Verified, error) {
	verified := make([]envelope.Verified, 0, len(members))
	for _, text := range members {
		v, err := trust.Verify(text)
		if err != nil {
			return nil, err
		}
		verified = append(verified, v)
	}
	return verified, nil
}
