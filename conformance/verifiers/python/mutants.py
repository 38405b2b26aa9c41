"""Wrong verifiers, by which the vectors are tested (CNF-4).

A mutant is the verifier with one change. There are two kinds. For each place in
the source that refuses something, there is one in which this place does
nothing: a verifier that lacks the check. WRONG lists others, each with a
misunderstanding that an implementer may well have: without them no case that must
be accepted would be killed, and none that two checks refuse alike.

A mutant that drops a check can only matter to a case in which the check speaks,
so each case is run against the mutants of the places at which something was
refused while it was answered.
"""

import ast
import os
import sys

# (module, what stands there, what stands there instead, the misunderstanding)
WRONG = [
    ("sets", "def verified(data, signers):\n", "def verified(data, signers):\n    if b'\\n' not in data: raise Refusal('FL1104', '')\n", "the text is signed, white space and all"),
    ("sets", "    artifacts = [root if", "    if members[0][1:2] != b'\\n': raise Refusal('FL1104', '')\n    artifacts = [root if", "a set is written as a producer writes it"),
    ("canon", '"[ \\t\\r\\n]*"', '"[ \\n]*"', "white space is space and line feed"),
    ("canon", '"[ \\t\\r\\n]*"', '"(?:[ \\t\\r\\n]|//[^\\n]*\\n)*"', "comments are white space"),
    ("canon", "-?(?:0|[1-9][0-9]*)", "-?[0-9]+", "a number may begin with zeros"),
    ("canon", "    reader = Reader(text, depth)\n", "    reader = Reader(text.replace(chr(39), chr(34)), depth)\n", "quotation marks may be single"),
    ("canon", "                members.append(self.member(depth))\n        self.expect", "                if self.peek() == \"}\": break\n                members.append(self.member(depth))\n        self.expect", "a comma may come last"),
    ("canon", 'key=lambda m: m[0].encode("utf-16-be")', "key=lambda m: m[0]", "members are sorted by code points"),
    ("canon", 'sorted(value.members, key=lambda m: m[0].encode("utf-16-be"))', "value.members", "members are not sorted"),
    ("canon", 'return "[" + ",".join(form(item) for item in value) + "]"',
     'return "[" + ",".join(sorted(form(item) for item in value)) + "]"', "elements are sorted too"),
    ("canon", '"\\\\u%04x"', '"\\\\u%04X"', "escapes are in upper case"),
    ("canon", 'SHORT = {"\\b": "\\\\b", "\\t": "\\\\t", ', "SHORT = {", "there are three short escapes"),
    ("canon", r'["\\\x00-\x1f]', r'["\\]|[^ -~]', "everything beyond ASCII is escaped"),
    ("canon", """ '"': '\\\\"',""", "", "quotation marks are not escaped"),
    ("canon", "if len(digits) <= point <= 21:", "if len(digits) <= point <= 15:", "large integers have an exponent"),
    ("canon", "if -6 < point <= 0:", "if -4 < point <= 0:", "small numbers have an exponent"),
    ("canon", "if 0 < point <= 21:", "if 0 < point <= 1:", "fractions have an exponent"),
    ("canon", '"%+d"', '"%d"', "exponents have no plus sign"),
    ("canon", 'sign = "-" if value < 0 else ""', 'sign = ""', "numbers have no sign"),
    ("canon", 'return "0"', 'return "0.0"', "zero has a fraction"),
    ("canon", '{True: "true", False: "false", None: "null"}', '{True: "True", False: "False", None: "None"}', "literals are Python's"),
    ("canon", "if depth == self.depth:", "if depth == self.depth - 1:", "63 levels are allowed"),
    ("canon", "    reader = Reader(text, depth)\n", "    if not text.startswith('{') and not text.startswith('['): raise Refusal('FL1002', '')\n    reader = Reader(text, depth)\n", "a text is an object or an array"),
    ("canon", '"/": "/", ', "", "a solidus is never escaped"),
    ("canon", "return digits_of(token) == digits_of(repr(value))", "return token == number_form(token)", "numbers are in canonical spelling"),
    ("canon", "return digits_of(token) == digits_of(repr(value))", "return digits_of(token) == digits_of(repr(value)) and abs(value) < 2**53", "numbers are below 2^53"),
    ("canon", "return digits_of(token) == digits_of(repr(value))", "return digits_of(token) == digits_of(repr(value)) and value == int(value)", "numbers are integers"),
    ("canon", "return digits_of(token) == digits_of(repr(value))", "return digits_of(token) == digits_of(repr(value)) and (value == 0 or abs(value) > 1e-300)", "there are no small doubles"),
    ("canon", "return digits_of(token) == digits_of(repr(value))", "return digits_of(token) == digits_of(repr(value)) and abs(value) < 1e300", "there are no large doubles"),
    ("canon", "if not digits:\n        return \"\", 0", "if not digits:\n        return \"0\", len(whole) + int((exponent or \"0\")[:9])", "zero has an exponent"),
    ("canon", 'return digits.rstrip("0"), point', "return digits, point", "zeros at the end are digits"),
    ("canon", "            return ESCAPES[char]", "            return chr(92) + char", "escapes stand for themselves"),
    ("canon", "        return chr(int(digits, 16))", "        return chr(92) + \"u\" + digits", "names and strings are compared as they are spelled"),
    ("canon", '"".join(parts).encode("utf-16", "surrogatepass").decode("utf-16")', '"".join(c for c in "".join(parts) if not "\\ud800" <= c <= "\\udfff")', "surrogates are dropped"),
    ("canon", '"".join(parts).encode("utf-16", "surrogatepass").decode("utf-16")', '__import__("unicodedata").normalize("NFC", "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16"))', "strings are normalised"),
    ("canon", "    if len(set(names)) != len(names):", "    names = [n.lower() for n in names]\n    if len(set(names)) != len(names):", "names that differ by case are equal everywhere"),
    ("canon", "    value = parse(decode(data))\n    strict(value)\n    return form", "    value = parse(decode(data))\n    strict(value)\n    if isinstance(value, str): raise Refusal('FL1006', '')\n    return form", "a canonical form is of objects and arrays"),

    ("artifact", "    for name in value.names():\n        if name not in names:", "    if value.names() != names[: len(value.names())] and what == 'an artifact': raise Refusal('FL1007', '')\n    for name in value.names():\n        if name not in names:", "members are in the order of the page"),
    ("artifact", "{0,62}", "{0,61}", "a name has 62 characters"),
    ("artifact", "[A-Za-z0-9][A-Za-z0-9._-]", "[a-z0-9][a-z0-9-]", "names are DNS labels"),
    ("artifact", "RESERVED.fullmatch(", "RESERVED.match(", "names must not begin like a reserved one"),
    ("artifact", "com[0-9]|lpt[0-9]", "com[0-9]?|lpt[0-9]?", "com is reserved without its digit"),
    ("artifact", "com[0-9]|lpt[0-9]", "com[0-9]+|lpt[0-9]+", "com10 is reserved"),
    ("artifact", "        self.payload = value.get(\"payload\")", "        self.payload = value.get(\"payload\")\n        if isinstance(self.payload, list): raise Refusal('FL1010', '')", "a payload is no array"),
    ("artifact", "        self.payload = value.get(\"payload\")", "        self.payload = value.get(\"payload\")\n        if isinstance(self.payload, Number): raise Refusal('FL1010', '')", "a payload is no number"),
    ("artifact", "        self.payload = value.get(\"payload\")", "        self.payload = value.get(\"payload\")\n        if isinstance(self.payload, str) and not isinstance(self.payload, Number): raise Refusal('FL1010', '')", "a payload is no string"),
    ("artifact", "        self.payload = value.get(\"payload\")", "        self.payload = value.get(\"payload\")\n        if self.payload is False: raise Refusal('FL1009', '')", "false is null"),
    ("artifact", "        self.payload = value.get(\"payload\")", "        self.payload = value.get(\"payload\")\n        if isinstance(self.payload, Object) and not self.payload.members: raise Refusal('FL1008', '')", "a payload has members"),
    ("artifact", "        self.payload = value.get(\"payload\")", "        self.payload = value.get(\"payload\")\n        if isinstance(self.payload, Object): gate(peek(self.payload) or '1.0', 'the payload')", "a verifier judges every payload's version"),
    ("artifact", '(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)', ".*", "any text is a version"),
    ("artifact", "29 if calendar.isleap(year) else 28", "28", "February has 28 days"),
    ("artifact", "    if hour > 23 or", "    if year > 2050 or hour > 23 or", "generated_at is near today"),
    ("artifact", "1 <= int(found) <= MAX_VERSION", "1 < int(found) <= MAX_VERSION", "versions begin at 2"),
    ("artifact", "1 <= int(found) <= MAX_VERSION", "1 <= int(found) < MAX_VERSION", "2^53-1 is too large"),
    ("artifact", "return form(Object(rest, 0, 0)).encode(\"utf-8\")", "return __import__('json').dumps({'a': 1}).encode()", "something else is signed"),
    ("artifact", "    for name in value.names():\n        spelled(name, ROUTING)", "    for name in value.names():\n        spelled(name, MEMBERS)", "a probe knows all members"),
    ("artifact", "    present(value, ROUTING,", "    present(value, MEMBERS[:7],", "a probe asks for all members"),
    ("artifact", "    present(value, ROUTING, \"an artifact\")\n    return Core(value)", "    present(value, ROUTING, \"an artifact\")\n    closed(value, MEMBERS, 'an artifact')\n    return Core(value)", "a probe is closed"),
    ("artifact", "    unique(value)\n    for name in value.names():\n        spelled(name, ROUTING)", "    strict(value)\n    for name in value.names():\n        spelled(name, ROUTING)", "a probe is strict"),
    ("artifact", "    return Core(value)", "    core = Core(value)\n    gate(core.schema_version, 'the artifact')\n    return core", "a probe has a gate"),
    ("artifact", "isinstance(found, Object) and found.names() == [\"ctrl\"]", "isinstance(found, Object) and found.names() == [\"ctrl\"] and isinstance(found.get('ctrl'), Object)", "a probe looks inside ctrl"),
    ("artifact", "    if isinstance(found, Object) and found.names() == [\"ctrl\"]:\n        return \"ctrl\"", "    if isinstance(found, Object) and found.names() == [\"ctrl\"]:\n        return \"mgmt\"", "there is one plane"),

    ("trust", "    if lowered.endswith(\".\"):\n        lowered = lowered[:-1]\n", "    lowered = lowered.rstrip(\".\")\n", "all dots at the end are tolerated"),
    ("trust", "    if not lowered.endswith(suffix):\n", "    if not lowered.endswith(suffix):\n        return \"spiffe://%s/service/%s\" % (domain, lowered)\n", "every name is one of a service here"),
    ("trust", "segments[:0:-1]", "segments[1:]", "a hostname has the order of the ID"),
    ("trust", "    host = \".\".join(segments[:0:-1] + [domain, \"rete\"]).lower()", "    host = \".\".join(segments[:0:-1] + [domain, \"rete\"])", "a hostname keeps its case"),
    ("trust", "    host = \".\".join(segments[:0:-1] + [domain, \"rete\"]).lower()", "    host = \".\".join(segments[:0:-1] + [domain]).lower()", "a hostname does not end in rete"),
    ("trust", "not in (\"service\", \"vertex\")", "not in (\"service\",)", "a vertex has no hostname"),
    ("trust", "c.lower() if c.isascii() else c for c in host", "c for c in host", "a hostname is in lower case"),
    ("trust", "    if lowered.endswith(\".\"):\n        lowered = lowered[:-1]\n", "", "a dot at the end is an error"),
    ("trust", "len(lowered.encode(\"utf-8\")) > 253", "len(lowered.encode(\"utf-8\")) > 252", "a hostname has 252 octets"),
    ("trust", "[domain, \"service\"] + labels[::-1]", "[domain, \"service\"] + labels", "an ID has the order of the hostname"),
    ("trust", "[domain, \"service\"] + labels[::-1]", "[domain] + labels[::-1]", "an ID has no kind"),
    ("trust", "return first <= now <= last", "return first < now <= last", "a window does not include its beginning"),
    ("trust", "return first <= now <= last", "return first <= now < last", "a window does not include its end"),
    ("trust", "    first, last = window(cert)\n    return max(first, window(ca)[0]) <= min(last, window(ca)[1])", "    return window(ca)[0] <= window(cert)[0]", "a certificate does not begin before its CA's"),
    ("trust", "    first, last = window(cert)\n    return max(first, window(ca)[0]) <= min(last, window(ca)[1])", "    now = datetime.datetime(2026, 4, 20, 12, tzinfo=datetime.timezone.utc)\n    return valid_at(ca, now)", "the CA is valid now"),
    ("trust", "    return Signer(plane, identity, key,", "    now = datetime.datetime(2026, 4, 20, 12, tzinfo=datetime.timezone.utc)\n    if plane == 'mgmt' and not valid_at(cert, now): raise Refusal('FL1106', '')\n    return Signer(plane, identity, key,", "every mgmt signer is valid now"),
    ("trust", "    return Signer(plane, identity, key,", "    now = datetime.datetime(2026, 4, 20, 12, tzinfo=datetime.timezone.utc)\n    if plane == 'ctrl' and not valid_at(cert, now): raise Refusal('FL1106', '')\n    return Signer(plane, identity, key,", "every ctrl signer is valid now"),
    ("trust", "SIGNER_OF = {\"mgmt\": \"management-plane\", \"ctrl\": \"control-plane\"}", "SIGNER_OF = {\"mgmt\": \"management-plane\", \"ctrl\": \"management-plane\"}", "signers of both planes are management planes"),
    ("trust", "    signers = []\n", "    signers = []\n    if len(block['authorized_mgmt_signers']) > 1: raise Refusal('FL1115', '')\n", "there is one signer"),

    ("payload", "1 <= interval <= 24", "1 < interval <= 24", "a poll interval is over 1 s"),
    ("payload", "interval <= 24 * 3600", "interval < 24 * 3600", "a poll interval is under 24 h"),
    ("payload", "    at, total = 0, 0.0\n", "    at, total = 0, 0.0\n    if not DURATION.fullmatch(text): return None\n", "a duration has one unit"),
    ("payload", "DURATION = re.compile(r\"([0-9]+\\.?[0-9]*|\\.[0-9]+)", "DURATION = re.compile(r\"([0-9]+)", "a duration has no fraction"),
    ("payload", "if bracketed != (ip.version == 6) or", "if ip.version == 6 or", "addresses are IPv4"),
    ("payload", "    for workload in p[\"workloads\"]:\n        check_workload", "    if not p['workloads']: raise Refusal('FL1303', '')\n    for workload in p[\"workloads\"]:\n        check_workload", "an inventory is not empty"),
    ("payload", "    need(p, \"schema_version\", \"trust\",", "    raise Refusal('FL1301', '')\n    need(p, \"schema_version\", \"trust\",", "no agent payload is good"),
    ("payload", "in (\"tcp\", \"embedded\")", "in (\"tcp\",)", "embedded serves nothing"),
    ("payload", "    if p[\"kind\"] == \"link\":\n        vertex.check_link()", "    vertex.check_link()", "the rules of link hold for mesh"),
    ("payload", "    need(p[\"transport_endpoint\"], \"type\")", "    need(p, 'links', 'ingress', 'egress', 'revoked')\n    need(p[\"transport_endpoint\"], \"type\")", "a vertex payload has all its tables"),
    ("payload", "    need(p[\"transport_endpoint\"], \"type\")", "    if 'revoked' in p: raise Refusal('FL1301', '')\n    need(p[\"transport_endpoint\"], \"type\")", "a vertex payload has no revoked"),

    ("sets", "    if by_held:\n        if not by_own:", "    if by_held:\n        raise by_held\n        if not by_own:", "there is no way back"),
    ("sets", "    by, by_held = attempt(held.judge, held.signers, root)", "    if not held.signers: raise Refusal('FL1101', '')\n    by, by_held = attempt(held.judge, held.signers, root)", "something is held"),
    ("sets", "    if by_own and not by_held:", "    if held.retired and by_held: raise by_held\n    if by_own and not by_held:", "a retired key closes the way back"),
    ("sets", "        if by_own:\n            raise more_telling", "        if by_held.code == 'FL1106': raise by_held\n        if by_own:\n            raise more_telling", "an expired held certificate ends it"),
    ("sets", "    payload, signers = own\n", "    payload, signers = own\n    if by_held is None and {s.pubkey for s in signers} - {s.pubkey for s in held.signers}: raise Refusal('FL1107', '')\n", "a root adds nobody"),
    ("sets", "    payload, signers = own\n", "    payload, signers = own\n    if by_held is None and {s.pubkey for s in held.signers} - {s.pubkey for s in signers}: raise Refusal('FL1107', '')\n", "a root drops nobody"),
    ("sets", "        by = root.signature.verify(of_plane(signers, \"mgmt\"), root.signed)", "        by = root.signature.verify(of_plane(signers, \"mgmt\")[:1], root.signed)", "the first signer signs"),
    ("sets", "    payload, signers = own\n", "    payload, signers = own\n    if of_plane(signers, 'ctrl'): raise Refusal('FL1112', '')\n", "there are no ctrl signers"),
    ("sets", "    cores = [probe(member) for member in members]\n", "    cores = [probe(member) for member in members]\n    if cores[0].name != 'agent': raise Refusal('FL1202', '')\n", "the root comes first"),
    ("sets", "    cores = [probe(member) for member in members]\n", "    cores = [probe(member) for member in members]\n    if len(cores) == 1: raise Refusal('FL1209', '')\n", "a set has two members"),
    ("sets", "    cores = [probe(member) for member in members]\n", "    cores = [probe(member) for member in members]\n    if len(cores) > 2: raise Refusal('FL1201', '')\n", "a set has at most two members"),
    ("sets", "    cores = [probe(member) for member in members]\n", "    cores = [probe(member) for member in members]\n    if any(c.name != c.name.lower() for c in cores): raise Refusal('FL1013', '')\n", "names are in lower case"),
    ("sets", "signers, retired, now\n", "signers, [k for k in retired if k not in [s.pubkey for s in signers]], now\n", "what is held is not retired"),
    ("sets", "    if version < mark:", "    if version <= mark:", "the mark itself is a replay"),
    ("sets", "    if version - mark > MAX_JUMP:", "    if version - mark >= MAX_JUMP:", "a jump of 2^20 is too far"),

    ("bundle", "    if not files or files[0][0]", "    files.sort(key=lambda f: f[0] != \"manifest.json\")\n    if not files or files[0][0]", "the manifest may be any entry"),
    ("bundle", 'Refusal("FL2204", "an entry is not plain ustar")', 'Refusal("FL2203", "")', "what is no archive is cut short"),
    ("bundle", "    if not zero(archive[at:]):", "    if len(archive) - at != 2 * BLOCK:", "an archive ends in two blocks"),
    ("bundle", "        self.kind, self.link = raw[156:157], text_of(raw[157:257])\n", "        self.kind, self.link = raw[156:157], text_of(raw[157:257])\n        if text_of(raw[265:297]): raise Refusal('FL2205', '')\n", "entries have no owner"),
    ("bundle", "    if (kind == \"node\" or len(segments) == 3) and", "    if", "every principal is of this node by its second segment"),
    ("bundle", "    if not files or files[0][0]", "    raise Refusal('FL2208', '')\n    if not files or files[0][0]", "no bundle is good"),
    ("verify", '"%s %s %s %d %s" % (core.plane, core.node,', '"%s %s %s %d %s" % (core.node, core.plane,', "a routing core begins with the node"),
    ("bundle", "    check_listing(m.entries, files[1:])\n", "    check_listing(m.entries, files[1:])\n    if files[1][0] != 'artifacts/mgmt/agent.json': raise Refusal('FL2209', '')\n", "the root is the second entry"),
]


# The groups of vectors that a module's misunderstandings can show in: those of
# the first row are always tried, as far as they must be accepted; of the second
# what nothing has killed yet.
SHOWS = {
    "canon": (("canonical",), ("canonical", "number", "envelope", "signature")),
    "artifact": (("envelope",), ("envelope", "route", "version", "set")),
    "trust": (("hostname", "trust", "signer"), ("hostname",)),
    "payload": (("agent-payload", "vertex-payload"), ()),
    "sets": (("trust", "mark", "set"), ("trust", "envelope", "signature")),
    "bundle": (("bundle",), ("bundle",)),
    "verify": ((), ("route",)),
}


class Dropped:
    """A module's syntax tree, from which one raise statement is taken at a time."""

    def __init__(self, path):
        self.path, self.tree, self.places = path, ast.parse(source(path)), []
        for node in ast.walk(self.tree):
            for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
                if isinstance(body, list):
                    self.places += [(body, at) for at, statement in enumerate(body) if isinstance(statement, ast.Raise)]

    def without(self, line):
        """The module's code without the raise statement at a line."""
        body, at = next((b, i) for b, i in self.places if b[i].lineno <= line <= b[i].end_lineno)
        statement, body[at] = body[at], ast.copy_location(ast.Pass(), body[at])
        code = compile(self.tree, self.path, "exec")
        body[at] = statement
        return code


def source(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Mutants:
    def __init__(self, here, sources, verifier):
        self.here, self.sources, self.verifier, self.trees = here, sources, verifier, {}

    def path(self, module):
        return os.path.join(self.here, module + ".py")

    def without(self, place):
        """The verifier without what it refuses at a place."""
        module, line = place
        if module not in self.trees:
            self.trees[module] = Dropped(self.path(module))
        return self.verifier({**self.sources, module: self.trees[module].without(line)})

    def wrong(self, module, old, new):
        text = source(self.path(module))
        if text.count(old) < 1:
            raise SystemExit("mutants.py: %r is not in %s.py" % (old, module))
        code = compile(text.replace(old, new, 1), self.path(module), "exec")
        return self.verifier({**self.sources, module: code})


def refusals(verifier, directory, cases):
    """For each place that refuses, the cases during which it spoke."""
    places = {}
    for case in cases:
        spoke = []
        watch(verifier.canon.Refusal, spoke)
        verifier.answer(os.path.join(directory, case["name"]))
        for place in dict.fromkeys(spoke):
            places.setdefault(place, []).append(case)
    return places


def watch(refusal, spoke):
    def __init__(self, code, words):
        frame = sys._getframe(1)
        spoke.append((os.path.basename(frame.f_code.co_filename)[:-3], frame.f_lineno))
        Exception.__init__(self, words)
        self.code = code

    refusal.__init__ = __init__


def hunters_of(module, cases, killed):
    """The cases that a misunderstanding is tried on."""
    always, alive = SHOWS[module]
    found = []
    for case in cases:
        group = case["name"].split("/")[0]
        if group in always and case["expect"] == "accept" or group in alive and not killed[case["name"]]:
            found.append(case)
    return found


# Refusals behind which another one stands, with the same code for every text: to
# take them out changes nothing.
HARMLESS = [
    ("canon", "a name is due at", "what is no string is refused where strings are read"),
    ("sets", "the key of %s is retired", "a signer has to be listed in its own block, and a block with a retired key is refused"),
]


def harmless(here):
    """The names of their mutants."""
    names = []
    for module, words, _ in HARMLESS:
        with open(os.path.join(here, module + ".py"), encoding="utf-8") as file:
            lines = [n for n, line in enumerate(file, 1) if words in line]
        names += ["%s.py:%d refuses nothing" % (module, n) for n in lines]
    return names


def run(directory, cases, sources, verifier, good):
    here = os.path.dirname(os.path.abspath(__file__))
    mutants = Mutants(here, sources, verifier)
    killed = {case["name"]: [] for case in cases}
    alive = []

    def hunt(name, mutant, hunters):
        hits = [c["name"] for c in hunters if not good(c, mutant.answer(os.path.join(directory, c["name"])))]
        for hit in hits:
            killed[hit].append(name)
        if not hits:
            alive.append(name)

    for place, hunters in sorted(refusals(verifier(sources), directory, cases).items()):
        hunt("%s.py:%d refuses nothing" % place, mutants.without(place), hunters)
    for module, old, new, idea in WRONG:
        hunt(idea, mutants.wrong(module, old, new), hunters_of(module, cases, killed))
    for case in cases:
        print("%s\t%s" % (case["name"], "; ".join(killed[case["name"]]) or "SURVIVED ALL"))
    alive = [name for name in alive if name not in harmless(here)]
    for name in alive:
        print("mutant alive\t%s" % name)
    survivors = [name for name, by in killed.items() if not by]
    print("%d cases, %d killed by no mutant; %d mutants alive" % (len(cases), len(survivors), len(alive)))
    return 1 if survivors or alive else 0
