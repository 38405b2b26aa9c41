package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

const (
	passphraseVariable = "FLOR_BUNDLE_PASSPHRASE"
	// maxPassphrase limits a passphrase, in bytes.
	maxPassphrase = 4 << 10
)

// passphrase gives that of an encrypted bundle: from the file, from the
// environment, or from the person at the terminal (BND-4).
func (c *console) passphrase(file string) ([]byte, error) {
	if file != "" {
		return firstLine(file)
	}
	if text := c.getenv(passphraseVariable); text != "" {
		return []byte(text), nil
	}
	terminal, ok := c.in.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return nil, refuse(wrongUsage, "the bundle is encrypted: give --passphrase-file, or set %s", passphraseVariable)
	}
	fmt.Fprint(c.err, "Passphrase of the bundle: ")
	text, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(c.err)
	return text, err
}

func firstLine(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(io.LimitReader(file, maxPassphrase)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.TrimRight(line, "\r\n"), errors.Join(err, file.Close())
}
