// Package diagtest runs golden tests of diagnostics. Each case is a txtar
// archive: its comment says what it is about and may hold directives, its
// files are a repository, and the file "want" is what [diag.Render] makes of
// the findings. It is called by the tests of the compiler's packages.
//
// A test that is run with -update writes "want" anew, for a person to review.
package diagtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/florete/flor/compiler/diag"
)

var update = flag.Bool("update", false, "write the golden files anew")

const wantFile = "want"

// Case is one archive, laid out on disk.
type Case struct {
	// Name is the file name of the archive without its ending.
	Name string
	// Dir is the repository.
	Dir string
	// Directives are the lines of the comment that start with "!", cut into words.
	Directives [][]string
}

// Check reports what is found in the repository of a case.
type Check func(t *testing.T, c Case) (diag.List, diag.Sources)

// Run runs every archive below dir as a subtest, and returns the codes that
// each one found, by name.
func Run(t *testing.T, dir string, check Check) map[string][]string {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in %s (%v)", dir, err)
	}
	found := map[string][]string{}
	for _, path := range archives {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			found[name] = runArchive(t, path, name, check)
		})
	}
	return found
}

func runArchive(t *testing.T, path, name string, check Check) []string {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Name: name, Dir: t.TempDir(), Directives: directives(archive.Comment)}
	layOut(t, c.Dir, archive)
	list, sources := check(t, c)
	checkList(t, list)
	var got bytes.Buffer
	if err := diag.Render(&got, list, sources, false); err != nil {
		t.Fatal(err)
	}
	if *update {
		rewrite(t, path, archive, got.Bytes())
	} else if diff := cmp.Diff(string(contentOf(archive, wantFile)), got.String()); diff != "" {
		t.Errorf("findings differ from the golden ones (-want +got):\n%s", diff)
	}
	codes := make([]string, 0, len(list))
	for _, d := range list {
		codes = append(codes, d.Code)
	}
	return codes
}

// checkList asserts what holds for every list: each finding has a place and a
// message, is there once, and the list is sorted.
func checkList(t *testing.T, list diag.List) {
	if diff := cmp.Diff(list.Sorted(), list); diff != "" && len(list) > 0 {
		t.Errorf("the list is not sorted or names a fault twice:\n%s", diff)
	}
	for _, d := range list {
		if !d.Place.Known() || d.Place.Start.Line < 1 || d.Place.Start.Column < 1 || d.Message == "" || d.Reason == "" {
			t.Errorf("the finding %+v has no place, message or reason", d)
		}
	}
}

func directives(comment []byte) [][]string {
	var list [][]string
	for line := range strings.Lines(string(comment)) {
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			list = append(list, strings.Fields(rest))
		}
	}
	return list
}

func layOut(t *testing.T, dir string, archive *txtar.Archive) {
	for _, f := range archive.Files {
		if f.Name == wantFile {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func contentOf(archive *txtar.Archive, name string) []byte {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func rewrite(t *testing.T, path string, archive *txtar.Archive, want []byte) {
	files := archive.Files[:0:0]
	for _, f := range archive.Files {
		if f.Name != wantFile {
			files = append(files, f)
		}
	}
	archive.Files = append(files, txtar.File{Name: wantFile, Data: want})
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
