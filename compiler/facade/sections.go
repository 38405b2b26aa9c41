package facade

import "go.yaml.in/yaml/v4"

func (doc *document) decodeRete(n *yaml.Node) {
	r := &Rete{At: doc.at(n)}
	r.Faulty = doc.spoiled(func() {
		for key, value := range doc.fields(n, "rete", "name", "ca", "signers", "tls_principals", "sync") {
			doc.decodeReteField(r, key, value)
		}
	})
	doc.part.rete = r
}

func (doc *document) decodeReteField(r *Rete, key string, n *yaml.Node) {
	switch key {
	case "name":
		r.Name = doc.name(n, "the name of the rete")
	case "ca":
		doc.decodeCA(&r.CA, n)
	case "signers":
		for _, mgmt := range doc.fields(n, "signers", "mgmt") {
			doc.decodeSigners(r, mgmt)
		}
	case "tls_principals":
		for _, days := range doc.fields(n, key, "validity_days") {
			r.PrincipalsValidityDays = doc.number(days, "validity_days")
		}
	case "sync":
		for _, interval := range doc.fields(n, key, "poll_interval") {
			r.PollInterval = doc.text(interval, "poll_interval")
		}
	}
}

func (doc *document) decodeCA(ca *CA, n *yaml.Node) {
	for key, value := range doc.fields(n, "ca", "cert", "validity_days") {
		switch key {
		case "cert":
			ca.Cert = doc.text(value, "the path of the certificate")
		case "validity_days":
			ca.ValidityDays = doc.number(value, "validity_days")
		}
	}
}

func (doc *document) decodeSigners(r *Rete, n *yaml.Node) {
	r.SignersAt = doc.at(n)
	for key, value := range doc.fields(n, "mgmt", "validity_days", "keys") {
		switch key {
		case "validity_days":
			r.SignerValidityDays = doc.number(value, "validity_days")
		case "keys":
			for item := range doc.items(value, "keys") {
				r.MgmtSigners = append(r.MgmtSigners, doc.signer(item))
			}
		}
	}
}

func (doc *document) signer(n *yaml.Node) *Signer {
	s := &Signer{At: doc.at(n)}
	s.Faulty = doc.spoiled(func() {
		for key, value := range doc.fields(n, "a management key", "name", "cert") {
			switch key {
			case "name":
				s.Name = doc.name(value, "the name of a management key")
			case "cert":
				s.Cert = doc.text(value, "the path of the certificate")
			}
		}
	})
	return s
}

// decodeCollection reads a collection, and remembers that it is not whole where
// anything in it is refused.
func (doc *document) decodeCollection(collection string, n *yaml.Node) {
	if doc.spoiled(func() { doc.decodeEntries(collection, n) }) {
		doc.hidden.addSection(collection)
	}
}

func (doc *document) decodeEntries(collection string, n *yaml.Node) {
	p := &doc.part
	for e := range doc.entries(n, collection) {
		switch collection {
		case "nodes":
			p.nodes = append(p.nodes, doc.node(e))
		case "services":
			p.services = append(p.services, doc.service(e))
		case "groups":
			p.groups = append(p.groups, doc.group(e))
		case "roles":
			p.roles = append(p.roles, doc.role(e))
		case "users":
			p.users = append(p.users, doc.user(e))
		}
	}
}

func (doc *document) node(e entry) *Node {
	node := &Node{Name: e.name, Again: e.again}
	node.Faulty = doc.spoiled(func() {
		for key, value := range doc.fields(e.value, "a node", "vertices", "socks5_proxy") {
			switch key {
			case "vertices":
				for item := range doc.items(value, "vertices") {
					node.Vertices = append(node.Vertices, doc.vertex(item))
				}
			case "socks5_proxy":
				node.SOCKS5 = doc.text(value, key)
			}
		}
	})
	return node
}

func (doc *document) vertex(n *yaml.Node) *Vertex {
	v := &Vertex{At: doc.at(n)}
	v.Faulty = doc.spoiled(func() {
		for key, value := range doc.fields(n, "a vertex", "name", "kind", "type", "address", "listen") {
			switch key {
			case "name":
				v.Name = doc.name(value, "the name of a vertex")
			case "kind":
				v.Kind = doc.text(value, key)
			case "type":
				v.Type = doc.text(value, key)
			case "address":
				v.Address = doc.text(value, key)
			case "listen":
				v.Listen = doc.text(value, key)
			}
		}
	})
	return v
}

func (doc *document) service(e entry) *Service {
	s := &Service{Key: e.name, Again: e.again}
	s.Faulty = doc.spoiled(func() {
		for key, value := range doc.fields(e.value, "a service", "at", "scope", "addr", "via", "socks5_proxy", "groups", "roles", "forwards") {
			doc.decodeServiceField(s, key, value)
		}
	})
	return s
}

func (doc *document) decodeServiceField(s *Service, key string, n *yaml.Node) {
	switch key {
	case "at":
		s.Node = doc.name(n, "the name of a node")
	case "scope":
		s.Scope = doc.text(n, key)
	case "addr":
		s.Addr = doc.text(n, key)
	case "via":
		s.Via = doc.name(n, "the name of a vertex")
	case "socks5_proxy":
		s.SOCKS5 = doc.text(n, key)
	case "groups":
		s.Groups = doc.names(n, key, "the name of a group")
	case "roles":
		s.Roles = doc.names(n, key, "the name of a role")
	case "forwards":
		s.Forwards = doc.forwards(n)
	}
}

// forwards reads a mapping from listen address to service.
func (doc *document) forwards(n *yaml.Node) []*Forward {
	var forwards []*Forward
	for key, value := range doc.pairs(n, "forwards") {
		f := &Forward{Listen: doc.text(key, "the address to listen on"), Target: doc.name(value, "the name of a service")}
		if f.Listen.Given() && f.Target.Given() {
			forwards = append(forwards, f)
		}
	}
	return forwards
}

func (doc *document) group(e entry) *Group {
	doc.noFields(e.value, "a group")
	return &Group{Name: e.name, Again: e.again}
}

func (doc *document) role(e entry) *Role {
	r := &Role{Name: e.name, Again: e.again}
	r.Faulty = doc.spoiled(func() {
		for _, value := range doc.fields(e.value, "a role", "allow") {
			r.Allow = doc.names(value, "allow", "the name of a group")
		}
	})
	return r
}

func (doc *document) user(e entry) *User {
	u := &User{Name: e.name, Again: e.again}
	u.Faulty = doc.spoiled(func() {
		for key, value := range doc.fields(e.value, "a user", "roles", "nodes") {
			switch key {
			case "roles":
				u.Roles = doc.names(value, key, "the name of a role")
			case "nodes":
				for item := range doc.items(value, "nodes") {
					u.Devices = append(u.Devices, doc.device(item))
				}
			}
		}
	})
	return u
}

func (doc *document) device(n *yaml.Node) *Device {
	dev := &Device{At: doc.at(n)}
	dev.Faulty = doc.spoiled(func() {
		for key, value := range doc.fields(n, "a device of a user", "at", "via", "socks5_proxy", "forwards") {
			switch key {
			case "at":
				dev.Node = doc.name(value, "the name of a node")
			case "via":
				dev.Via = doc.name(value, "the name of a vertex")
			case "socks5_proxy":
				dev.SOCKS5 = doc.text(value, key)
			case "forwards":
				dev.Forwards = doc.forwards(value)
			}
		}
	})
	return dev
}
