package envelope_test

import (
	"strings"
	"testing"

	"github.com/florete/flor/envelope"
)

func TestSafeNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a", "0", "alpha", "Alpha-2.local_x", "agent", "con1", "com", "com10", "lpt", "lptx", "nulls",
		"console.log", "a-", "a_", "x.con", strings.Repeat("a", 63),
	} {
		wantReason(t, envelope.SafeName(name), "")
	}
}

func TestUnsafeNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", ".", "..", ".hidden", "-flag", "_x", "a.", "a b", "a/b", `a\b`, "a\x00", "é", "a:b", "a*", "ſ",
		"con", "CON", "Con.txt", "prn", "aux", "AUX.tar.gz", "nul", "com0", "COM9", "com1.x", "lpt0", "LPT9.y",
		strings.Repeat("a", 64), strings.Repeat("é", 40),
	} {
		wantReason(t, envelope.SafeName(name), envelope.UnsafeName)
	}
}

func TestSameNameIgnoresCase(t *testing.T) {
	t.Parallel()
	if !envelope.SameName("Wire", "wIRE") {
		t.Error("names that differ by case only are not the same")
	}
	if envelope.SameName("wire", "wire1") {
		t.Error("different names are the same")
	}
}
