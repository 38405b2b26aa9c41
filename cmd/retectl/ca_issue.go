package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/envelope/schema"
)

func caSignCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:      "sign",
		Usage:     "sign a certificate request (PKCS#10, Ed25519, one SPIFFE ID), and print the certificate",
		ArgsUsage: "<csr.pem>",
		Flags:     append(sourceFlags(), validityFlag(), caKeyFlag(), passphraseFlag()),
		Action:    c.caSign,
	}
}

func (c *console) caSign(ctx context.Context, cmd *cli.Command) error {
	file, err := misused.OneArgument(cmd, "the file of the request")
	if err != nil {
		return err
	}
	text, err := readInput(file, ca.MaxKeyFile)
	if err != nil {
		return err
	}
	request, err := ca.DecodeRequest(text)
	if err != nil {
		return err
	}
	validity, err := parseValidity(cmd.String("validity"))
	if err != nil {
		return err
	}
	dir, v, err := c.openSource(cmd)
	if err != nil {
		return err
	}
	authority, err := c.authority(cmd, v, c.passphrase(ctx, cmd))
	if err != nil {
		return err
	}
	now := time.Now()
	cert, err := authority.Sign(request, orDefault(validity, v.Validity.Principals), now)
	if err != nil {
		return err
	}
	if err := compiler.LogIssued(dir, compiler.NewIssued(cert, "", now)); err != nil {
		return err
	}
	_, err = c.out.Write(ca.EncodeCertificate(cert))
	return err
}

func caIssueCommand(c *console) *cli.Command {
	return &cli.Command{
		Name:  "issue",
		Usage: "make a key and a certificate for one principal, or for a further management signer",
		Flags: append(sourceFlags(),
			&cli.StringFlag{Name: "kind", Required: true, Usage: "user, service, node, vertex or management-plane"},
			&cli.StringFlag{Name: "name", Required: true, Usage: "the `NAME`; <node>/<name> for a node's own service, and for a vertex"},
			&cli.StringFlag{Name: "out", TakesFile: true, Usage: "write <leaf>.crt and <leaf>.key into `DIR`, outside of the repository (not for management-plane)"},
			&cli.BoolFlag{Name: "no-passphrase", Usage: "write a signer's private key without a passphrase"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite existing files"},
			validityFlag(), caKeyFlag(), passphraseFlag(),
		),
		Action: c.caIssue,
	}
}

func (c *console) caIssue(ctx context.Context, cmd *cli.Command) error {
	if err := misused.NoArguments(cmd); err != nil {
		return err
	}
	validity, err := parseValidity(cmd.String("validity"))
	if err != nil {
		return err
	}
	kind := schema.Kind(cmd.String("kind"))
	open := c.openSource
	if kind == schema.KindManagementPlane {
		open = c.openForSigner
	}
	dir, v, err := open(cmd)
	if err != nil {
		return err
	}
	id, err := compiler.PrincipalID(v.TrustDomain, kind, cmd.String("name"))
	if err != nil {
		return &usageError{err}
	}
	authority, err := c.authority(cmd, v, c.passphrase(ctx, cmd))
	if err != nil {
		return err
	}
	order := order{id: id, dir: dir, view: v, authority: authority, now: time.Now(), validity: validity}
	if kind == schema.KindManagementPlane {
		return c.issueSigner(ctx, cmd, order)
	}
	return c.issuePrincipal(cmd, order)
}

// ofCertificates are the faults of a listed signer that another signer mends: its
// certificate cannot be read, has expired, or is not of this root.
var ofCertificates = []string{"FL0301", "FL0302", "FL0304", "FL0305", "FL0306", "FL0307", "FL0308"}

// openForSigner is openSource, except that listed signers which cannot sign are told
// and keep nobody from making one that can: there would be no way out of a signer
// that has expired, or of a root that was made anew (PKI-5). The view has what
// making a signer needs.
func (c *console) openForSigner(cmd *cli.Command) (string, *compiler.View, error) {
	from, err := source(cmd)
	if err != nil {
		return "", nil, err
	}
	_, err = compiler.Load(from)
	var faults *compiler.SourceError
	if !errors.As(err, &faults) || slices.ContainsFunc(faults.Diagnostics, otherFault) {
		return c.openSource(cmd)
	}
	root, err := c.readRoot(from.Dir, from.Files)
	if err != nil {
		return "", nil, err
	}
	text, err := readInput(filepath.Join(root.dir, root.file), ca.MaxKeyFile)
	if err != nil {
		return "", nil, err
	}
	cert, err := ca.DecodeCertificate(text)
	if err != nil {
		return "", nil, err
	}
	c.diagnose(faults.Diagnostics, faults.Texts)
	return from.Dir, &compiler.View{TrustDomain: root.trustDomain, CA: cert, Validity: compiler.Validity{Signers: root.signers}}, nil
}

func otherFault(d diag.Diagnostic) bool {
	return d.Severity == diag.Error && !slices.Contains(ofCertificates, d.Code)
}

// order is a certificate that is to be made.
type order struct {
	id        spiffeid.ID
	dir       string
	view      *compiler.View
	authority *ca.Authority
	now       time.Time
	validity  time.Duration // 0: what the YAML says
}

// issueSigner makes a further management signer, and says where to list it.
func (c *console) issueSigner(ctx context.Context, cmd *cli.Command, o order) error {
	file, err := c.makeSigner(ctx, cmd, o)
	if err != nil {
		return err
	}
	c.tell("%s", file)
	c.say("list it in rete.yaml below signers.mgmt.keys: {name: %s, cert: %s}", schema.Leaf(o.id), file)
	return nil
}

// makeSigner makes a management signer: the key into the key ring, the
// certificate into the repository, at the path that it returns.
func (c *console) makeSigner(ctx context.Context, cmd *cli.Command, o order) (file string, err error) {
	name := schema.Leaf(o.id)
	file = "certs/management-planes/" + name + ".crt"
	if err := vacant(filepath.Join(o.dir, file), cmd.Bool("force")); err != nil {
		return "", err
	}
	ring, err := c.keyringOutside(o.view.TrustDomain, o.dir)
	if err != nil {
		return "", err
	}
	if err := ring.Vacant(ca.SignerKey(name)); err != nil {
		return "", err
	}
	key, err := ca.NewKey()
	if err != nil {
		return "", err
	}
	cert, err := o.authority.Issue(o.id, key.Public(), orDefault(o.validity, o.view.Validity.Signers), o.now)
	if err != nil {
		return "", err
	}
	passphrase, err := c.newPassphrase(ctx, cmd)
	if err != nil {
		return "", err
	}
	if err := o.record(cert); err != nil {
		return "", err
	}
	undo, err := ring.Replace(ca.SignerKey(name), key, passphrase, o.now)
	if err != nil {
		return "", err
	}
	if err := writePublic(o.dir, file, ca.EncodeCertificate(cert)); err != nil {
		return "", errors.Join(err, undo())
	}
	return file, o.readBack(ring, file, passphrase)
}

// readBack verifies that the signer can be used: that nodes will take its
// certificate, and that the key in the ring is the one that it certifies.
func (o order) readBack(ring ca.Keyring, file string, passphrase []byte) error {
	text, err := readInput(filepath.Join(o.dir, file), ca.MaxKeyFile)
	if err != nil {
		return err
	}
	cert, err := ca.DecodeCertificate(text)
	if err != nil {
		return err
	}
	entry, err := envelope.NewEntry(cert)
	if err != nil {
		return err
	}
	anchor := envelope.Anchor{TrustDomain: o.view.TrustDomain, CA: o.view.CA}
	if _, err := anchor.TrustSet(envelope.Block{Mgmt: []envelope.Entry{entry}}); err != nil {
		return err
	}
	key, err := ring.Load(ca.SignerKey(schema.Leaf(o.id)), func(string) ([]byte, error) { return passphrase, nil })
	if err != nil {
		return err
	}
	return ca.CheckKey(cert, key.Public())
}

// issuePrincipal writes key and certificate into a directory outside of the
// repository.
func (c *console) issuePrincipal(cmd *cli.Command, o order) error {
	out := cmd.String("out")
	if out == "" {
		return usage("say --out DIR: a private key is written there")
	}
	if err := outside(o.dir, out); err != nil {
		return err
	}
	stem := filepath.Join(out, schema.Leaf(o.id))
	for _, file := range []string{stem + ".crt", stem + ".key"} {
		if err := mayWrite(file, cmd.Bool("force")); err != nil {
			return err
		}
	}
	key, err := ca.NewKey()
	if err != nil {
		return err
	}
	cert, err := o.authority.Issue(o.id, key.Public(), orDefault(o.validity, o.view.Validity.Principals), o.now)
	if err != nil {
		return err
	}
	if err := o.record(cert); err != nil {
		return err
	}
	keyPEM, err := ca.EncodePEM(key)
	if err != nil {
		return err
	}
	if err := writePrivate(stem+".key", keyPEM); err != nil {
		return err
	}
	if err := writePrivate(stem+".crt", ca.EncodeCertificate(cert)); err != nil {
		return errors.Join(err, os.Remove(stem+".key"))
	}
	c.tell("%s", stem+".crt")
	c.say("certificate of %s, valid until %s; its private key beside it is not encrypted", o.id, cert.NotAfter.UTC().Format(time.DateOnly))
	return nil
}

func (o order) record(cert *x509.Certificate) error {
	return compiler.LogIssued(o.dir, compiler.NewIssued(cert, "", o.now))
}

// outside refuses a directory in the repository: a key there would be committed.
func outside(repo, dir string) error {
	inner, err := resolve(dir)
	if err != nil {
		return err
	}
	outer, err := resolve(repo)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(outer, inner)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator)) {
		return refuse(reasonInsideRepository, "%s lies in the repository; choose a directory outside of %s", dir, repo)
	}
	return nil
}

// resolve is the absolute path of a directory without symbolic links. One that
// is yet to be made is where its parent is.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	parent := filepath.Dir(abs)
	switch {
	case err == nil:
		return real, nil
	case !errors.Is(err, fs.ErrNotExist), parent == abs:
		return "", fmt.Errorf("resolve %s: %w", dir, err)
	}
	above, err := resolve(parent)
	return filepath.Join(above, filepath.Base(abs)), err
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
