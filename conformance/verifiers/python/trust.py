"""Who may sign: SPIFFE IDs, certificates, trust blocks (ENV-10), hostnames."""

import datetime
import re

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from artifact import from_base64
from canon import Object, Refusal

ID = re.compile(r"spiffe://([a-z0-9._-]+)((?:/[A-Za-z0-9._-]+)*)")
DOMAIN = re.compile(r"[a-z0-9._-]+")
SEGMENTS = {
    "user": (2,), "node": (2,), "service": (2, 3), "vertex": (3,),
    "management-plane": (2,), "control-plane": (2,),
}
SIGNER_OF = {"mgmt": "management-plane", "ctrl": "control-plane"}
KNOWN_EXTENSIONS = {
    ExtensionOID.KEY_USAGE, ExtensionOID.EXTENDED_KEY_USAGE, ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
}


def parse_id(text):
    """(trust domain, segments) of a SPIFFE ID, or None."""
    found = ID.fullmatch(text)
    if not found:
        return None
    segments = found.group(2).split("/")[1:]
    if "." in segments or ".." in segments:
        return None
    return found.group(1), segments


def kind_of(segments):
    """The kind of a principal, or None."""
    if segments and len(segments) in SEGMENTS.get(segments[0], ()):
        return segments[0]
    return None


def hostname(text):
    """The hostname of an ID (VTX-2)."""
    domain, segments = parse_id(text) or ("", [])
    if kind_of(segments) not in ("service", "vertex"):
        raise Refusal("FL1324", "only services and vertices have a hostname")
    host = ".".join(segments[:0:-1] + [domain, "rete"]).lower()
    if len(host) > 253:
        raise Refusal("FL1324", "the hostname is over 253 octets")
    return host


def service_of(host, domain):
    """The ID that a hostname names (VTX-10)."""
    lowered = "".join(c.lower() if c.isascii() else c for c in host)
    if lowered.endswith("."):
        lowered = lowered[:-1]
    suffix = "." + domain + ".rete"
    if not lowered.endswith(suffix):
        raise Refusal("FL1324", "not a name of this trust domain")
    if len(lowered.encode("utf-8")) > 253:
        raise Refusal("FL1324", "a name over 253 octets")
    labels = lowered[: -len(suffix)].split(".")
    if len(labels) > 2:
        raise Refusal("FL1324", "a name of too many labels")
    found = "spiffe://" + "/".join([domain, "service"] + labels[::-1])
    if parse_id(found) is None or "/" in lowered:
        raise Refusal("FL1324", "a label that IDs do not have")
    return found


class Signer:
    def __init__(self, plane, identity, key, pubkey, cert):
        self.plane, self.id, self.key, self.pubkey, self.cert = plane, identity, key, pubkey, cert


def window(cert):
    """The first and the last instant of a certificate, in UTC."""
    if hasattr(cert, "not_valid_before_utc"):
        return cert.not_valid_before_utc, cert.not_valid_after_utc
    utc = datetime.timezone.utc
    return cert.not_valid_before.replace(tzinfo=utc), cert.not_valid_after.replace(tzinfo=utc)


def valid_at(cert, now):
    first, last = window(cert)
    return first <= now <= last


def issued_by(cert, ca):
    """Whether the CA issued a certificate, whatever the time."""
    if cert.issuer.public_bytes() != ca.subject.public_bytes():
        return False
    try:
        ca.public_key().verify(cert.signature, cert.tbs_certificate_bytes)
    except InvalidSignature:
        return False
    first, last = window(cert)
    return max(first, window(ca)[0]) <= min(last, window(ca)[1])


def extension(cert, kind):
    try:
        return cert.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def uris(cert):
    san = extension(cert, x509.SubjectAlternativeName)
    return san.get_values_for_type(x509.UniformResourceIdentifier) if san else []


def is_ca(cert):
    constraints = extension(cert, x509.BasicConstraints)
    return constraints is not None and constraints.ca


def public_bytes(key):
    if not isinstance(key, Ed25519PublicKey):
        return None
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def signer_fault(cert, ca, identity, key):
    """What keeps a certificate from vouching for an entry, or None."""
    if not issued_by(cert, ca):
        return "is not of the pinned CA"
    if any(e.critical and e.oid not in KNOWN_EXTENSIONS for e in cert.extensions):
        return "has a critical extension that is not known"
    if uris(cert) != [identity]:
        return "does not carry exactly the entry's ID"
    if public_bytes(cert.public_key()) != key:
        return "is for another key"
    if is_ca(cert):
        return "is that of a CA"
    usage = extension(cert, x509.KeyUsage)
    if usage is None or not usage.digital_signature:
        return "lacks digitalSignature"
    if extension(cert, x509.ExtendedKeyUsage) is not None:
        return "has an extended key usage"
    return None


def signer(plane, entry, domain, ca):
    """One entry of a trust block (ENV-10)."""
    identity = entry["spiffe_id"]
    found = parse_id(identity)
    if found is None or found[0] != domain or kind_of(found[1]) != SIGNER_OF[plane]:
        raise Refusal("FL1112", "%s may not sign for %s" % (identity, plane))
    key = from_base64(entry["pubkey"])
    if key is None or len(key) != 32:
        raise Refusal("FL1113", "pubkey is not 32 bytes in canonical base64")
    der = from_base64(entry["cert"])
    if der is None:
        raise Refusal("FL1114", "cert is not canonical base64")
    try:
        cert = x509.load_der_x509_certificate(der)
        fault = signer_fault(cert, ca, identity, key)
    except ValueError:
        raise Refusal("FL1114", "cert is not one certificate in DER") from None
    if fault:
        raise Refusal("FL1114", "cert " + fault)
    return Signer(plane, identity, key, entry["pubkey"], cert)


def trust_set(block, domain, ca):
    """The signers of a trust block: all of them hold, or it is refused."""
    if not block.get("authorized_mgmt_signers"):
        raise Refusal("FL1111", "nobody may sign for mgmt")
    signers = []
    for plane in ("mgmt", "ctrl"):
        for entry in block.get("authorized_%s_signers" % plane) or []:
            signers.append(signer(plane, entry, domain, ca))
    for values in ([s.id for s in signers], [s.pubkey for s in signers]):
        if len(set(values)) != len(values):
            raise Refusal("FL1115", "an ID or a key is listed twice")
    return signers


def of_plane(signers, plane):
    return [s for s in signers if s.plane == plane]


USAGES = {
    "user": {ExtendedKeyUsageOID.CLIENT_AUTH}, "node": {ExtendedKeyUsageOID.CLIENT_AUTH},
    "service": {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH},
    "vertex": {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH},
}
OTHER_USAGES = (
    "content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign",
)


def principal_fault(cert, ca, identity, now):
    """What is wrong with a principal's certificate (SET-8), or None."""
    if uris(cert) != [identity]:
        return "does not carry exactly its ID"
    kind = kind_of(parse_id(identity)[1])
    if kind not in USAGES:
        return "is of a kind that does not speak TLS"
    if is_ca(cert):
        return "is that of a CA"
    usage = extension(cert, x509.KeyUsage)
    if usage is None or not usage.digital_signature or any(getattr(usage, name) for name in OTHER_USAGES):
        return "has another key usage than digitalSignature"
    extended = extension(cert, x509.ExtendedKeyUsage)
    if set(extended or ()) != USAGES[kind]:
        return "has other extended usages than its kind"
    if not issued_by(cert, ca):
        return "is not of the pinned CA"
    if not valid_at(cert, now):
        return "is not valid now"
    return None
