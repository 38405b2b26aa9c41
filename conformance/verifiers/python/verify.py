#!/usr/bin/env python3
"""A verifier of Florete's contract, written from SPEC.md alone (CNF-2).

    verify.py verify DIRECTORY

answers the vector in a directory: exit 0 and what was asked for, exit 1 and the
code of the refusal, exit 3 where the directory holds nothing that is known.

It needs Python 3.9 and python3-cryptography (38 or later).
"""

import datetime
import json
import os
import sys

from cryptography import x509

from artifact import from_base64, probe
from bundle import check_bundle
from canon import Refusal, canonical
from payload import check
from sets import Held, check_mark, verify_set
from trust import hostname, service_of, trust_set


class Directory:
    def __init__(self, path):
        self.path = path

    def has(self, name):
        return os.path.exists(os.path.join(self.path, name))

    def bytes(self, name):
        with open(os.path.join(self.path, name), "rb") as file:
            return file.read()

    def text(self, name):
        return self.bytes(name).decode("utf-8")

    def line(self, name):
        return self.text(name).rstrip("\n")

    def json(self, name):
        return json.loads(self.bytes(name))


def instant(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)


def held_by(trust):
    ca = x509.load_der_x509_certificate(from_base64(trust["ca"]))
    signers = trust_set(trust["held"], trust["trust_domain"], ca) if "held" in trust else []
    return Held(trust["trust_domain"], ca, signers, trust["retired"], instant(trust["now"]))


def answer_set(d):
    version, _ = verify_set(held_by(d.json("trust.json")), d.line("node"), d.bytes("set.json"))
    check_mark(int(d.line("mark")), version)
    return ""


def answer_text(d):
    return canonical(d.bytes("text.json")).decode("utf-8")


def answer_route(d):
    core = probe(d.bytes("artifact.json"))
    return "%s %s %s %d %s" % (core.plane, core.node, core.name, core.version, core.schema_version)


def answer_payload(d):
    check(d.line("family"), d.bytes("payload.json"))
    return ""


def answer_hostname(d):
    asked = d.json("hostname.json")
    return service_of(asked["hostname"], asked["trust_domain"])


def answer_id(d):
    return hostname(d.json("id.json")["spiffe_id"])


def answer_bundle(d):
    check_bundle(from_base64(d.text("bundle.tar.base64").replace("\n", "")), instant(d.line("now")))
    return ""


ANSWERS = {
    "set.json": answer_set, "text.json": answer_text, "artifact.json": answer_route, "payload.json": answer_payload,
    "hostname.json": answer_hostname, "id.json": answer_id, "bundle.tar.base64": answer_bundle,
}


def verify(path):
    """(exit code, standard output) for the vector in a directory."""
    directory = Directory(path)
    for name, answer in ANSWERS.items():
        if directory.has(name):
            try:
                return 0, answer(directory)
            except Refusal as refusal:
                return 1, "%s %s" % (refusal.code, refusal)
    return 3, "nothing that this verifier knows"


def main(args):
    if len(args) != 2 or args[0] != "verify":
        print("usage: verify.py verify DIRECTORY", file=sys.stderr)
        return 2
    code, output = verify(args[1])
    sys.stdout.buffer.write(output.encode("utf-8") + b"\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
