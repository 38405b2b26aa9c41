package facade

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/florete/flor/compiler/diag"
)

// Options says what to read.
type Options struct {
	// Root is the directory of the repository, the one with rete.yaml.
	Root string
	// Files, when given, are read instead of what discovery finds: paths and
	// globs, relative to Root unless absolute, `**` included.
	Files []string
}

// Load reads the source of a rete (CMP-1, CMP-2). The Source is never nil;
// what could not be read is missing in it and told in the list, which is
// sorted.
func Load(opts Options) (*Source, diag.List) { return load(opts, standardLimits) }

func load(opts Options, max limits) (*Source, diag.List) {
	l := loader{src: &Source{Texts: diag.Sources{}}}
	root, err := os.OpenRoot(opts.Root)
	if err != nil {
		l.refuse(unreadable.At(diag.WholeFile("."), "the repository cannot be opened: %v", bare(err)))
		return l.src, l.found
	}
	defer root.Close()
	l.root, l.reader = root, newReader(root, max)
	if len(opts.Files) > 0 {
		l.loadNamed(opts.Files)
	} else {
		l.loadDiscovered()
	}
	return l.src, l.found.Sorted()
}

// loader collects the files of one source.
type loader struct {
	root   *os.Root
	reader *reader
	src    *Source
	found  diag.List
}

// refuse records faults that hide a whole file, or several.
func (l *loader) refuse(found ...diag.Diagnostic) {
	l.found.Add(found...)
	if diag.List(found).HasErrors() {
		l.src.hidden.everything = true
	}
}

func (l *loader) loadDiscovered() {
	if _, err := l.root.Lstat(RootFile); err != nil {
		l.refuse(l.rootMissing(bare(err)))
		return
	}
	anchor := l.parse(file{path: RootFile, shown: RootFile})
	sel := l.selection(anchor)
	files := l.find(sel, nil)
	l.unite(anchor)
	for _, f := range files {
		if f.path != RootFile {
			l.unite(l.parse(f))
		}
	}
	for _, p := range sel.include {
		if !p.used && p.text.Given() {
			l.found.Add(idlePattern.At(p.text.At, "the pattern %q matches no file", p.text.V))
		}
	}
}

func (l *loader) rootMissing(err error) diag.Diagnostic {
	d := noRete.At(diag.WholeFile(RootFile), "the root of the repository has no rete.yaml: %v", err)
	below := rootsBelow(l.root)
	for _, name := range below {
		d = d.Also(diag.WholeFile(name), "there is one here")
	}
	if len(below) > 0 {
		return d.Suggest("use --repo %s", strings.TrimSuffix(below[0], "/"+RootFile))
	}
	return d.Suggest("make a repository with `retectl init`")
}

// loadNamed reads what -f names.
func (l *loader) loadNamed(names []string) {
	sel := selection{anyEnding: true}
	var plain []string
	for _, name := range names {
		if name = l.belowRoot(name); !hasMeta(name) {
			plain = append(plain, name)
			continue
		}
		sel.include = append(sel.include, l.pattern(Text{V: name, At: diag.WholeFile(name)})...)
	}
	for _, f := range l.find(sel, plain) {
		l.unite(l.parse(f))
	}
	for _, p := range sel.include {
		if !p.used {
			l.refuse(noSuchFile.At(p.text.At, "the pattern %q matches no file", p.text.V))
		}
	}
}

// belowRoot turns an absolute path or glob below the root into a relative one,
// also where a symbolic link leads to the root.
func (l *loader) belowRoot(name string) string {
	root, err := filepath.Abs(l.root.Name())
	if err != nil || !filepath.IsAbs(name) {
		return filepath.ToSlash(name)
	}
	target, err := filepath.EvalSymlinks(root)
	if err != nil {
		target = root
	}
	for _, dir := range []string{root, target} {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return name
}

func (l *loader) find(sel selection, plain []string) []file {
	f, err := newFinder(l.root, sel)
	if err != nil {
		l.refuse(unreadable.At(diag.WholeFile("."), "the repository cannot be searched: %v", bare(err)))
		return nil
	}
	if len(sel.include) > 0 {
		f.walkAll()
	}
	for _, name := range plain {
		f.take(name)
	}
	l.refuse(f.found...)
	return f.discovered()
}

// selection reads the section `source` of the root file.
func (l *loader) selection(anchor *document) selection {
	sel := selection{}
	for _, t := range anchor.included {
		sel.include = append(sel.include, l.pattern(t)...)
	}
	for _, t := range anchor.excluded {
		sel.exclude = append(sel.exclude, l.pattern(t)...)
	}
	if !anchor.includes {
		sel.include = []*pattern{{glob: glob{"**"}}}
	}
	return sel
}

// pattern gives one pattern, or none for a malformed one.
func (l *loader) pattern(t Text) []*pattern {
	g, err := parseGlob(t.V)
	if err != nil {
		l.refuse(badPattern.At(t.At, "the pattern %q is malformed: %v", t.V, err))
		return nil
	}
	return []*pattern{{glob: g, text: t}}
}
