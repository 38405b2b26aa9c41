package compiler

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// revokedFile lists the certificates that must no longer be believed, a JSON
// object a line, kept in git (PKI-6). Lines are only ever added.
const revokedFile = florDir + "/revoked.jsonl"

// Revoked is one certificate that must no longer be believed.
type Revoked struct {
	At          time.Time `json:"at"`
	Kind        string    `json:"kind"`
	Name        string    `json:"name"`
	Node        string    `json:"node,omitempty"`
	Serial      string    `json:"serial"`
	Fingerprint string    `json:"fingerprint"`
	NotAfter    time.Time `json:"not_after"`
}

// RevokeOptions says which certificates to revoke. Dir and Now are required,
// and one of Who and Node.
type RevokeOptions struct {
	Dir string
	Now time.Time
	// Who is a principal ("alice", "user/alice" or its SPIFFE ID), a serial
	// number or a fingerprint in hex; empty for everything that went to Node.
	Who string
	// Node narrows it to what went into the bundles of that node.
	Node string
	// DryRun finds out what would be revoked, and writes nothing.
	DryRun bool
}

// Revoke records certificates of the issuance log as revoked (PKI-6): all that
// match, are still valid, and were not revoked before. The next compile takes
// them to every vertex. What was recorded is returned, in the order of issuance.
func Revoke(opts RevokeOptions) ([]Revoked, error) {
	repo, err := openRepository(opts.Dir)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	issued, err := readIssued(repo.fsys)
	if err != nil {
		return nil, err
	}
	already, err := readRevoked(repo.fsys)
	if err != nil {
		return nil, err
	}
	chosen, err := opts.choose(issued, already)
	if err != nil || opts.DryRun {
		return chosen, err
	}
	return chosen, appendLines(repo, revokedFile, chosen)
}

// choose decides what is to be revoked.
func (o RevokeOptions) choose(issued []Issued, already []Revoked) ([]Revoked, error) {
	var chosen []Revoked
	matched := 0
	for _, i := range issued {
		if !o.matches(i) {
			continue
		}
		if i.Kind == string(schema.KindManagementPlane) || i.Kind == string(schema.KindControlPlane) {
			return nil, refuse(ReasonNothingToRevoke, "%s is a signer, which no vertex asks for; take it out of every set with \"retectl ca rotate-signer\"", i.Name)
		}
		matched++
		if isRevoked := slices.ContainsFunc(already, func(r Revoked) bool { return r.Fingerprint == i.Fingerprint }); !isRevoked && o.Now.Before(i.NotAfter) {
			chosen = append(chosen, i.revoked(o.Now))
		}
	}
	switch {
	case matched == 0:
		return nil, refuse(ReasonNothingToRevoke, "%s has no certificate of %s; \"grep\" it there for kind, name and serial", issuedFile, o.words())
	case len(chosen) == 0:
		return nil, refuse(ReasonNothingToRevoke, "each of the %d certificates of %s has expired or was revoked before", matched, o.words())
	}
	return chosen, nil
}

func (o RevokeOptions) words() string {
	switch {
	case o.Who == "":
		return "the bundles of node " + o.Node
	case o.Node != "":
		return o.Who + " in a bundle of node " + o.Node
	}
	return o.Who
}

func (o RevokeOptions) matches(i Issued) bool {
	if o.Node != "" && o.Node != i.Node {
		return false
	}
	if o.Who == "" {
		return o.Node != ""
	}
	if id, err := spiffeid.FromString(o.Who); err == nil {
		return id.Path() == "/"+i.Kind+"/"+i.Name
	}
	number := strings.ToLower(strings.ReplaceAll(o.Who, ":", ""))
	return o.Who == i.Name || o.Who == i.Kind+"/"+i.Name ||
		strings.TrimLeft(number, "0") == strings.TrimLeft(i.Serial, "0") || number == i.Fingerprint
}

func (i Issued) revoked(at time.Time) Revoked {
	return Revoked{
		At:          at.UTC().Truncate(time.Second),
		Kind:        i.Kind,
		Name:        i.Name,
		Node:        i.Node,
		Serial:      i.Serial,
		Fingerprint: i.Fingerprint,
		NotAfter:    i.NotAfter,
	}
}

// readRevoked reads what was revoked, and refuses a fingerprint that no
// certificate has: it would make every vertex refuse its payload.
func readRevoked(fsys durable.FS) ([]Revoked, error) {
	list, err := readLines[Revoked](fsys, revokedFile)
	if err != nil {
		return nil, err
	}
	for number, r := range list {
		if sum, err := hex.DecodeString(r.Fingerprint); err != nil || len(sum) != 32 || strings.ToLower(r.Fingerprint) != r.Fingerprint {
			return nil, refuse(ReasonRecordDamaged, "%s, entry %d: %q is not a SHA-256 in lower-case hex; restore the file from git", revokedFile, number+1, r.Fingerprint)
		}
	}
	return list, nil
}

// revokedNow lists, for the vertices, what is revoked and has not expired by
// itself: sorted, each once.
func revokedNow(fsys durable.FS, now time.Time) ([]string, error) {
	list, err := readRevoked(fsys)
	if err != nil {
		return nil, err
	}
	fingerprints := []string{}
	for _, r := range list {
		if now.Before(r.NotAfter) {
			fingerprints = append(fingerprints, r.Fingerprint)
		}
	}
	slices.Sort(fingerprints)
	return slices.Compact(fingerprints), nil
}
