package compiler

import (
	"embed"
	"maps"
	"slices"
	"strings"

	"github.com/florete/flor/compiler/diag"
	"github.com/florete/flor/compiler/facade"
)

var registry diag.Registry

// pages has a source for each code of this package that yields exactly it.
//
//go:embed pages/*.txtar
var pages embed.FS

// Registry has the codes of every diagnostic about a source, those of facade
// included, with cause and fix, ordered by code.
func Registry() []diag.Code {
	all := slices.Concat(facade.Registry(), registry.Codes())
	slices.SortFunc(all, func(a, b diag.Code) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Explain returns the page of a code of this package or of facade: cause and
// fix, and for those of [Registry] an example. It is false for other codes.
func Explain(id string) (diag.Page, bool) {
	for _, source := range []struct {
		codes []diag.Code
		page  func(diag.Code) (diag.Page, error)
	}{
		{registry.Codes(), func(c diag.Code) (diag.Page, error) { return diag.ReadPage(pages, "pages", c) }},
		{facade.Registry(), facade.Page},
	} {
		for _, code := range source.codes {
			if code.ID == id {
				page, err := source.page(code)
				return page, err == nil
			}
		}
	}
	return explainRefusal(id)
}

// Codes maps each code of this package to one line: the diagnostics of
// validation and the refusals of the ledger.
func Codes() map[string]string {
	codes := registry.Titles()
	maps.Copy(codes, ledgerCodes())
	return codes
}

// Declarations and references (CMP-3, CMP-4).
var (
	declaredTwice = registry.Error("FL0201", "declared-twice", "a name is declared twice in one collection",
		"Two files, or two spellings of a node-scoped service, declare the same name.",
		"Remove or rename one of the two.")
	unknownNode = registry.Error("FL0202", "unknown-node", "a node is named that nobody declares",
		"The name has a typing error, or the node was removed.",
		"Correct the name, or declare it under `nodes`.")
	unknownGroup = registry.Error("FL0203", "unknown-group", "a group is named that nobody declares",
		"The name has a typing error, or the group was removed.",
		"Correct the name, or declare it under `groups`.")
	unknownRole = registry.Error("FL0204", "unknown-role", "a role is named that nobody declares",
		"The name has a typing error, or the role was removed.",
		"Correct the name, or declare it under `roles`.")
	unknownService = registry.Error("FL0205", "unknown-service", "a service is named that nobody declares",
		"The name has a typing error, or belongs to a node and is missing the node: `<node>/<name>`.",
		"Correct the name, or declare it under `services`.")
	unknownVertex = registry.Error("FL0206", "unknown-vertex", "`via` names no vertex of the node",
		"The name has a typing error; without a name of its own a vertex is called like its type.",
		"Name a vertex of the same node, or leave `via` out.")
	repeated = registry.Warning("FL0207", "repeated", "a name stands twice in one list",
		"A line was copied.",
		"Remove one of the two.")
	deviceTwice = registry.Error("FL0208", "device-twice", "a user has the same node twice",
		"The same node stands twice under `nodes` of a user.",
		"Merge the two entries.")
	missingField = registry.Error("FL0209", "missing-field", "a setting is missing that has no default",
		"The setting was left out.",
		"Add it as the message says.")
)

// Names (CMP-5).
var (
	badLabel = registry.Error("FL0211", "bad-label", "a node, service or vertex has a name that is no DNS label",
		"These names become parts of hostnames.",
		"Use 1 to 63 of a-z, 0-9 and -, starting and ending with a letter or digit.")
	badName = registry.Error("FL0212", "bad-name", "a user, group, role or signer has a malformed name",
		"These names become parts of identities and file names.",
		"Use 1 to 63 of a-z, 0-9, dot, _ and -, starting and ending with a letter or digit.")
	badTrustDomain = registry.Error("FL0213", "bad-trust-domain", "the name of the rete is no SPIFFE trust domain",
		"A trust domain has only a-z, 0-9, dot, - and _.",
		"Choose such a name; it cannot be changed later without enrolling every node anew.")
	hostnameTooLong = registry.Error("FL0214", "hostname-too-long", "a hostname of the rete is malformed or over 253 octets",
		"The name of the rete is part of each hostname and leaves no room for the names in it.",
		"Choose a shorter name for the rete, or for what the message names.")
	reservedName = registry.Error("FL0215", "reserved-name", "a principal or vertex bears a reserved name",
		"agent and manifest, the words for kinds, and the device names of operating systems cannot be file names on a node.",
		"Choose another name.")
	nameTaken = registry.Error("FL0216", "name-taken", "two principals would have one name",
		"Users, nodes and services share their names, and what lives on one node must differ in its last part.",
		"Rename one of the two.")
	scopeConflict = registry.Error("FL0217", "scope-conflict", "a service contradicts itself about where its name belongs",
		"The key `<node>/<name>` already says the node and the scope, and the settings say something else.",
		"Remove `at` and `scope`, or use the plain name as key.")
	badScope = registry.Error("FL0218", "bad-scope", "`scope` is neither rete nor node",
		"The value has a typing error.",
		"Write `scope: node`, or leave it out for a name that belongs to the whole rete.")
)

// Reserved entities (CMP-6).
var (
	reservedMissing = registry.Error("FL0221", "reserved-missing", "a reserved service, role or group is missing",
		"Every rete has the services coordinator and coordinator-publisher, and the roles and groups through which nodes and operators reach them.",
		"Add it as the suggestion says; `retectl init` writes all of them.")
	reservedAltered = registry.Error("FL0222", "reserved-altered", "a reserved entity is not as it must be",
		"Nodes and operators depend on exactly these grants, whatever else the rete has.",
		"Restore it as the suggestion says. Further rights go into a role of their own, with groups of its own, that is given beside the reserved one.")
	managementSplit = registry.Error("FL0223", "management-split", "the two reserved services are on different nodes",
		"One program, the coordinator, serves both.",
		"Put both on the management node.")
	noOperator = registry.Error("FL0224", "no-operator", "no user has the role operator",
		"Without an operator nobody could publish a change.",
		"Give the role operator to at least one user.")
	reservedAllowed = registry.Error("FL0225", "reserved-allowed", "a role of your own allows a reserved group",
		"Only the role node may allow coordinator-sync, and only operator coordinator-publish.",
		"Remove the group from the role; give the role operator to who publishes.")
	reservedJoined = registry.Error("FL0226", "reserved-joined", "a service of your own is in a reserved group",
		"Every node could reach it.",
		"Use a group of your own.")
	reservedGiven = registry.Error("FL0227", "reserved-given", "somebody is given the role node",
		"The role node belongs to every node by itself, and to nobody else.",
		"Remove it.")
)

// The rete itself, and its certificates (CMP-7).
var (
	certUnreadable = registry.Error("FL0301", "cert-unreadable", "a certificate file cannot be read",
		"It is not there yet, the path is wrong or leads out of the repository.",
		"Correct the path, or make it: `retectl ca init` for the root, `retectl ca issue --kind management-plane` for a signer.")
	certMalformed = registry.Error("FL0302", "cert-malformed", "a certificate file holds no certificate",
		"The file is a key, a request, holds several certificates, or is damaged.",
		"Put exactly one PEM block CERTIFICATE into it.")
	caUnfit = registry.Error("FL0303", "ca-unfit", "the root certificate cannot be a root",
		"It is no CA certificate, may not sign certificates, or names another rete.",
		"Use the certificate that `retectl ca init` made for this rete.")
	certOutdated = registry.Error("FL0304", "cert-outdated", "a certificate is not valid now",
		"It has expired or its time has not begun; or the clock of this machine is wrong.",
		"A signer: `retectl ca issue --kind management-plane`, and list the new one in its place; `retectl ca rotate-signer` does it before the end. A root: `retectl ca init --force`, then such a signer; every node enrols again.")
	certKey = registry.Error("FL0305", "cert-key", "the key of a signer is not Ed25519",
		"The certificate was made for a key of another kind.",
		"Issue it for an Ed25519 key.")
	certForeign = registry.Error("FL0306", "cert-foreign", "a signer's certificate was not issued by the root",
		"It belongs to another rete, or the root certificate was replaced.",
		"Issue another with the root of this rete, `retectl ca issue --kind management-plane`, and list that.")
	certName = registry.Error("FL0307", "cert-name", "a signer's certificate bears another identity",
		"Its one URI SAN must be spiffe://<rete>/management-plane/<name>.",
		"Correct the name of the key, or issue the certificate for it.")
	certUsage = registry.Error("FL0308", "cert-usage", "a signer's certificate has the wrong usages",
		"It must have digitalSignature, no extended key usage, and not be a CA.",
		"Issue it as a signing certificate: `retectl ca issue --kind management-plane`.")
	certExpiring = registry.Warning("FL0309", "cert-expiring", "a certificate expires soon",
		"Less than a fifth of its life, or less than 14 days, is left.",
		"Replace it in time: `retectl ca rotate-signer` for a signer.")
	noSigners = registry.Error("FL0310", "no-signers", "no management key is listed",
		"Nodes accept only what a listed key has signed.",
		"Add one under rete.signers.mgmt.keys.")
	signerTwice = registry.Error("FL0311", "signer-twice", "two management keys are the same",
		"They have one name or one public key.",
		"Remove one of the two.")
	badValidity = registry.Error("FL0312", "bad-validity", "validity_days is out of range",
		"A certificate lives at least one day and at most 36500.",
		"Write a number of days from 1 to 36500.")
	badInterval = registry.Error("FL0313", "bad-interval", "poll_interval is no duration from 1s to 24h",
		"The unit is missing, or the value is out of range.",
		"Write a number with its unit, such as 30s, 5m or 1h.")
)

// Vertices, addresses, ports and clients (CMP-8 … CMP-10).
var (
	vertexCount = registry.Error("FL0401", "vertex-count", "a node has not exactly one vertex of kind link and type quic",
		"Each node reaches the rete through one such vertex.",
		"Write `vertices: [{kind: link, type: quic}]`.")
	laterMilestone = registry.Error("FL0402", "later-milestone", "a kind or type of vertex is not built yet",
		"`kind: mesh` and `type: udp` are reserved for a later milestone.",
		"Use `kind: link, type: quic`.")
	unknownKind = registry.Error("FL0403", "unknown-kind", "a kind or type of vertex is not known",
		"The value has a typing error.",
		"Use `kind: link, type: quic`.")
	addressNeeded = registry.Error("FL0404", "address-needed", "a node with services has no address",
		"Others must be able to dial the vertex of a node that serves something.",
		"Give its vertex an `address`.")
	badAddress = registry.Error("FL0405", "bad-address", "an address is malformed",
		"An address is an IP address and a port; names are not resolved.",
		"Write it like 127.0.0.1:8000 or [::1]:8000.")
	undialable = registry.Error("FL0406", "undialable", "an address cannot be dialled",
		"An unspecified or multicast address is no destination.",
		"Write the address under which others reach it; the one to bind is `listen`.")
	portTaken = registry.Error("FL0407", "port-taken", "two listeners of one node overlap",
		"They have the same port and address, or one of them listens on all addresses.",
		"Give one of them another port.")
	addrTaken = registry.Error("FL0408", "addr-taken", "a service's addr is a listener of ours",
		"The vertex would connect to itself, or to the coordinator.",
		"Give the service or the listener another port.")
	rolesNeeded = registry.Error("FL0409", "roles-needed", "a service is a client without a role",
		"It has a socks5_proxy, and without roles it may reach nothing.",
		"Give it a role, or remove socks5_proxy.")
	rolesIdle = registry.Warning("FL0410", "roles-idle", "a service has roles and no way to use them",
		"Without socks5_proxy or forwards the service cannot open connections.",
		"Add socks5_proxy or forwards, or remove the roles.")
	roleUnused = registry.Warning("FL0411", "role-unused", "nobody has a role",
		"It was declared and never given, or its last bearer was removed.",
		"Give it to somebody, or remove it.")
	groupUnused = registry.Warning("FL0412", "group-unused", "a group has no effect",
		"No service is in it, or no role allows it.",
		"Use it, or remove it.")
	forwardDenied = registry.Error("FL0413", "forward-denied", "a forward leads to a service that its owner may not reach",
		"No role of the owner allows a group of the service.",
		"Give the owner a role that allows it, or remove the forward.")
	openListener = registry.Warning("FL0414", "open-listener", "a local listener is open to the network",
		"A socks5_proxy, a forward and the coordinator ask for no password: who reaches a port has the rights of its owner.",
		"Use a loopback address.")
	addressShared = registry.Error("FL0415", "address-shared", "the vertices of two nodes have one address",
		"A line was copied. Others dial both at one UDP address, where one machine answers.",
		"Write the address of each machine, or different ports where both are behind one address.")
	addressLocal = registry.Warning("FL0416", "address-shared-locally", "the vertices of two nodes have one private or loopback address",
		"A line was copied; or the nodes are on different machines or sites, where others never reach the right one.",
		"Give each another port, or the address at which all others reach it.")
)
