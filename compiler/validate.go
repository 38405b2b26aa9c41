package compiler

import (
	"time"

	"github.com/florete/flor/compiler/diag"
)

// ValidateOptions has what validation needs from outside.
type ValidateOptions struct {
	// Now is the time against which certificates are judged.
	Now time.Time
	// ReadFile reads a certificate by its path below the root of the
	// repository, slash-separated. It must refuse paths that leave the root.
	ReadFile func(name string) ([]byte, error)
}

// List of findings; see [diag.List].
type findings = diag.List
