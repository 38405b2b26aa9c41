package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/florete/flor/compiler"
	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store"
	"github.com/florete/flor/supervise/control"
)

const agentSocket = "agent.sock"

// operatorInbound asks the local agents for the SOCKS5 inbound of an operator
// of this rete (CLI-4). The agents know principals and no roles; the YAML says
// who is an operator.
func (c *console) operatorInbound(ctx context.Context, v *compiler.View, as string) (string, error) {
	operators, err := operatorsOf(v, as)
	if err != nil {
		return "", err
	}
	found, err := c.localInbounds(ctx, operators)
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", refuse(reasonNoOperator, "no agent on this machine has an inbound for %s; publish from an operator's node, or say --socks5 HOST:PORT", strings.Join(leaves(operators), ", "))
	case 1:
		return found[0].addr, nil
	}
	var names []string
	for _, f := range found {
		names = append(names, f.user)
	}
	return "", refuse(reasonSeveralOperators, "%s are operators with an inbound on this machine; say --as USER", strings.Join(names, ", "))
}

// operator is a user with the role, and the agent's word for them.
type operator struct{ name, id string }

func operatorsOf(v *compiler.View, as string) ([]operator, error) {
	var operators []operator
	for _, u := range v.Users {
		isOperator := slices.ContainsFunc(u.Roles, func(r compiler.RoleRef) bool { return r.Role.Name == compiler.RoleOperator })
		if isOperator && (as == "" || as == u.Name) {
			operators = append(operators, operator{name: u.Name, id: u.ID.String()})
		}
	}
	if len(operators) == 0 {
		return nil, refuse(reasonNoOperator, "the rete %s has no operator %q", v.TrustDomain, as)
	}
	return operators, nil
}

func leaves(operators []operator) []string {
	var names []string
	for _, o := range operators {
		names = append(names, o.name)
	}
	return names
}

// inbound is where an operator's SOCKS5 proxy listens.
type inbound struct{ user, addr string }

// localInbounds asks the agent of every scope on this machine.
func (c *console) localInbounds(ctx context.Context, operators []operator) ([]inbound, error) {
	sockets, err := c.agentSockets()
	if err != nil {
		return nil, err
	}
	var found []inbound
	running := false
	for _, socket := range sockets {
		known, err := control.NewClient(socket).Inbounds(ctx)
		if absent := new(control.NotRunning); errors.As(err, &absent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		running = true
		found = append(found, inboundsOf(operators, known)...)
	}
	if !running {
		return nil, refuse(reasonNoAgent, "no agent runs on this machine; start it, or say --socks5 HOST:PORT, or on the management node --direct http://127.0.0.1:PORT")
	}
	return found, nil
}

func inboundsOf(operators []operator, known map[string]control.Inbound) []inbound {
	var found []inbound
	for _, o := range operators {
		if in, ok := known[o.id]; ok && in.Kind == schema.SOCKS5 {
			found = append(found, inbound{user: o.name, addr: in.Addr})
		}
	}
	return found
}

// agentSockets lists the control sockets of the scopes enrolled here.
func (c *console) agentSockets() ([]string, error) {
	host, err := store.ThisHost()
	if err != nil {
		return nil, err
	}
	host.Getenv = c.getenv
	layout, err := store.Resolve(host)
	if err != nil {
		return nil, err
	}
	scopes, err := layout.Scopes()
	if err != nil {
		return nil, err
	}
	var sockets []string
	for _, scope := range scopes {
		root, err := layout.RuntimeRoot(scope)
		if err != nil {
			return nil, err
		}
		socket, err := store.SocketPath(root, agentSocket)
		if err != nil {
			return nil, err
		}
		sockets = append(sockets, socket)
	}
	return sockets, nil
}
