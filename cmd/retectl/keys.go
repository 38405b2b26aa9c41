package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/compiler/ca"
)

// maxPassphrase is the most bytes that are read as a passphrase.
const maxPassphrase = 4 << 10

const passphraseVariable = "RETECTL_PASSPHRASE"

func passphraseFlag() cli.Flag {
	return &cli.StringFlag{Name: "passphrase-file", TakesFile: true, Usage: "read the keys' passphrase from the first line of `FILE`"}
}

func signerFlag() cli.Flag {
	return &cli.StringFlag{Name: "signer", Usage: "sign with the management signer `NAME`; default is the first listed whose key is here"}
}

// keyring is where the keys of a rete are kept (PKI-2).
func (c *console) keyring(td spiffeid.TrustDomain) (ca.Keyring, error) {
	dir, err := ca.KeyringDir(td, c.getenv)
	return ca.Keyring{Dir: dir}, err
}

// keyringOutside is the key ring for keys that are about to be made. It must not
// lie in the repository: everybody who has a clone would have the keys (PKI-2).
func (c *console) keyringOutside(td spiffeid.TrustDomain, repo string) (ca.Keyring, error) {
	ring, err := c.keyring(td)
	if err != nil {
		return ring, err
	}
	return ring, outside(repo, ring.Dir)
}

// passphrase asks for the passphrase of a key once: --passphrase-file, then the
// environment, then the terminal, where ctx ends the waiting.
func (c *console) passphrase(ctx context.Context, cmd *cli.Command) ca.Passphrase {
	var known []byte
	return func(path string) ([]byte, error) {
		if known != nil {
			return known, nil
		}
		text, err := c.readPassphrase(ctx, cmd, "Passphrase for "+path+": ")
		known = text
		return text, err
	}
}

func (c *console) readPassphrase(ctx context.Context, cmd *cli.Command, prompt string) ([]byte, error) {
	if file := cmd.String("passphrase-file"); file != "" {
		return passphraseFromFile(file)
	}
	if text := c.getenv(passphraseVariable); text != "" {
		return []byte(text), nil
	}
	return c.promptPassphrase(ctx, prompt)
}

func passphraseFromFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read passphrase: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxPassphrase)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read passphrase: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, refuse(reasonNoPassphrase, "the first line of %s is empty", name)
	}
	return []byte(line), nil
}

func (c *console) promptPassphrase(ctx context.Context, prompt string) ([]byte, error) {
	in, ok := c.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, refuse(reasonNoPassphrase, "a passphrase is needed and standard input is no terminal; say --passphrase-file FILE or set %s", passphraseVariable)
	}
	fmt.Fprint(c.err, prompt)
	text, err := readUnseen(ctx, int(in.Fd()))
	fmt.Fprintln(c.err)
	if err == nil && len(text) == 0 {
		return nil, refuse(reasonNoPassphrase, "the passphrase is empty")
	}
	return text, err
}

// readUnseen reads a line from a terminal that does not show it. When ctx ends
// first, the terminal is as before, and the read is left to the end of the
// process: nothing else reads there.
func readUnseen(ctx context.Context, terminal int) ([]byte, error) {
	before, err := term.GetState(terminal)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(terminal)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return l.text, l.err
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), term.Restore(terminal, before))
	}
}

// newPassphrase is the passphrase for keys that are about to be made: nil with
// --no-passphrase, which is warned of; typed twice on a terminal.
func (c *console) newPassphrase(ctx context.Context, cmd *cli.Command) ([]byte, error) {
	if cmd.Bool("no-passphrase") {
		if cmd.String("passphrase-file") != "" {
			return nil, usage("--no-passphrase and --passphrase-file exclude each other")
		}
		c.say("warning: private keys are written without a passphrase; whoever can read the files is the operator")
		return nil, nil
	}
	text, err := c.readPassphrase(ctx, cmd, "New passphrase: ")
	if err != nil || cmd.String("passphrase-file") != "" || c.getenv(passphraseVariable) != "" {
		return text, err
	}
	again, err := c.promptPassphrase(ctx, "Again: ")
	if err == nil && !bytes.Equal(text, again) {
		return nil, refuse(reasonNoPassphrase, "the two passphrases differ")
	}
	return text, err
}

// chooseSigner signs with the signer that --resign or --signer names, or else with the first
// listed one whose key is in the key ring (PKI-2).
func (c *console) chooseSigner(cmd *cli.Command, ask ca.Passphrase) compiler.ChooseSigner {
	return func(listed []*compiler.Signer) (*compiler.Signer, crypto.Signer, error) {
		ring, err := c.keyring(listed[0].ID.TrustDomain())
		if err != nil {
			return nil, nil, err
		}
		var unreadable error
		chosen, err := compiler.PickSigner(listed, cmp.Or(cmd.String("resign"), cmd.String("signer")), func(name string) bool {
			here, err := ring.Has(ca.SignerKey(name))
			unreadable = errors.Join(unreadable, err)
			return here
		})
		if err != nil && unreadable != nil {
			return nil, nil, fmt.Errorf("look for the keys of the signers: %w", unreadable)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w (keys are looked for in %s)", err, ring.Dir)
		}
		key, err := ring.Load(ca.SignerKey(chosen.Name), ask)
		return chosen, key, err
	}
}

func caKeyFlag() cli.Flag {
	return &cli.StringFlag{Name: "ca-key", TakesFile: true, Usage: "take the root's private key from the PEM `FILE` (PKCS#8) instead of the key ring"}
}

// authority opens the root CA of the view, with its key from --ca-key or the key
// ring (PKI-2).
func (c *console) authority(cmd *cli.Command, v *compiler.View, ask ca.Passphrase) (*ca.Authority, error) {
	key, err := c.caKey(cmd, v, ask)
	if err != nil {
		return nil, err
	}
	return ca.OpenAuthority(v.CA, key)
}

func (c *console) caKey(cmd *cli.Command, v *compiler.View, ask ca.Passphrase) (ed25519.PrivateKey, error) {
	if file := cmd.String("ca-key"); file != "" {
		return readPEMKey(file)
	}
	ring, err := c.keyring(v.TrustDomain)
	if err != nil {
		return nil, err
	}
	return ring.Load(ca.RootKey, ask)
}

// readPEMKey reads a private key that openssl, step or export-key wrote.
func readPEMKey(file string) (ed25519.PrivateKey, error) {
	text, err := readInput(file, ca.MaxKeyFile)
	if err != nil {
		return nil, err
	}
	return ca.DecodePEM(text)
}
