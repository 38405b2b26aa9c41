"""The payloads of roots and vertices (ENV-15), as SPEC.md's tables have them."""

import ipaddress
import re

from artifact import gate, or_version, peek, safe
from canon import Number, Object, Refusal, decode, parse
from trust import hostname, kind_of, parse_id

INITIATORS = ("user", "service", "node")
TARGETS = ("service", "vertex")

# Shapes: str is a string, [shape] a list of them, a dict a closed object.
SIGNERS = [{"spiffe_id": str, "pubkey": str, "cert": str}]
AGENT = {
    "schema_version": str,
    "trust": {"authorized_mgmt_signers": SIGNERS, "authorized_ctrl_signers": SIGNERS},
    "workloads": [{"name": str, "run": [str]}],
    "inbounds": [{"principal": str, "via": {"kind": str, "addr": str}}],
    "sync": {"principal": str, "coordinator": str, "poll_interval": str},
}
RULES = [{"target": str, "allow": [str]}]
VERTEX = {
    "schema_version": str,
    "kind": str,
    "transport_endpoint": {"type": str},
    "connection_manager": {"adapters": [{"name": str, "type": str, "listen": str, "vertex": str}]},
    "workloads": [{"spiffe_id": str, "io": [{"kind": str, "listen": str, "target": str, "upstream": str}]}],
    "links": [{
        "type": str,
        "members": [{"name": str, "peer": str, "via": {"type": str, "adapter": str, "addr": str}}],
    }],
    "ingress": RULES,
    "egress": RULES,
    "revoked": [str],
}

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
DURATION = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
HASH = re.compile(r"[0-9a-f]{64}")


def shape(value, due):
    """The value as dicts, lists and strings; null stands for what is null."""
    if value is None:
        return None
    if due is str:
        if not isinstance(value, str) or isinstance(value, Number):
            raise Refusal("FL1301", "a string is due")
        return str(value)
    if isinstance(due, list):
        if not isinstance(value, list):
            raise Refusal("FL1301", "a list is due")
        return [shape(item, due[0]) for item in value]
    if not isinstance(value, Object):
        raise Refusal("FL1301", "an object is due")
    if len(set(value.names())) != len(value.names()):
        raise Refusal("FL1301", "a name is there twice")
    for name in value.names():
        if name not in due:
            raise Refusal("FL1301", "there is no room for %r" % name)
    return {name: shape(item, due[name]) for name, item in value.members}


def no_empty(value):
    if value is None or value == "":
        raise Refusal("FL1304", "a member is null or empty")
    if isinstance(value, list):
        for item in value:
            no_empty(item)
    if isinstance(value, dict):
        for item in value.values():
            no_empty(item)


def read(value, due, what):
    """Reads a payload of a family and holds it against its ladder."""
    try:
        found = shape(value, due)
        no_empty(found)
    except Refusal as refusal:
        raise or_version(refusal, peek(value), what) from None
    if not isinstance(found, dict):
        raise Refusal("FL1301", "a payload is an object")
    gate(found.get("schema_version", ""), what)
    return found


def need(value, *names):
    for name in names:
        if name not in value:
            raise Refusal("FL1303", "%s is required" % name)


def word(value, *words):
    if value not in words:
        raise Refusal("FL1306", "%r is none of %s" % (value, words))


def an_id(text, kinds):
    found = parse_id(text)
    if found is None:
        raise Refusal("FL1308", "%r is no SPIFFE ID" % text)
    if kind_of(found[1]) not in kinds:
        raise Refusal("FL1309", "%s is not of a kind that is due" % text)
    return found[0]


def address(text):
    """An IP literal with a port, as something that can be compared."""
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        ip = ipaddress.ip_address(host[1:-1] if bracketed else host)
    except ValueError:
        raise Refusal("FL1311", "%r is no address" % text) from None
    if bracketed != (ip.version == 6) or not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise Refusal("FL1311", "%r is no address" % text)
    return getattr(ip, "ipv4_mapped", None) or ip, int(port)


def distinct(values, what):
    if len(set(values)) != len(values):
        raise Refusal("FL1315", "two %s are equal" % what)


def seconds(text):
    at, total = 0, 0.0
    while at < len(text):
        found = DURATION.match(text, at)
        if not found:
            return None
        total += float(found.group(1)) * UNITS[found.group(2)]
        at = found.end()
    return total


def check_agent(value):
    """The agent payload, from its JSON value."""
    p = read(value, AGENT, "the agent payload")
    need(p, "schema_version", "trust", "workloads", "inbounds", "sync")
    check_signers(p["trust"])
    for workload in p["workloads"]:
        check_workload(workload)
    distinct([w["name"].lower() for w in p["workloads"]], "workloads")
    for inbound in p["inbounds"]:
        check_inbound(inbound)
    distinct([address(i["via"]["addr"]) for i in p["inbounds"]], "inbound addresses")
    check_sync(p)
    return p


def check_signers(trust):
    if not trust.get("authorized_mgmt_signers"):
        raise Refusal("FL1303", "authorized_mgmt_signers must list somebody")
    for name, kind in (("authorized_mgmt_signers", "management-plane"), ("authorized_ctrl_signers", "control-plane")):
        for entry in trust.get(name, []):
            need(entry, "spiffe_id", "pubkey", "cert")
            an_id(entry["spiffe_id"], [kind])


def check_workload(workload):
    need(workload, "name", "run")
    name, run = workload["name"], workload["run"]
    if not safe(name):
        raise Refusal("FL1307", "the name %r is not safe" % name)
    if name.lower() in ("agent", "manifest"):
        raise Refusal("FL1307", "the name %r is reserved" % name)
    if len(run) != 1:
        raise Refusal("FL1313", "run has one element")
    if not safe(run[0]):
        raise Refusal("FL1313", "run is the name of a program")


def check_inbound(inbound):
    need(inbound, "principal", "via")
    need(inbound["via"], "kind", "addr")
    an_id(inbound["principal"], INITIATORS)
    word(inbound["via"]["kind"], "socks5")


def check_sync(p):
    sync = p["sync"]
    need(sync, "principal", "coordinator")
    an_id(sync["coordinator"], ["service"])
    an_id(sync["principal"], INITIATORS)
    if "poll_interval" in sync:
        interval = seconds(sync["poll_interval"])
        if interval is None or not 1 <= interval <= 24 * 3600:
            raise Refusal("FL1312", "poll_interval is a duration from 1s to 24h")
    if [i["principal"] for i in p["inbounds"]].count(sync["principal"]) != 1:
        raise Refusal("FL1316", "sync.principal has exactly one inbound")


def agent_ids(p):
    """Every SPIFFE ID of an agent payload."""
    entries = p["trust"]["authorized_mgmt_signers"] + p["trust"].get("authorized_ctrl_signers", [])
    return (
        [p["sync"]["principal"], p["sync"]["coordinator"]]
        + [i["principal"] for i in p["inbounds"]]
        + [e["spiffe_id"] for e in entries]
    )


def check_vertex(value):
    """The vertex payload, from its JSON value."""
    p = read(value, VERTEX, "the vertex payload")
    need(p, "schema_version", "kind", "transport_endpoint", "connection_manager", "workloads")
    need(p["transport_endpoint"], "type")
    need(p["connection_manager"], "adapters")
    word(p["kind"], "link", "mesh")
    word(p["transport_endpoint"]["type"], "quic")
    vertex = Vertex(p)
    vertex.check_adapters()
    vertex.check_workloads()
    vertex.check_links()
    vertex.check_rules()
    for value in p.get("revoked", []):
        if not HASH.fullmatch(value):
            raise Refusal("FL1314", "revoked has SHA-256 in lower-case hex")
    if p["kind"] == "link":
        vertex.check_link()
    return p


class Vertex:
    """Collects, while a payload is checked, what its parts are compared by."""

    ADAPTERS = {"udp": (), "florio": ("vertex",)}
    ADAPTER_OPTIONAL = {"udp": ("listen",), "florio": ()}
    IO = {"socks5": ("listen",), "forward": ("listen", "target"), "tcp": ("upstream",), "embedded": (), "florio": ()}
    VIA = {"udp": ("addr",), "florio": ()}

    def __init__(self, p):
        self.p = p
        self.adapters = p["connection_manager"]["adapters"]
        self.links = [m for links in p.get("links", []) for m in links.get("members", [])]
        self.domains, self.listens, self.named = set(), [], []

    def principal(self, text, kinds):
        self.domains.add(an_id(text, kinds))
        if len(self.domains) > 1:
            raise Refusal("FL1310", "IDs of several trust domains")
        if kind_of(parse_id(text)[1]) in TARGETS and text not in self.named:
            self.named.append(text)

    def listen(self, text):
        found = address(text)
        if found in self.listens:
            raise Refusal("FL1315", "two listeners at %s" % text)
        self.listens.append(found)

    def variant(self, value, common, own, optional=()):
        need(value, *common, *own)
        for name in value:
            if name not in common and name not in own and name not in optional:
                raise Refusal("FL1305", "%s does not belong there" % name)

    def check_adapters(self):
        for adapter in self.adapters:
            need(adapter, "name", "type")
            kind = adapter["type"]
            word(kind, *self.ADAPTERS)
            self.variant(adapter, ("name", "type"), self.ADAPTERS[kind], self.ADAPTER_OPTIONAL[kind])
            if "listen" in adapter:
                self.listen(adapter["listen"])
            if kind == "florio":
                self.principal(adapter["vertex"], ["vertex"])
        distinct([a["name"] for a in self.adapters], "adapters")

    def check_workloads(self):
        for workload in self.p["workloads"]:
            need(workload, "spiffe_id", "io")
            self.principal(workload["spiffe_id"], ("user", "service", "node", "vertex"))
            if not workload["io"]:
                raise Refusal("FL1317", "a workload has at least one io")
            for io in workload["io"]:
                self.check_io(io)
        distinct([w["spiffe_id"] for w in self.p["workloads"]], "workloads")

    def check_io(self, io):
        need(io, "kind")
        word(io["kind"], *self.IO)
        own = self.IO[io["kind"]]
        self.variant(io, ("kind",), own)
        if "listen" in own:
            self.listen(io["listen"])
        if "target" in own:
            self.principal(io["target"], TARGETS)
        if "upstream" in own:
            address(io["upstream"])

    def check_links(self):
        for links in self.p.get("links", []):
            need(links, "type", "members")
            word(links["type"], "list")
        types = {a["name"]: a["type"] for a in self.adapters}
        for link in self.links:
            need(link, "name", "peer", "via")
            self.principal(link["peer"], TARGETS)
            via = link["via"]
            need(via, "type", "adapter")
            word(via["type"], *self.VIA)
            if types.get(via["adapter"]) != via["type"]:
                raise Refusal("FL1318", "%s is no adapter of that type" % via["adapter"])
            self.variant(via, ("type", "adapter"), self.VIA[via["type"]])
            if "addr" in via:
                address(via["addr"])
        distinct([m["name"] for m in self.links], "links")

    def check_rules(self):
        for table in ("ingress", "egress"):
            rules = self.p.get(table, [])
            for rule in rules:
                need(rule, "target", "allow")
                self.principal(rule["target"], TARGETS)
                for who in rule["allow"]:
                    self.principal(who, INITIATORS)
            distinct([r["target"] for r in rules], "targets")

    def check_link(self):
        """What holds for a link vertex: that its parts fit."""
        if [a["type"] for a in self.adapters].count("udp") != 1:
            raise Refusal("FL1319", "a link vertex has exactly one udp adapter")
        served = {w["spiffe_id"] for w in self.p["workloads"] if any(i["kind"] in ("tcp", "embedded") for i in w["io"])}
        peers = {m["peer"] for m in self.links}
        for rule in self.p.get("ingress", []):
            if rule["target"] not in served:
                raise Refusal("FL1321", "%s is not served here" % rule["target"])
        for rule in self.p.get("egress", []):
            if rule["target"] not in served | peers:
                raise Refusal("FL1320", "no link leads to %s" % rule["target"])
        self.check_forwards()
        hosts = [hostname(text) for text in self.named]
        if len(set(hosts)) != len(hosts):
            raise Refusal("FL1323", "two IDs have one hostname")

    def check_forwards(self):
        allowed = {(who, r["target"]) for r in self.p.get("egress", []) for who in r["allow"]}
        for workload in self.p["workloads"]:
            for io in workload["io"]:
                if io["kind"] == "forward" and (workload["spiffe_id"], io["target"]) not in allowed:
                    raise Refusal("FL1322", "egress does not allow the forward to %s" % io["target"])


CHECKS = {"agent": check_agent, "vertex": check_vertex}


def check(family, data):
    """A payload of a family, from its text."""
    try:
        value = parse(decode(data))
    except Refusal as refusal:
        raise Refusal("FL1301", str(refusal)) from None
    return CHECKS[family](value)
