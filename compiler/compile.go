package compiler

import (
	"context"
	"crypto"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// maxCertificate is the most bytes that are read as a certificate.
const maxCertificate = 64 << 10

// SourceOptions says where the source of a rete is.
type SourceOptions struct {
	// Dir is the root of the repository, the directory with rete.yaml.
	Dir string
	// Files, when given, are read instead of what discovery finds.
	Files []string
	// Now is the time against which certificates are judged.
	Now time.Time
}

// Loaded is a source without errors.
type Loaded struct {
	View *View
	// Warnings are what validation found and does not object to.
	Warnings diag.List
	// Texts are the sources that the warnings point into.
	Texts diag.Sources
}

// SourceError says that the source has faults. All of them are in Diagnostics.
type SourceError struct {
	Diagnostics diag.List
	Texts       diag.Sources
}

// Code is the stable code of the error; each diagnostic has its own.
func (e *SourceError) Code() string { return ledgerReasons[ReasonSourceFaults].code }

func (e *SourceError) Error() string {
	return fmt.Sprintf("%s %s: faults in the YAML: %d", e.Code(), ReasonSourceFaults, e.Diagnostics.Count(diag.Error))
}

// Load reads and validates a source, within the limits of facade.Load. Its faults
// come as a *SourceError; a record of revoked certificates that cannot be read is a
// *Refusal (ReasonRecordDamaged).
func Load(opts SourceOptions) (*Loaded, error) {
	root, err := os.OpenRoot(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	defer root.Close()
	fsys := durable.OS(root)
	src, found := facade.Load(facade.Options{Root: opts.Dir, Files: opts.Files})
	view, judged := Validate(src, ValidateOptions{
		Now:      opts.Now,
		ReadFile: func(name string) ([]byte, error) { return readSource(fsys, name, maxCertificate) },
	})
	found.Add(judged...)
	found = found.Sorted()
	if found.HasErrors() {
		return nil, &SourceError{Diagnostics: found, Texts: src.Texts}
	}
	if view.Revoked, err = revokedNow(fsys, opts.Now); err != nil {
		return nil, err
	}
	return &Loaded{View: view, Warnings: found, Texts: src.Texts}, nil
}

// ChooseSigner picks the management signer that signs, of those that the source
// lists, in its order, and gives its private key. It is called once, and only
// when something has to be signed.
type ChooseSigner func(listed []*Signer) (*Signer, crypto.Signer, error)

// CompileOptions says what to compile, and how. Dir, Now and Signer are
// required; Signer may be nil with Check.
type CompileOptions struct {
	SourceOptions
	Signer ChooseSigner
	// GeneratedAt is what touched artifacts say of their making; Now if zero.
	GeneratedAt time.Time
	// Floor, when not 0, lifts every node above that version. It is below
	// envelope.MaxVersion, or refused (ReasonVersionsUsedUp).
	Floor uint64
	// Check finds out what would change, and writes nothing.
	Check bool
	// MoveCoordinator allows the coordinator's node or address to change (CMP-18).
	MoveCoordinator bool
	// Resign names a listed signer: sets that another one signed are signed
	// anew, which is the second step of a rotation (ENV-13). Signer must choose
	// the same one. Empty leaves them.
	Resign string
}

// Result is what a compile did, or with Check would do.
type Result struct {
	// Changes are the touched nodes, by name; those that left have New 0.
	Changes []Change
	// Untouched is how many nodes stay as they are, byte for byte.
	Untouched int
	// Notes are remarks for the operator about the tree and the ledger.
	Notes []string
	// Source is what was compiled, with its warnings.
	Source *Loaded
}

// Change is one node whose set moves to another version.
type Change struct {
	Node string
	// Old is the version in the tree, 0 when the node has no set there; New is
	// the version it moves to, 0 when the node leaves.
	Old, New uint64
	// What says in words what changed, a line each.
	What []string
}

// Compile brings the compiled tree of a repository up to its source (CMP-12 …
// CMP-18): it validates, projects, compares with the tree that is there, signs
// what changed anew, and replaces the tree as one step. Nodes without a change
// are not touched, not by a byte and not by a signature.
//
// Faults of the source come as a *SourceError, everything else that is refused
// as a *Refusal. One Compile runs in a repository at a time; the second is
// refused with ReasonCompileRunning.
func Compile(ctx context.Context, opts CompileOptions) (*Result, error) {
	source, err := Load(opts.SourceOptions)
	if err != nil {
		return nil, err
	}
	if opts.Floor >= envelope.MaxVersion {
		return nil, refuse(ReasonVersionsUsedUp, "the floor %d leaves no version above it: the last one there is is %d", opts.Floor, uint64(envelope.MaxVersion))
	}
	if opts.Check {
		return checkCompile(ctx, source, opts)
	}
	repo, err := openRepository(opts.Dir)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	p, err := makePlan(ctx, source.View, repo.fsys, opts)
	if err != nil {
		return nil, err
	}
	if err := p.check(repo.fsys, opts); err != nil {
		return nil, err
	}
	if err := p.carryOut(ctx, repo.fsys, opts); err != nil {
		return nil, err
	}
	return p.result(source), nil
}

// check refuses what would strand nodes.
func (p *plan) check(fsys durable.FS, opts CompileOptions) error {
	if err := p.checkSigners(); err != nil {
		return err
	}
	return p.checkRoad(fsys, opts.MoveCoordinator)
}

// checkCompile plans and tells, without taking the lock or writing a byte.
func checkCompile(ctx context.Context, source *Loaded, opts CompileOptions) (*Result, error) {
	fsys, closeRoot, err := peek(opts.Dir)
	if err != nil {
		return nil, err
	}
	defer closeRoot()
	p, err := makePlan(ctx, source.View, fsys, opts)
	if err != nil {
		return nil, err
	}
	if err := p.check(fsys, opts); err != nil {
		return nil, err
	}
	return p.result(source), nil
}

// GeneratedAt is the time that artifacts are stamped with, in whole seconds: now,
// or what SOURCE_DATE_EPOCH says, for builds that are to be reproduced. Anything
// but a number of seconds from 1970 to the year 9999 there is refused
// (ReasonBadBuildTime).
func GeneratedAt(now time.Time, getenv func(string) string) (time.Time, error) {
	text := getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return now.UTC().Truncate(time.Second), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > maxEpoch {
		return time.Time{}, refuse(ReasonBadBuildTime, "SOURCE_DATE_EPOCH is %q; it must be a number of seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// maxEpoch is the last second that ENV-3 can spell: the end of the year 9999.
const maxEpoch = 253402300799

// anchor is what the rete's nodes have pinned.
func (v *View) anchor() envelope.Anchor {
	return envelope.Anchor{TrustDomain: v.TrustDomain, CA: v.CA}
}
