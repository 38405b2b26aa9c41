//go:build !linux

package conformance

import (
	"runtime"
	"testing"
)

// bootTerminal is of Linux.
func bootTerminal(t *testing.T, _ string) *hostTerminal {
	t.Helper()
	t.Skipf("no systemd runs on %s", runtime.GOOS)
	return nil
}
