package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/florete/flor/envelope"
)

// writeForgedSet packs alpha's published artifacts as a relay would, with one
// digit of the address behind the shop changed: traffic for the shop would go
// to another port, if anybody believed it.
func (d *demo) writeForgedSet(file string) error {
	names, err := filepath.Glob(filepath.Join(d.operator.Repo, ".flor", "compiled", alpha, "mgmt", "*.json"))
	if err != nil {
		return err
	}
	var members [][]byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		members = append(members, bytes.TrimSpace(text))
	}
	document := envelope.AppendSet(nil, members...)
	at := bytes.Index(document, []byte(d.addrs.shop))
	if at < 0 {
		return errors.New("alpha's set does not name the shop's address")
	}
	digit := &document[at+len(d.addrs.shop)-1]
	*digit = '0' + (*digit-'0'+1)%10
	return os.WriteFile(file, document, 0o600)
}
