#!/usr/bin/env python3
"""Runs this verifier over all vectors in one process, without Go.

    vectors.py [DIRECTORY]            a line for each case that fails, and a sum
    vectors.py --mutants [DIRECTORY]  each case against wrong verifiers (CNF-4)

DIRECTORY has index.json; by default it is the vectors beside this repository's
SPEC.md. Exit 0 if every case passes, or every case is killed by a mutant.
"""

import importlib.util
import json
import os
import sys

import mutants

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["canon", "artifact", "trust", "payload", "sets", "bundle", "verify"]


class Verifier:
    """The modules of the verifier, some of them changed."""

    def __init__(self, sources):
        for name in MODULES:
            sys.modules.pop(name, None)
        for name in MODULES:
            self.load(name, sources[name])

    def load(self, name, code):
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, None))
        sys.modules[name] = module
        exec(code, module.__dict__)
        setattr(self, name, module)

    def answer(self, path):
        """(exit code, output); a verifier that crashes has no answer."""
        try:
            code, output = self.verify.verify(path)
        except Exception as crash:  # a mutant may do anything
            return -1, type(crash).__name__
        return code, output.split(" ")[0] if code == 1 else output


def read_sources():
    sources = {}
    for name in MODULES:
        path = os.path.join(HERE, name + ".py")
        with open(path, encoding="utf-8") as file:
            sources[name] = compile(file.read(), path, "exec")
    return sources


def read_index(directory):
    with open(os.path.join(directory, "index.json"), encoding="utf-8") as file:
        return json.load(file)["cases"]


def good(case, answer):
    code, output = answer
    if case["expect"] == "refuse":
        return (code, output) == (1, case["code"])
    return code == 0 and case.get("output", output) == output


def run(directory):
    verifier, cases, failed = Verifier(read_sources()), read_index(directory), 0
    for case in cases:
        answer = verifier.answer(os.path.join(directory, case["name"]))
        if not good(case, answer):
            failed += 1
            print("fail %s: %s %s, got %s %s" % (case["name"], case["expect"], case.get("code", ""), *answer))
    print("%d passed, %d failed" % (len(cases) - failed, failed))
    return 1 if failed or not cases else 0


def main(args):
    kill = args[:1] == ["--mutants"]
    args = args[1:] if kill else args
    directory = args[0] if args else os.path.join(HERE, "..", "..", "vectors")
    if kill:
        return mutants.run(directory, read_index(directory), read_sources(), Verifier, good)
    return run(directory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
