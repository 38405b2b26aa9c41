"""Artifacts: the envelope (ENV-2 to ENV-6, ENV-14, ENV-16) and set documents."""

import base64
import binascii
import calendar
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from canon import Number, Object, Refusal, decode, form, parse, strict, unique

MAX_SET = 64 << 20
MAX_VERSION = (1 << 53) - 1
OWN_VERSION = "1.0"

MEMBERS = ["schema_version", "plane", "version", "node", "name", "generated_at", "payload", "signature"]
ROUTING = MEMBERS[:5]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
VERSION = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z", re.ASCII)


def safe(name):
    """Whether a name is safe (ENV-4)."""
    if not NAME.fullmatch(name):
        return False
    if name.endswith("."):
        return False
    return not RESERVED.fullmatch(name.lower().split(".")[0])


def gate(version, what, own=OWN_VERSION):
    """ENV-14: own's major, up to own's minor."""
    found = VERSION.fullmatch(version)
    if not found:
        raise Refusal("FL1016", "schema_version of %s is not MAJOR.MINOR" % what)
    theirs, ours = [[ordered(n) for n in v.split(".")] for v in (version, own)]
    if theirs[0] < ours[0]:
        raise Refusal("FL1018", "%s is too old" % what)
    if theirs > ours:
        raise Refusal("FL1017", "%s is too new: upgrade this program" % what)


def ordered(decimal):
    """Orders decimals of any length."""
    return len(decimal), decimal


def or_version(refusal, version, what):
    """ENV-14: what was not understood may be of another version."""
    try:
        gate(version, what)
    except Refusal as other:
        if other.code in ("FL1017", "FL1018"):
            return other
    return refusal


def peek(value):
    """The schema_version of an object, as far as there is one."""
    if isinstance(value, Object) and value.has("schema_version"):
        version = value.get("schema_version")
        if isinstance(version, str) and not isinstance(version, Number):
            return version
    return ""


def closed(value, names, what):
    """ENV-2: exactly these members, none null."""
    if not isinstance(value, Object):
        raise Refusal("FL1010", "%s must be an object" % what)
    for name in value.names():
        if name not in names:
            spelled(name, names)
            raise Refusal("FL1007", "%s has no room for %r" % (what, name))
    present(value, names, what)


def spelled(name, names):
    """ENV-1: no known name in another case."""
    if name not in names and name.casefold() in [n.casefold() for n in names]:
        raise Refusal("FL1004", "%r is spelled in another case" % name)


def present(value, names, what):
    for name in names:
        if not value.has(name):
            raise Refusal("FL1008", "%s has no %s" % (what, name))
        if value.get(name) is None:
            raise Refusal("FL1009", "%s of %s is null" % (name, what))


def text_of(value, name):
    found = value.get(name)
    if not isinstance(found, str) or isinstance(found, Number):
        raise Refusal("FL1010", "%s must be a string" % name)
    return found


def version_of(value, name):
    found = value.get(name)
    if not isinstance(found, Number):
        raise Refusal("FL1010", "%s must be a number" % name)
    if not found.isdigit() or len(found) > 16 or not 1 <= int(found) <= MAX_VERSION:
        raise Refusal("FL1012", "%s must be an integer from 1 to 2^53-1" % name)
    return int(found)


def name_of(value, name):
    found = text_of(value, name)
    if not safe(found):
        raise Refusal("FL1013", "%s %r is not safe" % (name, found))
    if name == "name" and found.lower() == "manifest":
        raise Refusal("FL1013", "the name manifest is reserved")
    return found


def plane_of(value):
    """Which plane: what is inside ctrl is not looked at."""
    found = value.get("plane")
    if isinstance(found, str) and not isinstance(found, Number) and found == "mgmt":
        return "mgmt"
    if isinstance(found, Object) and found.names() == ["ctrl"]:
        return "ctrl"
    raise Refusal("FL1011", "the plane is neither mgmt nor ctrl")


class Core:
    """The routing core."""

    def __init__(self, value):
        self.schema_version = text_of(value, "schema_version")
        self.plane = plane_of(value)
        self.version = version_of(value, "version")
        self.node = name_of(value, "node")
        self.name = name_of(value, "name")
        if not VERSION.fullmatch(self.schema_version):
            raise Refusal("FL1016", "schema_version is not MAJOR.MINOR")


def probe(data):
    """The routing core of an artifact (ENV-16)."""
    value = parse(decode(data))
    if not isinstance(value, Object):
        raise Refusal("FL1006", "an artifact is an object")
    unique(value)
    for name in value.names():
        spelled(name, ROUTING)
    present(value, ROUTING, "an artifact")
    return Core(value)


class Artifact:
    """A strictly parsed artifact; signed is what its signature is over."""

    def __init__(self, data):
        value = parse(decode(data))
        try:
            self.read(value)
        except Refusal as refusal:
            raise or_version(refusal, peek(value), "the artifact") from None
        gate(self.core.schema_version, "the artifact")

    def read(self, value):
        strict(value)
        closed(value, MEMBERS, "an artifact")
        check_time(text_of(value, "generated_at"))
        self.signature = Signature(value.get("signature"))
        self.core = Core(value)
        if self.core.plane == "ctrl":
            ctrl = value.get("plane").get("ctrl")
            if ctrl is None:
                raise Refusal("FL1009", "ctrl is null")
            closed(ctrl, ["obeys_mgmt_version"], "ctrl")
            version_of(ctrl, "obeys_mgmt_version")
        self.payload = value.get("payload")
        self.signed = unsigned(value)


def unsigned(value):
    """The message of ENV-6: the form of an object without its signature."""
    rest = [m for m in value.members if m[0] != "signature"]
    return form(Object(rest, 0, 0)).encode("utf-8")


def check_time(text):
    found = TIME.fullmatch(text)
    if not found:
        raise Refusal("FL1014", "generated_at is not YYYY-MM-DDTHH:MM:SSZ")
    year, month, day, hour, minute, second = map(int, found.groups())
    if not 1 <= month <= 12 or not 1 <= day <= days(year, month):
        raise Refusal("FL1014", "generated_at is no date")
    if hour > 23 or minute > 59 or second > 59:
        raise Refusal("FL1014", "generated_at is no time of day")


def days(year, month):
    if month == 2:
        return 29 if calendar.isleap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


class Signature:
    def __init__(self, value):
        closed(value, ["alg", "key_id", "value"], "the signature")
        self.alg = text_of(value, "alg")
        self.key_id = text_of(value, "key_id")
        self.value = text_of(value, "value")

    def verify(self, signers, message):
        """ENV-11 from "plane to signers" on; returns the signer."""
        if not signers:
            raise Refusal("FL1101", "nobody may sign for this plane")
        if self.alg != "ed25519":
            raise Refusal("FL1102", "the algorithm is not ed25519")
        by = next((s for s in signers if s.id == self.key_id), None)
        if by is None:
            raise Refusal("FL1103", "%s may not sign for this plane" % self.key_id)
        raw = from_base64(self.value)
        if raw is None or len(raw) != 64:
            raise Refusal("FL1020", "the signature is not 64 bytes in canonical base64")
        try:
            Ed25519PublicKey.from_public_bytes(by.key).verify(raw, message)
        except InvalidSignature:
            raise Refusal("FL1104", "the signature does not match") from None
        return by


def from_base64(text):
    """The bytes of canonical standard base64, or None."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.b64encode(raw).decode() != text:
        return None
    return raw


def members_of(data):
    """The bytes of each member of a set document (ENV-17)."""
    text = decode(data, MAX_SET)
    doc = parse(text, 2 + 64 + 64)
    if not isinstance(doc, Object):
        raise Refusal("FL1010", "a set document is an object")
    for name in doc.names():
        if name != "artifacts":
            spelled(name, ["artifacts"])
            raise Refusal("FL1007", "a set document has no room for %r" % name)
    unique(doc)
    if not doc.has("artifacts"):
        raise Refusal("FL1008", "a set document has artifacts")
    artifacts = doc.get("artifacts")
    if not isinstance(artifacts, list):
        raise Refusal("FL1010", "artifacts is an array")
    if not artifacts:
        raise Refusal("FL1019", "a set document without artifacts")
    for member in artifacts:
        if not isinstance(member, Object):
            raise Refusal("FL1010", "an artifact is an object")
    return [text[m.start : m.end].encode("utf-8") for m in artifacts]
