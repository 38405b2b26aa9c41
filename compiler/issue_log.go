package compiler

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// issuedFile is the audit trail of certificates, a JSON object a line, kept in
// git (PKI-4). Lines are only ever added.
const issuedFile = florDir + "/issued.jsonl"

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

// NewIssued describes a certificate that was issued at a time, for a node's
// bundle or, with node empty, by itself.
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
	if id, err := spiffeid.FromURI(cert.URIs[0]); err == nil {
		entry.Kind, entry.Name, _ = strings.Cut(strings.TrimPrefix(id.Path(), "/"), "/")
	}
	return entry
}

// LogIssued adds certificates to the issuance log of the repository at dir.
func LogIssued(dir string, entries ...Issued) error {
	repo, err := openRepository(dir)
	if err != nil {
		return err
	}
	defer repo.Close()
	return repo.logIssued(entries)
}

// logIssued appends with one write and syncs, so that no certificate leaves
// that the log does not know.
func (r *repository) logIssued(entries []Issued) error {
	var lines []byte
	for _, entry := range entries {
		line, err := json.Marshal(entry)
		if err != nil {
			return fmt.Errorf("encode issuance: %w", err)
		}
		lines = append(append(lines, line...), '\n')
	}
	f, err := r.root.OpenFile(issuedFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return fmt.Errorf("open issuance log: %w", err)
	}
	_, err = f.Write(lines)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write issuance log: %w", err)
	}
	return nil
}
