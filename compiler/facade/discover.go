package facade

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/florete/flor/compiler/diag"
)

// RootFile is the file that marks the root of a repository.
const RootFile = "rete.yaml"

// pattern is a glob with the place where it was written.
type pattern struct {
	glob glob
	text Text
	used bool
}

func (p *pattern) match(name string) bool {
	if !p.glob.match(name) {
		return false
	}
	p.used = true
	return true
}

// selection decides by name which files belong to the source.
type selection struct {
	include, exclude []*pattern
	// anyEnding lets files in that are not named like YAML.
	anyEnding bool
}

func (s selection) has(name string) bool {
	if !s.anyEnding && !isYAML(name) {
		return false
	}
	matches := func(p *pattern) bool { return p.match(name) }
	return slices.ContainsFunc(s.include, matches) && !slices.ContainsFunc(s.exclude, matches)
}

func isYAML(name string) bool {
	ending := path.Ext(name)
	return ending == ".yaml" || ending == ".yml"
}

// finder walks a repository. Directories are walked under their own names
// first and links are followed after that, so that a file that can be reached
// in several ways is read once and under its own name.
type finder struct {
	root  *os.Root
	dir   string // absolute, without symbolic links
	sel   selection
	seen  map[string]bool
	links []string
	files map[string]string // what opens a file -> what the operator calls it
	found diag.List
}

func newFinder(root *os.Root, sel selection) (*finder, error) {
	dir, err := filepath.Abs(root.Name())
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	return &finder{root: root, dir: dir, sel: sel, seen: map[string]bool{}, files: map[string]string{}}, nil
}

// file is a file to read: by path, and by the name that the operator knows.
type file struct{ path, shown string }

// discovered are the files found so far, ordered by the operator's names.
func (f *finder) discovered() []file {
	files := make([]file, 0, len(f.files))
	for _, p := range slices.Sorted(maps.Keys(f.files)) {
		files = append(files, file{path: p, shown: f.files[p]})
	}
	slices.SortStableFunc(files, func(a, b file) int { return strings.Compare(a.shown, b.shown) })
	return files
}

func (f *finder) walkAll() {
	f.walk(".")
	for len(f.links) > 0 {
		links := slices.Sorted(slices.Values(f.links))
		f.links = nil
		for _, link := range links {
			f.follow(link)
		}
	}
}

func (f *finder) walk(dir string) {
	if f.seen[dir] {
		return
	}
	f.seen[dir] = true
	entries, err := f.readDir(dir)
	if err != nil {
		f.found.Add(unreadable.At(diag.WholeFile(dir), "the directory %s cannot be read: %v", dir, bare(err)))
		return
	}
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); !skipped(name) {
			f.visit(name, e)
		}
	}
}

func (f *finder) readDir(dir string) ([]os.DirEntry, error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// skipped are dotfiles, and what retectl itself keeps at the root.
func skipped(name string) bool {
	return strings.HasPrefix(path.Base(name), ".") || retectlOwns(name)
}

func retectlOwns(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return top == "certs" || top == ".flor"
}

func (f *finder) visit(name string, e os.DirEntry) {
	switch {
	case e.Type()&os.ModeSymlink != 0:
		f.links = append(f.links, name)
	case e.IsDir() && !f.sel.named(name):
		f.walk(name)
	case !f.sel.has(name):
	case e.Type().IsRegular():
		f.files[name] = name
	default:
		f.found.Add(notRegular.At(diag.WholeFile(name), "%s is %s, not a file", name, kindOf(e.Type())))
	}
}

// named reports whether a directory has a name by which a file would be
// selected. A glob that takes any ending selects directories too, and means
// their content.
func (s selection) named(dir string) bool { return isYAML(dir) && s.has(dir) }

func kindOf(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// follow resolves a symbolic link and refuses one that leaves the repository.
// A link that could not bring in a source file is nobody's business.
func (f *finder) follow(link string) {
	target, err := filepath.EvalSymlinks(filepath.Join(f.dir, filepath.FromSlash(link)))
	if err != nil {
		if f.sel.has(link) {
			f.found.Add(linkBroken.At(diag.WholeFile(link), "the symbolic link %s leads nowhere: %s", link, whyBroken(err)))
		}
		return
	}
	info, err := os.Stat(target)
	if err != nil || !info.IsDir() && !f.sel.has(link) {
		return
	}
	name, inside := f.below(target)
	switch {
	case !inside:
		f.found.Add(linkLeaves.At(diag.WholeFile(link), "the symbolic link %s leads out of the repository", link))
	case retectlOwns(name):
	case info.IsDir():
		f.walk(name)
	default:
		f.adopt(name, link)
	}
}

// adopt takes a file that a link leads to, unless it is read already.
func (f *finder) adopt(name, link string) {
	if _, known := f.files[name]; !known {
		f.files[name] = link
	}
}

func whyBroken(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "its target does not exist"
	}
	return "it leads to itself, or where nobody may look"
}

// below gives the path of target below the root.
func (f *finder) below(target string) (string, bool) {
	rel, err := filepath.Rel(f.dir, target)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// take adds one file by its path, whatever the selection says.
func (f *finder) take(name string) {
	full := filepath.FromSlash(name)
	if !filepath.IsAbs(full) {
		full = filepath.Join(f.dir, full)
	}
	target, err := filepath.EvalSymlinks(full)
	if err != nil {
		f.found.Add(noSuchFile.At(diag.WholeFile(name), "%s cannot be found: %v", name, bare(err)))
		return
	}
	inside, ok := f.below(target)
	if !ok {
		f.found.Add(linkLeaves.At(diag.WholeFile(name), "%s lies outside the repository", name))
		return
	}
	shown := inside
	if rel, ok := f.below(full); ok {
		shown = rel
	}
	f.adopt(inside, shown)
}

// rootsBelow looks for a misplaced rete.yaml, a few levels down.
func rootsBelow(root *os.Root) []string {
	var found []string
	level := []string{"."}
	for depth := 0; depth < 4 && len(found) == 0; depth++ {
		var next []string
		for _, dir := range level {
			next = append(next, subdirectories(root, dir)...)
		}
		for _, dir := range next {
			if info, err := root.Stat(path.Join(dir, RootFile)); err == nil && !info.IsDir() {
				found = append(found, path.Join(dir, RootFile))
			}
		}
		level = next[:min(len(next), 1000)]
	}
	return found[:min(len(found), 5)]
}

func subdirectories(root *os.Root, dir string) []string {
	d, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(1000) // a look around, not a search: what cannot be listed is not suggested
	var dirs []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			dirs = append(dirs, path.Join(dir, e.Name()))
		}
	}
	slices.Sort(dirs)
	return dirs
}
