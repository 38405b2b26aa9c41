package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/florete/flor/envelope/schema"
)

// scrambledYAML has everything that CMP-13 puts in order, in another order.
var scrambledYAML = map[string]string{
	"nodes.yaml": `nodes:
  mgmt01: {vertices: [{name: public, kind: link, type: quic, address: 9.10.11.12:4433}]}
  beta:   {vertices: [{name: public, kind: link, type: quic, address: 5.6.7.8:4433}]}
  alpha:  {vertices: [{name: public, kind: link, type: quic, address: 1.2.3.4:4433}]}
`,
	"services.yaml": `services:
  zeta: {at: beta, addr: 127.0.0.1:7001, groups: [web]}
  beta/ssh: {addr: 0.0.0.0:22, groups: [admin]}
  app: {at: beta, addr: 127.0.0.1:7000, socks5_proxy: 127.0.0.1:18000, groups: [web], roles: [backend], forwards: {127.0.0.1:19002: db, 127.0.0.1:19001: db}}
  idle: {at: beta, addr: embedded}
  db: {at: alpha, addr: 127.0.0.1:5432, groups: [db]}
  alpha/ssh: {addr: 127.0.0.1:22, groups: [admin]}
  coordinator-publisher: {at: mgmt01, addr: 127.0.0.1:9001, groups: [coordinator-publish]}
  coordinator: {at: mgmt01, addr: 127.0.0.1:9000, groups: [coordinator-sync]}
`,
	"access.yaml": `groups: {web: , db: , admin: , coordinator-sync: , coordinator-publish: }
roles:
  backend:  {allow: [db]}
  all:      {allow: [web, db, admin]}
  node:     {allow: [coordinator-sync]}
  operator: {allow: [coordinator-publish]}
`,
	"users.yaml": `users:
  yan: {roles: [operator, all], nodes: [{at: beta, socks5_proxy: 127.0.0.1:1083, forwards: {127.0.0.1:15002: db, 127.0.0.1:15001: zeta}}]}
  bob: {roles: [all], nodes: [{at: beta, socks5_proxy: 127.0.0.1:1082}]}
`,
}

// A vertex payload has one order, whatever that of the source: the node, the
// users here, the services here; of each the way in, the way out and its
// forwards; targets and those who may reach them by ID (CMP-13).
func TestThePayloadOfAVertexIsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, text := range scrambledYAML {
		w.write(name, text)
	}
	var beta NodePayloads
	for _, p := range w.project() {
		if p.Node == "beta" {
			beta = p
		}
	}
	want := strings.TrimPrefix(`
node/beta: socks5 127.0.0.1:1081
user/bob: socks5 127.0.0.1:1082
user/yan: socks5 127.0.0.1:1083, forward 127.0.0.1:15001 to service/zeta, forward 127.0.0.1:15002 to service/db
service/app: tcp 127.0.0.1:7000, socks5 127.0.0.1:18000, forward 127.0.0.1:19001 to service/db, forward 127.0.0.1:19002 to service/db
service/beta/ssh: tcp 127.0.0.1:22
service/idle: embedded
service/zeta: tcp 127.0.0.1:7001
link alpha/ssh: service/alpha/ssh at 1.2.3.4:4433
link app: service/app at 5.6.7.8:4433
link beta/ssh: service/beta/ssh at 5.6.7.8:4433
link coordinator: service/coordinator at 9.10.11.12:4433
link coordinator-publisher: service/coordinator-publisher at 9.10.11.12:4433
link db: service/db at 1.2.3.4:4433
link zeta: service/zeta at 5.6.7.8:4433
ingress service/app: user/bob, user/yan
ingress service/beta/ssh: user/bob, user/yan
ingress service/zeta: user/bob, user/yan
egress service/alpha/ssh: user/bob, user/yan
egress service/app: user/bob, user/yan
egress service/beta/ssh: user/bob, user/yan
egress service/coordinator: node/beta
egress service/coordinator-publisher: user/yan
egress service/db: service/app, user/bob, user/yan
egress service/zeta: user/bob, user/yan
`, "\n")
	got := strings.ReplaceAll(inWords(beta.Vertex), loversTD.IDString()+"/", "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// inWords spells a vertex payload, a line for each entry of a list.
func inWords(v *schema.Vertex) string {
	var b strings.Builder
	for _, w := range v.Workloads {
		fmt.Fprintf(&b, "%s: %s\n", w.SPIFFEID, ioInWords(w.IO))
	}
	for _, list := range v.Links {
		for _, l := range list.Members {
			fmt.Fprintf(&b, "link %s: %s at %s\n", l.Name, l.Peer, l.Via.Addr)
		}
	}
	for _, rule := range v.Ingress {
		fmt.Fprintf(&b, "ingress %s: %s\n", rule.Target, strings.Join(rule.Allow, ", "))
	}
	for _, rule := range v.Egress {
		fmt.Fprintf(&b, "egress %s: %s\n", rule.Target, strings.Join(rule.Allow, ", "))
	}
	return b.String()
}

func ioInWords(list []schema.IO) string {
	var words []string
	for _, io := range list {
		word := strings.TrimSpace(io.Kind + " " + io.Upstream + io.Listen)
		if io.Target != "" {
			word += " to " + io.Target
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
