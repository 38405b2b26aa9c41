package schema

// Reason is why a set or a payload was refused. The list is closed.
type Reason string

// Reasons a set is not coherent for (ENV-18).
const (
	TooManyMembers  Reason = "too-many-members"
	NoRoot          Reason = "no-root"
	TwoRoots        Reason = "two-roots"
	WrongPlane      Reason = "wrong-plane"
	WrongNode       Reason = "wrong-node"
	WrongVersion    Reason = "wrong-version"
	DuplicateMember Reason = "duplicate-member"
	RootUnread      Reason = "root-payload-refused"
	MissingMember   Reason = "missing-member"
	UnlistedMember  Reason = "unlisted-member"
	ForeignID       Reason = "foreign-id"
	MixedSigners    Reason = "mixed-signers"
)

// Reasons a payload is faulted for.
const (
	Malformed        Reason = "malformed-payload"
	BadVersion       Reason = "payload-version"
	Missing          Reason = "missing"
	Empty            Reason = "empty-member"
	Stray            Reason = "stray-member"
	UnknownWord      Reason = "unknown-word"
	BadName          Reason = "bad-name"
	BadID            Reason = "bad-id"
	WrongKind        Reason = "wrong-kind-of-principal"
	OtherTrustDomain Reason = "other-trust-domain"
	BadAddress       Reason = "bad-address"
	BadInterval      Reason = "bad-interval"
	BadRun           Reason = "bad-run"
	BadHash          Reason = "bad-hash"
	Duplicate        Reason = "duplicate"
	SyncInbound      Reason = "sync-inbound"
	NoIO             Reason = "no-io"
	BadAdapter       Reason = "bad-adapter"
	UDPAdapters      Reason = "udp-adapters"
	UnreachedTarget  Reason = "unreached-target"
	UnservedTarget   Reason = "unserved-target"
	ForwardDenied    Reason = "forward-without-egress"
	HostnameClash    Reason = "hostname-clash"
	BadHostname      Reason = "bad-hostname"
)

// codes gives each reason its stable code and its meaning in one line.
var codes = map[Reason]struct{ code, meaning string }{
	TooManyMembers:  {"FL1201", "a set has more artifacts than a node may have"},
	NoRoot:          {"FL1202", "no member of the set is its root, named agent"},
	TwoRoots:        {"FL1203", "more than one member of the set is named agent"},
	WrongPlane:      {"FL1204", "a member of a mgmt set is of another plane"},
	WrongNode:       {"FL1205", "a member of the set is for another node"},
	WrongVersion:    {"FL1206", "a member of the set has another version than the root"},
	DuplicateMember: {"FL1207", "two members of the set have the same name"},
	RootUnread:      {"FL1208", "the payload of the root is not a valid agent payload"},
	MissingMember:   {"FL1209", "a workload of the inventory has no member in the set"},
	UnlistedMember:  {"FL1210", "a member of the set is not in the inventory"},
	ForeignID:       {"FL1211", "a SPIFFE ID in the root is of another trust domain than the scope"},
	MixedSigners:    {"FL1212", "a member of the set is signed by another signer than the root"},

	Malformed:        {"FL1301", "a payload is not JSON of its family's shape"},
	BadVersion:       {"FL1302", "the schema_version of a payload is not one that this program knows"},
	Missing:          {"FL1303", "a required member is absent"},
	Empty:            {"FL1304", "a member is null or an empty string; members without a value are left out"},
	Stray:            {"FL1305", "a member does not belong to the variant it stands in"},
	UnknownWord:      {"FL1306", "a member is not one of the words it may be"},
	BadName:          {"FL1307", "a name is unsafe or reserved"},
	BadID:            {"FL1308", "a text is not a SPIFFE ID"},
	WrongKind:        {"FL1309", "a SPIFFE ID is not of a kind that is due"},
	OtherTrustDomain: {"FL1310", "the SPIFFE IDs of a payload are of several trust domains"},
	BadAddress:       {"FL1311", "an address is not an IP literal with a port"},
	BadInterval:      {"FL1312", "poll_interval is not a duration from 1s to 24h"},
	BadRun:           {"FL1313", "run is not an argv of exactly one safe name"},
	BadHash:          {"FL1314", "a revoked entry is not a SHA-256 in lower-case hex"},
	Duplicate:        {"FL1315", "two entries are equal that must not be"},
	SyncInbound:      {"FL1316", "sync.principal does not have exactly one inbound"},
	NoIO:             {"FL1317", "a workload of a vertex has no io"},
	BadAdapter:       {"FL1318", "a link's adapter is not declared, or of another type"},
	UDPAdapters:      {"FL1319", "a link vertex does not have exactly one udp adapter"},
	UnreachedTarget:  {"FL1320", "an egress target is neither a link's peer nor served locally"},
	UnservedTarget:   {"FL1321", "an ingress target is not a workload with a tcp or embedded io"},
	ForwardDenied:    {"FL1322", "a forward's target is not an egress target of its principal"},
	HostnameClash:    {"FL1323", "two SPIFFE IDs have the same hostname"},
	BadHostname:      {"FL1324", "a hostname or an ID does not have the other form"},
}

// Code returns the reason's stable code, such as "FL1202"; a word that is not in
// the list has none.
func (r Reason) Code() string { return codes[r].code }

// Codes maps every code this package raises to its reason and its meaning, in
// one line.
func Codes() map[string]string {
	m := make(map[string]string, len(codes))
	for reason, c := range codes {
		m[c.code] = string(reason) + ": " + c.meaning
	}
	return m
}
