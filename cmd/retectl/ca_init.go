package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/compiler/facade"
	"github.com/florete/flor/store/durable"
)

func caInitCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "make the root CA that rete.yaml names, where there is none yet",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "ca-key", TakesFile: true, Usage: "use the private key in the PEM `FILE` (PKCS#8, Ed25519) instead of a new one"},
			&cli.BoolFlag{Name: "no-passphrase", Usage: "write the private key without a passphrase"},
			&cli.BoolFlag{Name: "force", Usage: "replace the certificate; the key of that name is set aside, not lost"},
			passphraseFlag(),
		),
		Action: c.caInit,
	}
}

// caInit makes a root for a repository that has none. It cannot validate the
// repository: what it makes is what is missing there.
func (c *console) caInit(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	from, err := source(cmd)
	if err != nil {
		return err
	}
	root, err := c.readRoot(from.Dir, from.Files)
	if err != nil {
		return err
	}
	ring, err := c.keyringOutside(root.trustDomain, from.Dir)
	if err != nil {
		return err
	}
	now := time.Now()
	if err := root.checkRoom(ring, cmd.Bool("force")); err != nil {
		return err
	}
	key, err := rootKey(cmd.String("ca-key"))
	if err != nil {
		return err
	}
	authority, err := ca.NewAuthority(root.trustDomain, key, root.validity, now)
	if err != nil {
		return err
	}
	passphrase, err := c.newPassphrase(ctx, cmd)
	if err != nil {
		return err
	}
	undo, err := ring.Replace(ca.RootKey, key, passphrase, now)
	if err != nil {
		return err
	}
	if err := c.placeRoot(root, authority); err != nil {
		return errors.Join(err, undo())
	}
	return nil
}

// usualSignerValidity is how long a signer lives where the YAML does not say.
const usualSignerValidity = 365 * 24 * time.Hour

// rootPlan is what the YAML says of the root.
type rootPlan struct {
	trustDomain spiffeid.TrustDomain
	dir, file   string
	validity    time.Duration
	// signers is how long one that is issued lives.
	signers time.Duration
}

func (c *console) readRoot(dir string, files []string) (rootPlan, error) {
	src, found := facade.Load(facade.Options{Root: dir, Files: files})
	if found.HasErrors() || src.Rete == nil {
		c.diagnose(found, src.Texts)
		return rootPlan{}, refuse(reasonNoRepository, "%s cannot be read for the name of the rete", dir)
	}
	td, err := spiffeid.TrustDomainFromString(src.Rete.Name.V)
	if err != nil {
		return rootPlan{}, refuse(reasonNoRepository, "the name of the rete: %w", err)
	}
	p := rootPlan{trustDomain: td, dir: dir, file: src.Rete.CA.Cert.V, validity: ca.DefaultRootValidity, signers: usualSignerValidity}
	if days := src.Rete.CA.ValidityDays.V; days > 0 {
		p.validity = time.Duration(days) * 24 * time.Hour
	}
	if days := src.Rete.SignerValidityDays.V; days > 0 {
		p.signers = time.Duration(days) * 24 * time.Hour
	}
	if p.file == "" {
		return p, refuse(reasonNoRepository, "rete.yaml does not say where the certificate of the CA is: add ca: {cert: certs/ca.crt}")
	}
	return p, nil
}

func (p rootPlan) checkRoom(ring ca.Keyring, force bool) error {
	_, absent := os.Lstat(filepath.Join(p.dir, p.file))
	has, err := ring.Has(ca.RootKey)
	if err != nil {
		return err
	}
	if there := absent == nil || has; there && !force {
		return refuse(reasonExists, "the rete %s has a root already (%s, or a key in %s); --force makes another, and every node must then enrol again", p.trustDomain, p.file, ring.Dir)
	}
	return nil
}

// rootKey reads the key from a PEM file, or makes one.
func rootKey(file string) (ed25519.PrivateKey, error) {
	if file == "" {
		return ca.NewKey()
	}
	return readPEMKey(file)
}

// readInput reads a file that the user names, up to limit bytes.
func readInput(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, refuse(reasonTooLarge, "%s is over %d bytes", name, limit)
	}
	return text, err
}

func (c *console) placeRoot(p rootPlan, authority *ca.Authority) error {
	if err := writePublic(p.dir, p.file, ca.EncodeCertificate(authority.Certificate())); err != nil {
		return err
	}
	c.tell("%s", p.file)
	c.say("root of %s, fingerprint %s", p.trustDomain, ca.Fingerprint(authority.Certificate()))
	return nil
}

// writePublic replaces a file in the repository, making its directories.
func writePublic(dir, file string, text []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(file), publicDir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := durable.ReplaceFile(durable.OS(root), filepath.ToSlash(filepath.Clean(file)), text, publicFile); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
