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

// terminalDevice is the terminal of this process, whatever its input is.
const terminalDevice = "/dev/tty"

// passphrase gives that of an encrypted bundle: from the file, from the
// environment, or from the person at the terminal (BND-4). Where the bundle
// itself comes by standard input, the terminal is asked directly.
func (c *console) passphrase(file string, inputTaken bool) ([]byte, error) {
	if file != "" {
		return firstLine(file)
	}
	if text := c.getenv(passphraseVariable); text != "" {
		return []byte(text), nil
	}
	if !inputTaken {
		terminal, ok := c.in.(*os.File)
		if !ok {
			return nil, errNoTerminal
		}
		return c.askAt(terminal)
	}
	terminal, err := os.OpenFile(terminalDevice, os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	text, err := c.askAt(terminal)
	return text, errors.Join(err, terminal.Close())
}

var errNoTerminal = refuse(noPassphrase, "the bundle is encrypted and there is no terminal to ask at: give --passphrase-file, or set %s", passphraseVariable)

func (c *console) askAt(terminal *os.File) ([]byte, error) {
	if !term.IsTerminal(int(terminal.Fd())) {
		return nil, errNoTerminal
	}
	fmt.Fprint(c.err, "Passphrase of the bundle: ")
	text, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(c.err)
	return text, err
}

// firstLine reads a passphrase from a file. One that is cut at the limit would
// be a wrong one: it is refused as what it is.
func firstLine(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(io.LimitReader(file, maxPassphrase+1)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(line) > maxPassphrase {
		err = refuse(wrongUsage, "the first line of %s is longer than %d bytes", name, maxPassphrase)
	}
	return bytes.TrimRight(line, "\r\n"), errors.Join(err, file.Close())
}
