package main

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
)

// firstSigner is the name of the signer that init makes.
const firstSigner = "primary"

// signerValidity is how long it may sign.
const signerValidity = 365 * 24 * time.Hour

func initCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "make a repository for a new rete, ready to publish",
		ArgsUsage: "<name>",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "operator", Value: "operator", Usage: "the first `USER` who may publish"},
			&cli.StringFlag{Name: "node", Value: "mgmt01", Usage: "the management `NODE`, which runs the coordinator"},
			&cli.StringFlag{Name: "address", Value: "127.0.0.1:4433", Usage: "the `IP:PORT` (UDP) at which others reach that node"},
			&cli.BoolFlag{Name: "no-passphrase", Usage: "write private keys without a passphrase"},
			&cli.BoolFlag{Name: "force", Usage: "write into an existing directory; keys of that name are set aside, not lost"},
			passphraseFlag(),
		},
		Action: c.init,
	}
}

// init makes ./<name> (PKI-1).
func (c *console) init(ctx context.Context, cmd *cli.Command) error {
	name, err := misused.OneArgument(cmd, "the name of the rete")
	if err != nil {
		return err
	}
	rete, err := newRete(name, cmd)
	if err != nil {
		return err
	}
	ring, err := c.keyringOutside(rete.trustDomain, rete.Name)
	if err != nil {
		return err
	}
	if err := checkRoom(rete.Name, ring, cmd.Bool("force")); err != nil {
		return err
	}
	born, err := rete.bear(time.Now())
	if err != nil {
		return err
	}
	files, err := rete.files(born)
	if err != nil {
		return err
	}
	if err := checkFiles(files); err != nil {
		return err
	}
	passphrase, err := c.newPassphrase(ctx, cmd)
	if err != nil {
		return err
	}
	if err := born.place(ring, passphrase, rete.Name, files); err != nil {
		return err
	}
	return c.settleRepository(ctx, rete, ring, born)
}

// checkFiles validates the repository before anything of it is written, so that
// a name which cannot be leaves neither a directory nor keys behind.
func checkFiles(files durable.Tree) error {
	dir, err := os.MkdirTemp("", "retectl-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	const trial = "trial"
	if err := durable.PublishDir(durable.OS(root), trial, files); err != nil {
		return err
	}
	_, err = compiler.Load(compiler.SourceOptions{Dir: filepath.Join(dir, trial), Now: time.Now()})
	return err
}

// checkRoom refuses to overwrite: the directory, and keys of the same name.
func checkRoom(dir string, ring ca.Keyring, force bool) error {
	if force {
		return nil
	}
	_, err := os.Lstat(dir)
	if err == nil {
		return refuse(reasonExists, "%s exists; choose another name, or say --force to write into it", dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range []ca.KeyName{ca.RootKey, ca.SignerKey(firstSigner)} {
		has, err := ring.Has(name)
		if err != nil {
			return err
		}
		if has {
			return refuse(reasonExists, "%s has keys of a rete of that name; choose another name, or say --force to set them aside", ring.Dir)
		}
	}
	return nil
}

// authorities are the keys and certificates that a new rete is born with.
type authorities struct {
	rootKey, signerKey ed25519.PrivateKey
	root, signer       *x509.Certificate
}

// bear makes root and first signer, in memory.
func (r *rete) bear(now time.Time) (*authorities, error) {
	rootKey, err := ca.NewKey()
	if err != nil {
		return nil, err
	}
	signerKey, err := ca.NewKey()
	if err != nil {
		return nil, err
	}
	authority, err := ca.NewAuthority(r.trustDomain, rootKey, ca.DefaultRootValidity, now)
	if err != nil {
		return nil, err
	}
	id, err := schema.ManagementPlaneID(r.trustDomain, firstSigner)
	if err != nil {
		return nil, err
	}
	cert, err := authority.Issue(id, signerKey.Public(), signerValidity, now)
	if err != nil {
		return nil, err
	}
	return &authorities{rootKey: rootKey, signerKey: signerKey, root: authority.Certificate(), signer: cert}, nil
}

// place writes keys and repository, or sets the keys aside: they belong to
// nothing then, and would be in the way of the next try. Keys of those names, which
// only --force lets stand, are set aside before.
func (a *authorities) place(ring ca.Keyring, passphrase []byte, dir string, files durable.Tree) error {
	now := time.Now()
	undoRoot, err := ring.Replace(ca.RootKey, a.rootKey, passphrase, now)
	if err != nil {
		return err
	}
	undoSigner, err := ring.Replace(ca.SignerKey(firstSigner), a.signerKey, passphrase, now)
	if err != nil {
		return errors.Join(err, undoRoot())
	}
	if err := writeRepository(dir, files); err != nil {
		return errors.Join(fmt.Errorf("write repository: %w", err), undoSigner(), undoRoot())
	}
	return nil
}

// settleRepository compiles the new repository, and says what is next.
func (c *console) settleRepository(ctx context.Context, r *rete, ring ca.Keyring, born *authorities) error {
	now := time.Now()
	generatedAt, err := compiler.GeneratedAt(now, c.getenv)
	if err != nil {
		return err
	}
	result, err := compiler.Compile(ctx, compiler.CompileOptions{
		SourceOptions: compiler.SourceOptions{Dir: r.Name, Now: now},
		GeneratedAt:   generatedAt,
		Signer: func(listed []*compiler.Signer) (*compiler.Signer, crypto.Signer, error) {
			signer, err := compiler.PickSigner(listed, firstSigner, nil)
			return signer, born.signerKey, err
		},
	})
	if err != nil {
		return fmt.Errorf("./%s and its keys are made, and not compiled (\"retectl compile\" there goes on): %w", r.Name, err)
	}
	c.diagnose(result.Source.Warnings, result.Source.Texts)
	c.gitInit(ctx, r.Name)
	c.tell("%s", r.Name)
	c.nextSteps(r, ring)
	return nil
}

// writeRepository makes the directory whole or not at all; in one that exists
// it replaces file by file.
func writeRepository(dir string, files durable.Tree) error {
	parent, err := os.OpenRoot(".")
	if err != nil {
		return err
	}
	defer parent.Close()
	fsys := durable.OS(parent)
	if _, err := fsys.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return durable.PublishDir(fsys, dir, files)
	}
	for _, e := range files.Entries {
		name := filepath.ToSlash(filepath.Join(dir, e.Name))
		if err := replaceEntry(fsys, name, e); err != nil {
			return err
		}
	}
	return nil
}

func replaceEntry(fsys durable.FS, name string, e durable.Entry) error {
	if !e.Mode.IsDir() {
		return durable.ReplaceFile(fsys, name, e.Data, e.Mode.Perm())
	}
	err := fsys.Mkdir(name, e.Mode.Perm())
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// gitInit makes it a git repository where git is installed. Committing is the
// operator's to do.
func (c *console) gitInit(ctx context.Context, dir string) {
	git, err := exec.LookPath("git")
	if err != nil {
		c.say("note: git is not installed; put %s under version control yourself", dir)
		return
	}
	if out, err := exec.CommandContext(ctx, git, "init", "--quiet", dir).CombinedOutput(); err != nil {
		c.say("note: git init failed: %v: %s", err, out)
	}
}

func (c *console) nextSteps(r *rete, ring ca.Keyring) {
	c.say(`made ./%[1]s: management node %[2]s at %[3]s, operator %[4]s
private keys: %[5]s (keep a copy in a safe place: nobody can replace them)

next:
  cd %[1]s
  git add . && git commit -m "new rete"
  retectl issue-bundle --node %[2]s     carry the bundle to that machine, and there: flor enroll %[2]s.bundle
  retectl publish --direct http://127.0.0.1:9001     the first time, on %[2]s
  edit nodes.yaml, services.yaml, access.yaml, users.yaml; then retectl validate, compile, publish`,
		r.Name, r.Node, r.Address, r.Operator, ring.Dir)
}
