package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/florete/flor/store/durable"
)

// MaxFile limits one file that is placed, in bytes.
const MaxFile = 256 << 20

// File is a file that is to be placed.
type File struct {
	Path string      // below the prefix, slash-separated
	Mode fs.FileMode // exact permission bits
	Data []byte
}

func (f File) digest() string { return digest(f.Data) }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// found is what stands where a file is to be placed or was placed.
type found struct {
	absent bool
	digest string // of a regular file
	mode   fs.FileMode
}

// look reads what stands under a name.
func look(fsys FS, name string) (found, error) {
	info, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return found{absent: true}, nil
	}
	if err != nil {
		return found{}, err
	}
	if !info.Mode().IsRegular() {
		return found{mode: info.Mode()}, nil
	}
	data, err := fsys.ReadFile(name, MaxFile)
	if err != nil {
		return found{}, err
	}
	return found{digest: digest(data), mode: info.Mode()}, nil
}

// plan is what an install has to do.
type plan struct {
	old      *Receipt // nil: the first install
	place    []File   // what is missing or different
	obsolete []string // what the old install placed and the new one does not
	left     []string // the same, but changed since: it stays
	dirs     []string // missing directories, parents first
}

// compare finds out what there is to do, and refuses what would overwrite
// anything that is not ours. It changes nothing.
func compare(fsys FS, old *Receipt, wanted []File) (plan, error) {
	p := plan{old: old}
	for _, f := range wanted {
		there, err := look(fsys, f.Path)
		if err != nil {
			return plan{}, err
		}
		if err := refuseForeign(old, f, there); err != nil {
			return plan{}, err
		}
		if there.digest != f.digest() || there.mode != f.Mode {
			p.place = append(p.place, f)
		}
	}
	if err := p.findObsolete(fsys, wanted); err != nil {
		return plan{}, err
	}
	return p, p.findDirs(fsys, wanted)
}

// refuseForeign refuses a file in the way that is not as the receipt lists it.
func refuseForeign(old *Receipt, f File, there found) error {
	switch {
	case there.absent || old.lists(f.Path, there.digest):
		return nil
	case there.digest == "":
		return refuse(Foreign, "%s is no regular file (%v): move it away", f.Path, there.mode)
	case old.names(f.Path):
		return refuse(Foreign, "%s has been changed since it was installed: move it away", f.Path)
	}
	return refuse(Foreign, "%s is there already and the receipt does not list it: move it away, or choose another --prefix", f.Path)
}

func (p *plan) findObsolete(fsys FS, wanted []File) error {
	if p.old == nil {
		return nil
	}
	for _, placed := range p.old.Files {
		if slices.ContainsFunc(wanted, func(f File) bool { return f.Path == placed.Path }) {
			continue
		}
		there, err := look(fsys, placed.Path)
		switch {
		case err != nil:
			return err
		case there.absent:
		case p.old.lists(placed.Path, there.digest):
			p.obsolete = append(p.obsolete, placed.Path)
		default:
			p.left = append(p.left, placed.Path)
		}
	}
	return nil
}

func (p *plan) findDirs(fsys FS, wanted []File) error {
	for _, dir := range parents(wanted) {
		there, err := stands(fsys, dir)
		if err != nil {
			return err
		}
		if !there {
			p.dirs = append(p.dirs, dir)
		}
	}
	return nil
}

// parents are the directories in which files and the receipt lie, parents first.
func parents(files []File) []string {
	var dirs []string
	add := func(name string) {
		for i, c := range name {
			if c == '/' && !slices.Contains(dirs, name[:i]) {
				dirs = append(dirs, name[:i])
			}
		}
	}
	add(ReceiptFile)
	for _, f := range files {
		add(f.Path)
	}
	return dirs
}

// receipt is the one to write before anything is changed: it lists what stands
// and what is to come.
func (p *plan) receipt(o Options, stopped []string) *Receipt {
	r := &Receipt{
		SchemaVersion: ReceiptVersion, State: Installing, Mode: o.Mode, Version: o.Version, Account: o.Account,
		Stopped: stopped, Dirs: p.dirs,
	}
	for _, f := range o.Files {
		r.add(f.Path, f.digest())
	}
	if p.old == nil {
		return r
	}
	r.Dirs = union(p.old.Dirs, p.dirs)
	for _, placed := range p.old.Files {
		if !slices.Contains(p.left, placed.Path) {
			r.add(placed.Path, placed.SHA256...)
		}
	}
	return r
}

func (r *Receipt) add(name string, digests ...string) {
	i := r.index(name)
	if i < 0 {
		r.Files = append(r.Files, Placed{Path: name})
		i = len(r.Files) - 1
	}
	r.Files[i].SHA256 = union(r.Files[i].SHA256, digests)
}

// final is the receipt of what has been placed.
func (r *Receipt) final(o Options) *Receipt {
	done := *r
	done.State, done.Files = Installed, nil
	for _, f := range o.Files {
		done.add(f.Path, f.digest())
	}
	return &done
}

// union is what is in a or in b, in this order.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// stageDir holds what is about to be placed, under names without directories.
const stageDir = LibDir + "/staged"

func stagedName(name string) string { return strings.ReplaceAll(name, "/", "__") }

func stagedPath(name string) string {
	return path.Join(stageDir+durable.PartialSuffix, stagedName(name))
}

// tree is what is staged.
func (p *plan) tree() durable.Tree {
	tree := durable.Tree{Perm: dirPerm}
	for _, f := range p.place {
		tree.Entries = append(tree.Entries, durable.Entry{Name: stagedName(f.Path), Mode: f.Mode, Data: f.Data})
	}
	return tree
}
