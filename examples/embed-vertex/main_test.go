package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// VTX-17
func TestAliceIsAnsweredAndBobIsRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out strings.Builder
	if err := demo(ctx, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"spiffe://demo/user/alice was answered: hello spiffe://demo/user/alice\n",
		"spiffe://demo/user/bob was refused: FL4340 peer-denied",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed\n%s\nwhich lacks %q", &out, want)
		}
	}
}
