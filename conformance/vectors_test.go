package conformance

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/florete/flor/conformance/internal/mint"
)

// TestVectorsAreWhatTheirSeedsGive makes all vectors anew and compares them
// with the files that are published; with -update it writes them (CNF-2).
func TestVectorsAreWhatTheirSeedsGive(t *testing.T) {
	want := mint.Tree()
	if *update {
		writeVectors(t, want)
		return
	}
	have := readVectors(t)
	for path, text := range want {
		switch published, ok := have[path]; {
		case !ok:
			t.Errorf("vectors/%s is missing; run go test ./conformance -update", path)
		case !bytes.Equal(published, text):
			t.Errorf("vectors/%s is not what its seed gives; run go test ./conformance -update", path)
		}
		delete(have, path)
	}
	for path := range have {
		t.Errorf("vectors/%s belongs to no vector; run go test ./conformance -update", path)
	}
}

func readVectors(t *testing.T) map[string][]byte {
	t.Helper()
	have := map[string][]byte{}
	tree := os.DirFS("vectors")
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".go" || path == "README.md" {
			return err
		}
		have[path], err = fs.ReadFile(tree, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}

func writeVectors(t *testing.T, want map[string][]byte) {
	t.Helper()
	for path := range readVectors(t) {
		if want[path] == nil {
			check(t, os.Remove(filepath.Join("vectors", path)))
		}
	}
	for path, text := range want {
		path = filepath.Join("vectors", path)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, text, 0o644))
	}
}

// TestNoTwoVectorsAreTheSame: a vector that repeats another one shows nothing.
func TestNoTwoVectorsAreTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, v := range mint.Vectors() {
		var content []byte
		for _, name := range v.FileNames() {
			content = slices.Concat(content, []byte(name), v.Files[name])
		}
		if first, ok := seen[string(content)]; ok {
			t.Errorf("%s has the content of %s", v.Name, first)
		}
		seen[string(content)] = v.Name
	}
}

// TestNoVectorIsBinary: vectors are read, compared and carried like source, so
// none holds a zero byte, by which tools tell what is binary.
func TestNoVectorIsBinary(t *testing.T) {
	t.Parallel()
	for path, content := range mint.Tree() {
		if bytes.IndexByte(content, 0) >= 0 {
			t.Errorf("vectors/%s holds a zero byte; publish it in base64", path)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
