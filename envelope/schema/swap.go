package schema

import (
	"cmp"
	"maps"
	"slices"
)

// Swappable tells whether a running vertex can go from one valid payload to
// another by swapping tables, without a restart (VTX-16): when nothing but
// access lists, links, revoked certificates, and socks5 and forward io differs.
// From or to none, which is nil, there is no swap.
func Swappable(old, new *Vertex) bool {
	if old == nil || new == nil {
		return false
	}
	return old.SchemaVersion == new.SchemaVersion &&
		old.Kind == new.Kind &&
		old.TransportEndpoint == new.TransportEndpoint &&
		sameAdapters(old, new) &&
		maps.EqualFunc(old.fixedIO(), new.fixedIO(), slices.Equal)
}

func sameAdapters(old, new *Vertex) bool {
	return maps.Equal(old.adaptersByName(), new.adaptersByName())
}

func (v *Vertex) adaptersByName() map[string]Adapter {
	m := make(map[string]Adapter)
	for _, a := range v.ConnectionManager.Adapters {
		m[a.Name] = a
	}
	return m
}

// fixedIO returns the io that cannot be swapped, by principal, in an order
// that does not depend on the payload's.
func (v *Vertex) fixedIO() map[string][]IO {
	m := make(map[string][]IO)
	for _, w := range v.Workloads {
		for _, io := range w.IO {
			if io.Kind != SOCKS5 && io.Kind != Forward {
				m[w.SPIFFEID] = append(m[w.SPIFFEID], io)
			}
		}
	}
	for _, ios := range m {
		slices.SortFunc(ios, func(a, b IO) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Upstream, b.Upstream))
		})
	}
	return m
}
