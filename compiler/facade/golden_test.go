package facade

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/diag/diagtest"
)

// TestEveryCodeHasAnExampleThatYieldsExactlyIt runs the archives of
// pages, one for each code of the registry (CMP-1, CMP-2).
func TestEveryCodeHasAnExampleThatYieldsExactlyIt(t *testing.T) {
	found := diagtest.Run(t, "pages", loadCase)
	for _, code := range Registry() {
		if got := found[code.ID]; !slices.Equal(got, []string{code.ID}) {
			t.Errorf("pages/%s.txtar yields %v, want exactly %s once", code.ID, got, code.ID)
		}
		if code.Title == "" || code.Cause == "" || code.Fix == "" {
			t.Errorf("%s lacks a title, cause or fix", code.ID)
		}
	}
	if len(found) != len(Registry()) {
		t.Errorf("%d archives for %d codes", len(found), len(Registry()))
	}
}

// TestSources runs the archives of testdata/sources: what is accepted, and
// what several faults at once look like.
func TestSources(t *testing.T) { diagtest.Run(t, "testdata/sources", loadCase) }

// loadCase loads the repository of an archive after its directives.
func loadCase(t *testing.T, c diagtest.Case) (diag.List, diag.Sources) {
	opts, max := Options{Root: c.Dir}, standardLimits
	for _, d := range c.Directives {
		path := filepath.Join(c.Dir, d[1])
		switch d[0] {
		case "root":
			opts.Root = path
		case "files":
			opts.Files = d[1:]
		case "limits":
			max = limits{file: number(t, d[1]), source: number(t, d[2])}
		default:
			makeOdd(t, c.Dir, path, d)
		}
	}
	src, found := load(opts, max)
	return found, src.Texts
}

// makeOdd makes what an archive cannot hold.
func makeOdd(t *testing.T, dir, path string, d []string) {
	t.Helper()
	var err error
	switch d[0] {
	case "symlink":
		err = os.Symlink(d[2], path)
	case "link-inside":
		err = os.Symlink(filepath.Join(dir, d[2]), path)
	case "fifo":
		err = syscall.Mkfifo(path, 0o644)
	case "mkdir":
		err = os.Mkdir(path, 0o755)
	case "bytes":
		var text string
		if text, err = strconv.Unquote(d[2]); err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
	case "crlf":
		err = rewriteText(path, func(b []byte) []byte {
			return append([]byte("\ufeff"), bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))...)
		})
	default:
		t.Fatalf("unknown directive %q", d)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func rewriteText(path string, change func([]byte) []byte) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, change(text), 0o644)
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
