package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"net/netip"
	"regexp"
	"text/template"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/urfave/cli/v3"

	"github.com/florete/flor/compiler/ca"
	"github.com/florete/flor/envelope"
	"github.com/florete/flor/store/durable"
)

//go:embed template
var templates embed.FS

// templateFiles are the files of a new repository, by name, and what they are
// made from.
var templateFiles = []struct{ name, from string }{
	{".gitignore", "gitignore"},
	{"access.yaml", "access.yaml"},
	{"nodes.yaml", "nodes.yaml"},
	{"rete.yaml", "rete.yaml"},
	{"services.yaml", "services.yaml"},
	{"users.yaml", "users.yaml"},
}

const (
	publicFile fs.FileMode = 0o644
	publicDir  fs.FileMode = 0o755
)

// rete is what init asks of its user.
type rete struct {
	Name, Operator, Node string
	Address              netip.AddrPort
	trustDomain          spiffeid.TrustDomain
}

// newRete reads the command line. What it lets pass, validation judges: init
// only refuses what could not be a directory or a template.
func newRete(name string, cmd *cli.Command) (*rete, error) {
	td, err := spiffeid.TrustDomainFromString(name)
	if err != nil || td.Name() != name {
		return nil, usage("%q cannot be the name of a rete: use lower-case letters, digits, dots and hyphens", name)
	}
	r := &rete{Name: name, Operator: cmd.String("operator"), Node: cmd.String("node"), trustDomain: td}
	for _, n := range []struct{ what, name string }{{"the rete", r.Name}, {"--operator", r.Operator}, {"--node", r.Node}} {
		if err := envelope.SafeName(n.name); err != nil {
			return nil, usage("%s: %w", n.what, inWords(err))
		}
	}
	r.Address, err = netip.ParseAddrPort(cmd.String("address"))
	if err != nil || r.Address.Port() == 0 || r.Address.Addr().IsUnspecified() {
		return nil, usage("--address %q is not an IP address with a port at which others reach the node", cmd.String("address"))
	}
	return r, nil
}

// files is the repository as it is written, before its first compile.
func (r *rete) files(born *authorities) (durable.Tree, error) {
	tree := durable.Tree{Perm: publicDir}
	for _, f := range templateFiles {
		text, err := r.render(f.from)
		if err != nil {
			return tree, err
		}
		tree.Entries = append(tree.Entries, durable.Entry{Name: f.name, Mode: publicFile, Data: text})
	}
	tree.Entries = append(tree.Entries,
		durable.Entry{Name: "certs", Mode: publicDir | fs.ModeDir},
		durable.Entry{Name: "certs/ca.crt", Mode: publicFile, Data: ca.EncodeCertificate(born.root)},
		durable.Entry{Name: "certs/management-planes", Mode: publicDir | fs.ModeDir},
		durable.Entry{Name: "certs/management-planes/" + firstSigner + ".crt", Mode: publicFile, Data: ca.EncodeCertificate(born.signer)},
	)
	return tree, nil
}

func (r *rete) render(name string) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"scalar": scalar}).ParseFS(templates, "template/"+name)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	var text bytes.Buffer
	if err := t.Execute(&text, r); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return text.Bytes(), nil
}

var (
	plainScalar = regexp.MustCompile(`^[a-z][a-z0-9.-]*$`)
	yamlWord    = regexp.MustCompile(`^(y|n|yes|no|on|off|true|false|null)$`)
)

// scalar writes v so that YAML reads a string, quoted only where it must be.
func scalar(v any) string {
	text := fmt.Sprint(v)
	if plainScalar.MatchString(text) && !yamlWord.MatchString(text) {
		return text
	}
	if _, err := netip.ParseAddrPort(text); err == nil && text[0] != '[' {
		return text
	}
	return fmt.Sprintf("%q", text)
}
