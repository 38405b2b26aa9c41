package self

import (
	"context"

	"github.com/florete/flor/conformance"
	"github.com/florete/flor/conformance/internal/reference"
	"github.com/florete/flor/conformance/vectors"
)

// Verifier is this module's own implementation, called in this process.
type Verifier struct{}

// Verify answers a vector with package envelope, schema and bundle.
func (Verifier) Verify(_ context.Context, e vectors.Entry) (conformance.VerifierAnswer, error) {
	dir, err := e.Files()
	if err != nil {
		return conformance.VerifierAnswer{}, err
	}
	a, err := reference.Verify(dir)
	return conformance.VerifierAnswer{Accepted: a.Accepted, Code: a.Code, Output: a.Output}, err
}
