package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/florete/flor/store"
	"github.com/florete/flor/store/durable"
)

const (
	// ReceiptVersion is the schema_version of the receipts that this package
	// writes, and the newest that it reads.
	ReceiptVersion = "1.0"
	// LibDir is where flor's own workloads lie below the prefix.
	LibDir = "lib/flor"
	// ReceiptFile lists what was placed below the prefix.
	ReceiptFile = LibDir + "/receipt.json"

	// maxReceipt limits a receipt, in bytes.
	maxReceipt  = 1 << 20
	receiptPerm = 0o644
	dirPerm     = 0o755
)

// State is how far what the receipt tells of has come.
type State string

// States of an install.
const (
	Installing State = "installing" // files may be the old or the new ones
	Installed  State = "installed"
	Removing   State = "removing" // some files are gone
)

// Receipt is what an install knows of itself. It is a file of the prefix.
type Receipt struct {
	SchemaVersion string     `json:"schema_version"`
	State         State      `json:"state"`
	Mode          store.Mode `json:"mode"`
	Version       string     `json:"version"`
	Account       string     `json:"account,omitempty"` // who runs agents in system mode
	Stopped       []string   `json:"stopped,omitempty"` // scopes that are to be started again
	Files         []Placed   `json:"files"`
	Dirs          []string   `json:"dirs"` // those that were made, parents first
}

// Placed is a file that was placed, or is about to be.
type Placed struct {
	Path   string   `json:"path"`   // below the prefix, slash-separated
	SHA256 []string `json:"sha256"` // of its content; while installing: of the old and the new one
}

// ReadReceipt reads the receipt of a prefix. One that is missing is refused with
// reason [NoReceipt], one of a newer flor with [NewerReceipt].
func ReadReceipt(fsys durable.FS) (*Receipt, error) {
	text, err := fsys.ReadFile(ReceiptFile, maxReceipt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(NoReceipt, "there is no %s below this prefix: run flor install, or name another with --prefix", ReceiptFile)
	}
	if err != nil {
		return nil, refuse(BadReceipt, "%s: %w", ReceiptFile, err)
	}
	return parseReceipt(text)
}

// parseReceipt reads a receipt strictly. What it names lies below the prefix.
func parseReceipt(text []byte) (*Receipt, error) {
	var probe struct {
		SchemaVersion string `json:"schema_version"`
	}
	if err := json.Unmarshal(text, &probe); err != nil {
		return nil, badReceipt(err)
	}
	if probe.SchemaVersion != ReceiptVersion {
		return nil, refuse(NewerReceipt, "%s has schema_version %.20q, this flor reads %s: use the flor that wrote it", ReceiptFile, probe.SchemaVersion, ReceiptVersion)
	}
	var r Receipt
	if err := json.Unmarshal(text, &r, json.RejectUnknownMembers(true)); err != nil {
		return nil, badReceipt(err)
	}
	if err := r.check(); err != nil {
		return nil, badReceipt(err)
	}
	return &r, nil
}

func badReceipt(err error) error {
	return refuse(BadReceipt, "%s: %w: remove what was installed by hand, or bring the file back", ReceiptFile, err)
}

func (r *Receipt) check() error {
	if r.Mode != store.User && r.Mode != store.System {
		return fmt.Errorf("mode %.20q is neither user nor system", string(r.Mode))
	}
	if !slices.Contains([]State{Installing, Installed, Removing}, r.State) {
		return fmt.Errorf("state %.20q is none", string(r.State))
	}
	names := slices.Clone(r.Dirs)
	for _, f := range r.Files {
		names = append(names, f.Path)
	}
	for _, name := range names {
		if !filepath.IsLocal(name) || path.Clean(name) != name || name == "." {
			return fmt.Errorf("%.80q is no name below the prefix", name)
		}
	}
	for _, scope := range r.Stopped {
		if err := store.CheckScope(scope); err != nil {
			return err
		}
	}
	return nil
}

// write puts the receipt in the place of the one before (SET-2).
func (r *Receipt) write(fsys FS) error {
	text, err := json.Marshal(r, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return durable.ReplaceFile(fsys, ReceiptFile, append(text, '\n'), receiptPerm)
}

// lists tells whether the file is as the receipt says that it was placed.
func (r *Receipt) lists(name, digest string) bool {
	i := r.index(name)
	return i >= 0 && slices.Contains(r.Files[i].SHA256, digest)
}

// names tells whether the receipt says anything of the file.
func (r *Receipt) names(name string) bool { return r.index(name) >= 0 }

func (r *Receipt) index(name string) int {
	if r == nil {
		return -1
	}
	return slices.IndexFunc(r.Files, func(f Placed) bool { return f.Path == name })
}

// equal compares what matters of two receipts.
func (r *Receipt) equal(other *Receipt) bool {
	a, errA := json.Marshal(r, json.Deterministic(true))
	b, errB := json.Marshal(other, json.Deterministic(true))
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
