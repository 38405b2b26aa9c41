"""The enrolment bundle (BND-1)."""

import hashlib
import re

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from artifact import MAX_VERSION, Signature, closed, gate, probe, safe, unsigned
from canon import Number, Object, Refusal, decode, parse, strict
from payload import SIGNERS, shape
from sets import Held, attempt, verify_set
from trust import (
    DOMAIN, extension, is_ca, kind_of, of_plane, parse_id, principal_fault, trust_set, valid_at,
)

BLOCK = 512
MAX_SIZE = 64 << 20
MAX_ENTRIES = 1024
MANIFEST = ["schema_version", "trust_domain", "node", "set_version", "coordinator", "principals", "trust", "entries", "signature"]
SHAPES = {
    "schema_version": str, "trust_domain": str, "node": str, "coordinator": str, "principals": [str],
    "trust": {"authorized_mgmt_signers": SIGNERS, "authorized_ctrl_signers": SIGNERS},
}
NAMES = re.compile(r"manifest\.json|identity/ca\.crt|artifacts/mgmt/(?P<name>[^/]+)\.json|identity/certs/(?P<leaf>[^/]+)\.(?:crt|key)")
OCTAL = re.compile(rb" *([0-7]*)[ \x00]*")


def octal(field):
    found = OCTAL.fullmatch(field)
    if not found:
        raise Refusal("FL2204", "a number in a header is not octal")
    return int(found.group(1) or b"0", 8)


def zero(data):
    return not data.strip(b"\0")


def text_of(field):
    return field.split(b"\0")[0].decode("latin-1")


class Header:
    def __init__(self, raw):
        if raw[257:265] != b"ustar\x0000" or raw[508:512] == b"tar\0":
            raise Refusal("FL2204", "an entry is not plain ustar")
        if octal(raw[148:156]) != sum(raw[:148]) + 8 * 32 + sum(raw[156:]):
            raise Refusal("FL2204", "a header's checksum is wrong")
        name, prefix = text_of(raw[0:100]), text_of(raw[345:500])
        self.name = prefix + "/" + name if prefix else name
        self.mode, self.size, self.time = octal(raw[100:108]), octal(raw[124:136]), octal(raw[136:148])
        self.kind, self.link = raw[156:157], text_of(raw[157:257])

    def check(self, seen):
        if self.kind in (b"x", b"g", b"L", b"K", b"S"):
            raise Refusal("FL2204", "extended headers are not plain ustar")
        if self.kind not in (b"0", b"\0") or self.link:
            raise Refusal("FL2205", "%r is not a regular file" % self.name)
        if self.mode != 0o600:
            raise Refusal("FL2205", "%r has mode %o" % (self.name, self.mode))
        if self.time != 0:
            raise Refusal("FL2205", "%r has a time" % self.name)
        if not known(self.name):
            raise Refusal("FL2206", "%r is no name of an entry" % self.name)
        if self.name.lower() in seen:
            raise Refusal("FL2207", "%r is there twice" % self.name)


def known(name):
    found = NAMES.fullmatch(name)
    if not found:
        return False
    stem = found.group("name") or found.group("leaf")
    return stem is None or safe(stem)


def unpack(archive):
    """The entries of an archive, in their order."""
    if len(archive) > MAX_SIZE:
        raise Refusal("FL2201", "the bundle is over its limit")
    if len(archive) < 2 * BLOCK or len(archive) % BLOCK or not zero(archive[-2 * BLOCK :]):
        raise Refusal("FL2203", "the end of the archive is missing")
    files, seen, at = [], set(), 0
    while not zero(archive[at : at + BLOCK]):
        header = Header(archive[at : at + BLOCK])
        header.check(seen)
        if len(files) == MAX_ENTRIES:
            raise Refusal("FL2201", "the bundle has too many entries")
        start, end = at + BLOCK, at + BLOCK + header.size
        at = end + -end % BLOCK
        if at > len(archive) or not zero(archive[end:at]):
            raise Refusal("FL2204", "a block is not filled up with zeros")
        seen.add(header.name.lower())
        files.append((header.name, archive[start:end]))
    if not zero(archive[at:]):
        raise Refusal("FL2204", "something follows the end of the archive")
    return files


class Manifest:
    def __init__(self, data):
        self.value, fault = attempt(self.parse, data)
        if fault is None:
            _, fault = attempt(self.read)
        if fault:
            raise Refusal("FL2208", "%s %s" % (fault.code, fault))

    def parse(self, data):
        value = parse(decode(data))
        strict(value)
        return value

    def read(self):
        closed(self.value, MANIFEST, "the manifest")
        found = {name: shape(self.value.get(name), due) for name, due in SHAPES.items()}
        if not all(found.values()):
            raise Refusal("FL2208", "a member is empty")
        gate(found["schema_version"], "the manifest")
        if not DOMAIN.fullmatch(found["trust_domain"]):
            raise Refusal("FL2208", "trust_domain is a bare name")
        self.domain, self.node, self.principals = found["trust_domain"], found["node"], found["principals"]
        self.coordinator, self.trust = found["coordinator"], found["trust"]
        self.version = self.set_version()
        self.entries = self.listing()
        self.signature = Signature(self.value.get("signature"))

    def set_version(self):
        token = self.value.get("set_version")
        if not isinstance(token, Number) or not token.isdigit() or len(token) > 16 or not 1 <= int(token) <= MAX_VERSION:
            raise Refusal("FL2208", "set_version is no version")
        return int(token)

    def listing(self):
        entries, values = {}, self.value.get("entries")
        if not isinstance(values, list) or not values:
            raise Refusal("FL2208", "entries lists something")
        for entry in values:
            closed(entry, ["name", "sha256", "size"], "an entry")
            size = entry.get("size")
            if not isinstance(size, Number) or not size.isdigit():
                raise Refusal("FL2208", "a size is a number")
            if entry.get("name") in entries:
                raise Refusal("FL2208", "an entry is listed twice")
            entries[entry.get("name")] = (entry.get("sha256"), str(size))
        return entries


def check_listing(listed, files):
    if set(listed) != {name for name, _ in files}:
        raise Refusal("FL2209", "the entries are not those that are listed")
    for name, data in files:
        if listed[name] != (hashlib.sha256(data).hexdigest(), str(len(data))):
            raise Refusal("FL2209", "%s is not what is listed" % name)


def one_pem(data, label):
    """One PEM block and nothing else."""
    begin, end = b"-----BEGIN " + label + b"-----", b"-----END " + label + b"-----"
    text = data.strip()
    if not text.startswith(begin) or not text.endswith(end) or text.count(b"-----BEGIN ") != 1:
        raise ValueError("not exactly one PEM block")
    return text


def read_ca(data):
    try:
        ca = x509.load_pem_x509_certificate(one_pem(data or b"", b"CERTIFICATE"))
        usage = extension(ca, x509.KeyUsage)
        good = is_ca(ca) and usage is not None and usage.key_cert_sign
    except ValueError:
        good = False
    if not good:
        raise Refusal("FL2210", "ca.crt is not one certificate of a CA")
    return ca


def check_bundle(archive, now):
    """BND-1, from bytes to verdict."""
    files = unpack(archive)
    if not files or files[0][0] != "manifest.json":
        raise Refusal("FL2208", "the first entry is not manifest.json")
    m = Manifest(files[0][1])
    check_listing(m.entries, files[1:])
    content = dict(files[1:])
    ca = read_ca(content.get("identity/ca.crt"))
    check_trust(m, ca, now)
    check_set(m, content, Held(m.domain, ca, [], [], now))
    check_principals(m, content, ca, now)


def check_trust(m, ca, now):
    signers, fault = attempt(trust_set, m.trust, m.domain, ca)
    if fault:
        raise Refusal("FL2211", "%s %s" % (fault.code, fault))
    by, fault = attempt(m.signature.verify, of_plane(signers, "mgmt"), unsigned(m.value))
    if fault:
        raise Refusal("FL2212", "%s %s" % (fault.code, fault))
    if not valid_at(by.cert, now):
        raise Refusal("FL2212", "the certificate of %s is not valid now" % by.id)


def check_set(m, content, held):
    artifacts = {n: d for n, d in content.items() if n.startswith("artifacts/mgmt/")}
    for name, data in artifacts.items():
        core, fault = attempt(probe, data)
        if fault:
            raise Refusal("FL2214", "%s %s" % (fault.code, fault))
        if name != "artifacts/mgmt/" + core.name + ".json":
            raise Refusal("FL2214", "%s holds the artifact %s" % (name, core.name))
    doc = b'{"artifacts":[' + b",".join(artifacts.values()) + b"]}"
    found, fault = attempt(verify_set, held, m.node, doc)
    if fault:
        raise Refusal("FL2214", "%s %s" % (fault.code, fault))
    version, payload = found
    if version != m.version:
        raise Refusal("FL2214", "the set has another version")
    if payload["sync"]["coordinator"] != m.coordinator:
        raise Refusal("FL2214", "the set has another coordinator")
    if normal(payload["trust"]) != normal(m.trust):
        raise Refusal("FL2213", "the set has another trust block")


def normal(trust):
    return [trust.get("authorized_%s_signers" % plane, []) for plane in ("mgmt", "ctrl")]


def check_principals(m, content, ca, now):
    left = {name for name in content if name.startswith("identity/certs/")}
    for identity in m.principals:
        stem = "identity/certs/" + local(identity, m)
        own = {stem + ".crt", stem + ".key"}
        if not own <= left:
            raise Refusal("FL2215", "%s has no certificate and key of its own" % identity)
        left -= own
        fault = svid_fault(content[stem + ".crt"], content[stem + ".key"], ca, identity, now)
        if fault:
            raise Refusal("FL2216", "the certificate of %s %s" % (identity, fault))
    if left:
        raise Refusal("FL2215", "%s belong to no principal" % sorted(left))


def local(identity, m):
    """The leaf of a principal that may have keys on this node."""
    domain, segments = parse_id(identity) or ("", [])
    kind = kind_of(segments)
    if domain != m.domain or kind is None:
        raise Refusal("FL2215", "%s is no principal of this rete" % identity)
    if (kind == "node" or len(segments) == 3) and segments[1] != m.node:
        raise Refusal("FL2215", "%s is of another node" % identity)
    return segments[-1]


def svid_fault(cert_pem, key_pem, ca, identity, now):
    try:
        cert = x509.load_pem_x509_certificate(one_pem(cert_pem, b"CERTIFICATE"))
        key = serialization.load_pem_private_key(one_pem(key_pem, b"PRIVATE KEY"), None)
    except (ValueError, TypeError):
        return "or its key cannot be read"
    fault = principal_fault(cert, ca, identity, now)
    if fault is None and spki(key.public_key()) != spki(cert.public_key()):
        return "is not that of its key"
    return fault


def spki(key):
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
