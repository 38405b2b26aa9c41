package store

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

// lockSuffix marks the lock beside a scope root.
const lockSuffix = ".lock"

// Names beside the scope roots that no scope can have, because they start with
// a dot (ENV-4).
const (
	nextPrefix     = ".next-"     // a whole root that is about to replace a scope
	replacedPrefix = ".replaced-" // a scope that was replaced, with the time in UTC
	replacedTime   = "20060102T150405.000Z"
)

// reservedSuffixes are what the store itself puts behind a scope's name.
var reservedSuffixes = []string{lockSuffix, durable.TmpSuffix, durable.PartialSuffix}

// CheckScope refuses what cannot be the name of a scope: it must be a safe path
// component (ENV-4) and must not end like the store's own files beside it.
func CheckScope(scope string) error {
	if err := envelope.SafeName(scope); err != nil {
		return refuse(BadScope, "", "%w", err)
	}
	for _, suffix := range reservedSuffixes {
		if strings.HasSuffix(envelope.FoldName(scope), suffix) {
			return refuse(BadScope, "", "the name %q ends in %s, which the store keeps for itself: choose another with --as", scope, suffix)
		}
	}
	return nil
}

// Scopes lists the enrolled scopes by name. No state directory means none.
func (l Layout) Scopes() ([]string, error) {
	entries, err := os.ReadDir(l.RetesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var scopes []string
	for _, e := range entries {
		// What is about to replace a scope stands for it: see [CreateInstead].
		name := strings.TrimPrefix(e.Name(), nextPrefix)
		if e.IsDir() && CheckScope(name) == nil {
			scopes = append(scopes, name)
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// ChooseScope returns the scope that is meant: the named one, or with no name
// the only one enrolled. Several are listed in the refusal.
func (l Layout) ChooseScope(name string) (string, error) {
	if name != "" {
		return name, CheckScope(name)
	}
	scopes, err := l.Scopes()
	switch {
	case err != nil:
		return "", err
	case len(scopes) == 0:
		return "", refuse(NotEnrolled, "", "nothing is enrolled below %s: run flor enroll <bundle>", l.RetesDir())
	case len(scopes) > 1:
		return "", refuse(AmbiguousScope, "", "name one of %s with --rete", strings.Join(scopes, ", "))
	}
	return scopes[0], nil
}
