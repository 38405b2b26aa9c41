package compiler

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/store/durable"
)

// issuedFile is the audit trail of certificates, a JSON object a line, kept in
// git (PKI-4). Lines are only ever added.
const issuedFile = florDir + "/issued.jsonl"

// IssuedPath is where the issuance log lies below the root of a repository.
const IssuedPath = issuedFile

// Issued is one line of the issuance log.
type Issued struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Name string    `json:"name"`
	// Node is the node whose bundle the certificate went into; empty when it
	// was issued by itself.
	Node   string `json:"node,omitempty"`
	Serial string `json:"serial"`
	// Fingerprint is the SHA-256 of the certificate in hex, as in a vertex's
	// list of revoked certificates.
	Fingerprint string    `json:"fingerprint"`
	NotBefore   time.Time `json:"not_before"`
	NotAfter    time.Time `json:"not_after"`
}

// NewIssued describes a certificate, which is not nil, that was issued at a time,
// for a node's bundle or, with node empty, by itself. Kind and name are empty when
// it has no SPIFFE ID.
func NewIssued(cert *x509.Certificate, node string, at time.Time) Issued {
	sum := sha256.Sum256(cert.Raw)
	entry := Issued{
		At:          at.UTC().Truncate(time.Second),
		Node:        node,
		Serial:      fmt.Sprintf("%x", cert.SerialNumber),
		Fingerprint: hex.EncodeToString(sum[:]),
		NotBefore:   cert.NotBefore.UTC(),
		NotAfter:    cert.NotAfter.UTC(),
	}
	if len(cert.URIs) == 0 {
		return entry
	}
	if id, err := spiffeid.FromURI(cert.URIs[0]); err == nil {
		entry.Kind, entry.Name, _ = strings.Cut(strings.TrimPrefix(id.Path(), "/"), "/")
	}
	return entry
}

// LogIssued adds certificates to the issuance log of the repository at dir, all or
// none, and returns when they are on the disk. Another compile there is
// ReasonCompileRunning.
func LogIssued(dir string, entries ...Issued) error {
	repo, err := openRepository(dir)
	if err != nil {
		return err
	}
	defer repo.Close()
	return repo.logIssued(entries)
}

// logIssued records certificates before any of them leaves.
func (r *repository) logIssued(entries []Issued) error { return appendLines(r, issuedFile, entries) }

// appendLines adds to a file of one JSON object a line, with one write, and
// syncs: what the file is to know it knows before anybody acts on it.
func appendLines[T any](r *repository, name string, entries []T) error {
	var lines []byte
	for _, entry := range entries {
		line, err := json.Marshal(entry)
		if err != nil {
			return fmt.Errorf("encode a line of %s: %w", name, err)
		}
		lines = append(append(lines, line...), '\n')
	}
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	if err := errors.Join(writeWhole(f, lines), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writeWhole appends and syncs. What a full disk took half of is taken back, so
// that it does not spoil the line that comes after it.
func writeWhole(f *os.File, lines []byte) error {
	before, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.Write(lines); err != nil {
		return errors.Join(err, f.Truncate(before.Size()))
	}
	return f.Sync()
}

// maxIssued is the most bytes that are read of the issuance log or of the list
// of what was revoked: several hundred thousand certificates.
const maxIssued = 256 << 20

// readIssued reads the issuance log; a missing one is empty.
func readIssued(fsys durable.FS) ([]Issued, error) { return readLines[Issued](fsys, issuedFile) }

// readLines reads a file of one JSON object a line; a missing one has none. A
// line that cannot be read is refused with its number: an audit trail is not
// guessed at.
func readLines[T any](fsys durable.FS, name string) ([]T, error) {
	text, err := fsys.ReadFile(name, maxIssued)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if at, unmerged := facade.MergeConflict(text); unmerged {
		return nil, refuse(ReasonRecordDamaged, "%s:%d: git left a merge conflict here; keep the lines of both sides, and remove those that begin with <<<<<<<, ======= and >>>>>>>", name, bytes.Count(text[:at], []byte("\n"))+1)
	}
	var list []T
	for number, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var entry T
		if err := json.Unmarshal(line, &entry, json.RejectUnknownMembers(true)); err != nil {
			return nil, refuse(ReasonRecordDamaged, "%s:%d: %w; restore the file from git", name, number+1, err)
		}
		list = append(list, entry)
	}
	return list, nil
}
