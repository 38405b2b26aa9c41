"""Verifying a set from bytes to verdict (ENV-12, ENV-13, ENV-18, AGT-4)."""

from artifact import Artifact, members_of, or_version, peek, probe
from canon import Refusal, decode, parse
from payload import agent_ids, check_agent
from trust import of_plane, parse_id, trust_set, valid_at

MAX_ARTIFACTS = 256
MAX_JUMP = 1 << 20


class Held:
    """What a node holds of a rete's trust; signers is empty where nothing is held."""

    def __init__(self, domain, ca, signers, retired, now):
        self.domain, self.ca, self.signers, self.retired, self.now = domain, ca, signers, retired, now

    def judge(self, signers, root):
        """ENV-12: the signature by one block, retired keys, the window."""
        by = root.signature.verify(of_plane(signers, "mgmt"), root.signed)
        if by.pubkey in self.retired:
            raise Refusal("FL1105", "the key of %s is retired" % by.id)
        if not valid_at(by.cert, self.now):
            raise Refusal("FL1106", "the certificate of %s is not valid now" % by.id)
        return by


def attempt(call, *args):
    """(result, None) or (None, refusal)."""
    try:
        return call(*args), None
    except Refusal as refusal:
        return None, refusal


def own_block(held, root):
    """The payload and the signers of a root's own block."""
    payload, fault = attempt(check_agent, root.payload)
    if fault:
        if fault.code in ("FL1017", "FL1018"):
            raise fault
        raise Refusal("FL1109", "%s %s" % (fault.code, fault))
    return payload, trust_set(payload["trust"], held.domain, held.ca)


def verify_root(held, root):
    """ENV-12: the root's payload, the signers of its block, and who signed."""
    if root.core.plane != "mgmt" or root.core.name != "agent":
        raise Refusal("FL1108", "a root is the mgmt artifact named agent")
    by, by_held = attempt(held.judge, held.signers, root)
    own, by_own = attempt(own_block, held, root)
    if by_own and not by_held:
        raise by_own
    if by_held:
        if not by_own:
            by, by_own = attempt(held.judge, own[1], root)
        if by_own:
            raise more_telling(by_held, by_own)
    payload, signers = own
    if (by.id, by.pubkey) not in [(s.id, s.pubkey) for s in of_plane(signers, "mgmt")]:
        raise Refusal("FL1107", "the root does not list the key that signed it")
    if any(s.pubkey in held.retired for s in signers):
        raise Refusal("FL1105", "the root lists a retired key")
    return payload, signers, by


def more_telling(by_held, by_own):
    if by_own.code in ("FL1105", "FL1106") or by_held.code in ("FL1101", "FL1103"):
        return by_own
    return by_held


def read_root(data):
    """A root, where it cannot be parsed perhaps because of its payload's version."""
    root, fault = attempt(Artifact, data)
    if fault is None:
        return root
    value = parse(decode(data))
    payload = value.get("payload") if value.has("payload") else None
    raise or_version(fault, peek(payload), "the agent payload")


def verify_set(held, node, doc):
    """The version of a set that this node may admit, and its root's payload."""
    members = members_of(doc)
    if len(members) > MAX_ARTIFACTS:
        raise Refusal("FL1201", "more than %d artifacts" % MAX_ARTIFACTS)
    cores = [probe(member) for member in members]
    roots = [i for i, core in enumerate(cores) if core.name == "agent"]
    if not roots:
        raise Refusal("FL1202", "no member is named agent")
    if len(roots) > 1:
        raise Refusal("FL1203", "two members are named agent")
    root = read_root(members[roots[0]])
    payload, signers, by = verify_root(held, root)
    artifacts = [root if i == roots[0] else verified(member, signers) for i, member in enumerate(members)]
    check_members(artifacts, root, node)
    check_inventory(artifacts, payload)
    for text in agent_ids(payload):
        if parse_id(text)[0] != held.domain:
            raise Refusal("FL1211", "%s is of another trust domain" % text)
    return root.core.version, payload


def verified(data, signers):
    artifact = Artifact(data)
    artifact.signature.verify(of_plane(signers, artifact.core.plane), artifact.signed)
    return artifact


def check_members(artifacts, root, node):
    names = set()
    for a in artifacts:
        core = a.core
        if core.plane != "mgmt":
            raise Refusal("FL1204", "%s is of another plane" % core.name)
        if core.node != node:
            raise Refusal("FL1205", "%s is for node %s" % (core.name, core.node))
        if core.version != root.core.version:
            raise Refusal("FL1206", "%s has another version than the root" % core.name)
        if core.name.lower() in names:
            raise Refusal("FL1207", "%s is there twice" % core.name)
        if a.signature.key_id != root.signature.key_id:
            raise Refusal("FL1212", "%s has another signer than the root" % core.name)
        names.add(core.name.lower())


def check_inventory(artifacts, payload):
    present = {a.core.name for a in artifacts}
    listed = {w["name"] for w in payload["workloads"]}
    for name in listed:
        if name not in present:
            raise Refusal("FL1209", "workload %s has no artifact" % name)
    for name in present - {"agent"}:
        if name not in listed:
            raise Refusal("FL1210", "artifact %s is not in the inventory" % name)


def check_mark(mark, version):
    if version < mark:
        raise Refusal("FL1401", "version %d is below the mark %d" % (version, mark))
    if version - mark > MAX_JUMP:
        raise Refusal("FL1402", "version %d is too far above the mark %d" % (version, mark))
