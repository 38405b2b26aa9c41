package compiler_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/florete/flor/compiler/diag"
)

// everyPlace is a rete without a fault, in which <name> stands where a name is
// declared, and <name.where> where somebody refers to it.
const everyPlace = `
source: {exclude: [<drafts>]}
rete:
  name: <rete-lovers>
  ca: {cert: certs/ca.crt}
  signers: {mgmt: {keys: [{name: <primary>, cert: certs/management-planes/primary.crt}]}}
nodes:
  mgmt01: {vertices: [{name: public, kind: link, type: quic, address: 9.10.11.12:4433}]}
  <n1>: {vertices: [{name: <v1>, kind: link, type: quic, address: 1.2.3.4:4433}]}
services:
  coordinator: {at: mgmt01, addr: 127.0.0.1:9000, groups: [coordinator-sync]}
  coordinator-publisher: {at: mgmt01, addr: 127.0.0.1:9001, groups: [coordinator-publish]}
  <s1>: {at: <n1.s1>, via: <v1.s1>, addr: 127.0.0.1:8000, socks5_proxy: 127.0.0.1:18000, groups: [<g1.s1>], roles: [<r2.s1>], forwards: {127.0.0.1:18001: <s2.s1>}}
  <s2>: {at: <n1.s2>, addr: 127.0.0.1:8001, groups: [<g2.s2>]}
groups: {coordinator-sync: , coordinator-publish: , <g1>: , <g2>: }
roles:
  node: {allow: [coordinator-sync]}
  operator: {allow: [coordinator-publish]}
  <r1>: {allow: [<g1.r1>]}
  <r2>: {allow: [<g2.r2>]}
users:
  fyodor: {roles: [operator], nodes: [{at: mgmt01, socks5_proxy: 127.0.0.1:1082}]}
  <u1>: {roles: [<r1.u1>], nodes: [{at: <n1.u1>, via: <v1.u1>, forwards: {127.0.0.1:15000: <s1.u1>}}]}
`

// noStrings are plain scalars that some version of YAML takes for something else
// than a string.
var noStrings = []string{
	"1_000", "0x10", "0o17", "017", "0b1", "1e3", "1", "-1", "+1", "1.5", ".5", ".inf", ".nan", "12:30", "190:20:30",
	"2024-01-01", "2001-12-14t21:59:43.10-05:00", "~", "null", "Null", "yes", "Yes", "NO", "on", "off", "y", "N", "true", "FALSE",
}

var placeOfName = regexp.MustCompile(`<([a-z0-9-]+)(\.[a-z0-9]+)?>`)

// write puts name into one place as it stands. Where that is where it is
// declared, those who refer to it write it in quotes.
func write(place, name string) string {
	return placeOfName.ReplaceAllStringFunc(everyPlace, func(other string) string {
		declared := placeOfName.FindStringSubmatch(other)[1]
		switch {
		case other == place:
			return name
		case place == "<"+declared+">":
			return fmt.Sprintf("%q", name)
		}
		return declared
	})
}

// Wherever a name is due, something that is no string is refused once, where it
// stands, and nothing is said of what follows from it (CMP-1).
func TestANameThatIsNoStringIsOneError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "rete.yaml")
	found := func(text string) diag.List {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, found, _ := validateDir(dir)
		return found
	}
	if found := found(write("", "")); len(found) > 0 {
		t.Fatalf("the rete has faults before: %v", found)
	}
	places := placeOfName.FindAllString(everyPlace, -1)
	slices.Sort(places)
	if len(slices.Compact(places)) != len(places) || len(places) < 20 {
		t.Fatalf("the places are not those that are meant: %q", places)
	}
	for _, place := range places {
		for _, name := range noStrings {
			if fault := notOneError(found(write(place, name)), place, name); fault != "" {
				t.Errorf("%s as %s: %s", name, place, fault)
			}
		}
	}
}

// notOneError tells what else than one error about the name was found.
func notOneError(found diag.List, place, name string) string {
	if len(found) != 1 {
		return fmt.Sprintf("%d findings: %v", len(found), found)
	}
	d := found[0]
	before, _, _ := strings.Cut(write(place, "\x00"), "\x00")
	line := strings.Count(before, "\n") + 1
	column := len(before) - strings.LastIndexByte(before, '\n')
	switch {
	case d.Code != "FL0109" || d.Severity != diag.Error:
		return fmt.Sprintf("%s %s", d.Code, d.Message)
	case d.Place.Start != diag.Position{Line: line, Column: column}:
		return fmt.Sprintf("told at %v, and it stands at %d:%d", d.Place.Start, line, column)
	case d.Suggestion != fmt.Sprintf("quote it: %q", name):
		return "the suggestion is " + d.Suggestion
	}
	return ""
}
