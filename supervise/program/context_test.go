package program

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/envelopetest"
)

// SUP-10: a tenant's test makes a context out of fields, and its program may
// register what it likes on it.
func TestAContextMadeOutOfFieldsWorks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.json")
	signer := envelopetest.NewAuthority("rete-lovers").Signer("alice")
	if err := os.WriteFile(file, signer.Sign("alpha", "a", 1, map[string]int{"n": 7}), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Context{MgmtArtifact: file}
	c.Ready("127.0.0.1:1")
	c.OnApply(func(context.Context, envelope.Artifact, bool) (bool, error) { return true, nil })
	c.OnDrain(func(context.Context) error { return nil })
	c.ServeMetrics(http.NotFoundHandler())
	var payload struct {
		N int `json:"n"`
	}
	if err := c.Decode(&payload); err != nil || payload.N != 7 {
		t.Errorf("decoded %+v, %v", payload, err)
	}
	c.Close()
	c.Close()

	var none Context
	if err := none.Decode(&payload); ExitCode(err) != ExitRejected || !strings.Contains(err.Error(), EnvMgmtArtifact) {
		t.Errorf("a context with nothing in it: %v", err)
	}
	none.Close()
}

// SUP-11: a refusal that comes back over the channel tells its code once.
func TestACodeIsToldOnce(t *testing.T) {
	t.Parallel()
	c, channel := served(t)
	c.OnApply(func(context.Context, envelope.Artifact, bool) (bool, error) { return false, errors.New("never") })
	_, err := channel.Apply(t.Context(), "relative.json", true)
	if err == nil || strings.Count(err.Error(), "FL2508") != 1 {
		t.Errorf("an artifact with a relative path: %v", err)
	}
}
