package schema

import (
	"fmt"
	"strings"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// hostnameSuffix ends every hostname, after the trust domain.
const hostnameSuffix = ".rete"

// MaxHostname is the longest hostname, in octets.
const MaxHostname = 253

// HostnameError refuses a hostname that names no target of the trust domain,
// or an ID that has no hostname. Its code is that of [BadHostname].
type HostnameError struct{ message string }

// Error prints code, reason and words.
func (e *HostnameError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Code(), BadHostname, e.message)
}

// Code returns the stable code.
func (e *HostnameError) Code() string { return BadHostname.Code() }

func noHostname(format string, args ...any) error {
	return &HostnameError{fmt.Sprintf(format, args...)}
}

// Hostname returns the name, in lower case, under which a target is dialled
// and which is its SNI (VTX-2): <name>.<td>.rete for service/<name>,
// <name>.<node>.<td>.rete for service/<node>/<name> and vertex/<node>/<name>.
// Other kinds are never targets and have none. Two IDs may have one hostname;
// [Vertex.Validate] faults that.
//
// The error is a [*HostnameError].
func Hostname(id spiffeid.ID) (string, error) {
	kind, err := KindOf(id)
	if err != nil || kind != KindService && kind != KindVertex {
		return "", noHostname("%s is not a service or vertex: it has no hostname", id)
	}
	labels := strings.Split(id.Path(), "/")[2:]
	if len(labels) == 2 {
		labels[0], labels[1] = labels[1], labels[0]
	}
	host := lower(strings.Join(labels, ".") + "." + id.TrustDomain().Name() + hostnameSuffix)
	if len(host) > MaxHostname {
		return "", noHostname("the hostname of %s has %d octets, over the limit of %d", id, len(host), MaxHostname)
	}
	return host, nil
}

// ParseHostname returns the service that a hostname of the trust domain names
// (VTX-10), in any case and with one trailing dot tolerated: one label before
// the trust domain is service/<name>, two are service/<node>/<name>. The ID is
// in lower case.
//
// The error is a [*HostnameError].
func ParseHostname(host string, td spiffeid.TrustDomain) (spiffeid.ID, error) {
	undotted := strings.TrimSuffix(host, ".")
	name, ok := strings.CutSuffix(lower(undotted), "."+td.Name()+hostnameSuffix)
	if !ok {
		return spiffeid.ID{}, noHostname("%.300q does not end in .%s%s", host, td, hostnameSuffix)
	}
	if len(undotted) > MaxHostname {
		return spiffeid.ID{}, noHostname("a hostname of %d octets is over the limit of %d", len(undotted), MaxHostname)
	}
	segments := []string{string(KindService), name}
	if label, node, two := strings.Cut(name, "."); two {
		segments = []string{string(KindService), node, label}
	}
	id, err := spiffeid.FromSegments(td, segments...)
	if err != nil || strings.Count(name, ".") > 1 {
		return spiffeid.ID{}, noHostname("%.300q is not <service>.%s%[3]s or <service>.<node>.%[2]s%[3]s", host, td, hostnameSuffix)
	}
	return id, nil
}

// lower lowers ASCII letters and leaves everything else, which no hostname
// has, to be refused.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
