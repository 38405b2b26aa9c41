"""JSON as SPEC.md has it: a strict reader (ENV-1), RFC 8785 and ENV-7."""

import re

MAX_ENVELOPE = 4 << 20
MAX_DEPTH = 64
WHITE_SPACE = " \t\r\n"

SPACE = re.compile("[ \t\r\n]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
SPECIAL = re.compile(r'["\\\x00-\x1f]')
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
LITERALS = {"true": True, "false": False, "null": None}


class Refusal(Exception):
    """Something was understood and turned down, with a code of SPEC.md."""

    def __init__(self, code, words):
        super().__init__(words)
        self.code = code


class Number(str):
    """A number as the text spells it."""


class Object:
    """An object's members in the order of the text, and where it stands."""

    def __init__(self, members, start, end):
        self.members, self.start, self.end = members, start, end

    def get(self, name):
        for key, value in self.members:
            if key == name:
                return value
        raise KeyError(name)

    def names(self):
        return [name for name, _ in self.members]

    def has(self, name):
        return name in self.names()


def decode(data, limit=MAX_ENVELOPE):
    """The text of some bytes, without the white space around it."""
    data = data.strip(WHITE_SPACE.encode())
    if len(data) > limit:
        raise Refusal("FL1001", "the text is over its limit of %d bytes" % limit)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal("FL1002", "the text is not UTF-8") from None


def parse(text, depth=MAX_DEPTH):
    """The value of a text; duplicate names and numbers are left to strict()."""
    reader = Reader(text, depth)
    value = reader.value(0)
    reader.space()
    if reader.at != len(text):
        raise Refusal("FL1002", "something follows the text")
    return value


class Reader:
    """Reads values; object, array and string begin at what peek() has seen."""

    def __init__(self, text, depth):
        self.text, self.depth, self.at = text, depth, 0

    def space(self):
        self.at = SPACE.match(self.text, self.at).end()

    def peek(self):
        self.space()
        return self.text[self.at : self.at + 1]

    def expect(self, char):
        if self.peek() != char:
            raise Refusal("FL1002", "%r is due at %d" % (char, self.at))
        self.at += 1

    def value(self, depth):
        char = self.peek()
        if char in ("{", "["):
            if depth == self.depth:
                raise Refusal("FL1005", "the text is nested too deeply")
            return self.object(depth + 1) if char == "{" else self.array(depth + 1)
        if char == '"':
            return self.string()
        for word, meaning in LITERALS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return meaning
        return self.number()

    def object(self, depth):
        start = self.at
        self.at += 1
        members = []
        if self.peek() != "}":
            members.append(self.member(depth))
            while self.peek() == ",":
                self.at += 1
                members.append(self.member(depth))
        self.expect("}")
        return Object(members, start, self.at)

    def member(self, depth):
        if self.peek() != '"':
            raise Refusal("FL1002", "a name is due at %d" % self.at)
        name = self.string()
        self.expect(":")
        return name, self.value(depth)

    def array(self, depth):
        self.at += 1
        items = []
        if self.peek() != "]":
            items.append(self.value(depth))
            while self.peek() == ",":
                self.at += 1
                items.append(self.value(depth))
        self.expect("]")
        return items

    def number(self):
        found = NUMBER.match(self.text, self.at)
        if not found:
            raise Refusal("FL1002", "a value is due at %d" % self.at)
        self.at = found.end()
        return Number(found.group())

    def string(self):
        self.at += 1
        parts = []
        while True:
            found = PLAIN.match(self.text, self.at)
            parts.append(found.group())
            self.at = found.end()
            char = self.text[self.at : self.at + 1]
            self.at += 1
            if char == '"':
                break
            if char != "\\":
                raise Refusal("FL1002", "a string does not end, or has a control character")
            parts.append(self.escape())
        # A pair of escaped surrogates becomes one character, half of one fails.
        try:
            return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise Refusal("FL1002", "half a surrogate pair") from None

    def escape(self):
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char in ESCAPES and char:
            return ESCAPES[char]
        digits = self.text[self.at : self.at + 4]
        if char != "u" or not re.fullmatch("[0-9a-fA-F]{4}", digits):
            raise Refusal("FL1002", "an escape that JSON does not have")
        self.at += 4
        return chr(int(digits, 16))


def strict(value):
    """ENV-1 and ENV-7 at every depth: no name twice, no inexact number."""
    if isinstance(value, Number):
        if not exact(value):
            raise Refusal("FL1015", "number %s is not what its canonical form says" % value)
    elif isinstance(value, list):
        for item in value:
            strict(item)
    elif isinstance(value, Object):
        unique(value)
        for _, item in value.members:
            strict(item)


def unique(value):
    names = value.names()
    if len(set(names)) != len(names):
        raise Refusal("FL1003", "a name is there twice")


def digits_of(number):
    """(digits, point): the magnitude 0.digits * 10^point, without zeros around."""
    mantissa, _, exponent = number.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "", 0
    # No double has an exponent of more digits; Python's int() has a limit too.
    point = int((exponent or "0")[:9]) + len(digits) - len(fraction)
    return digits.rstrip("0"), point


def exact(token):
    value = float(token)
    if value in (float("inf"), float("-inf")):
        return False
    if value == 0 and token.startswith("-"):
        return False
    return digits_of(token) == digits_of(repr(value))


def number_form(token):
    """A double as ECMAScript writes it."""
    value = float(token)
    digits, point = digits_of(repr(value))
    sign = "-" if value < 0 else ""
    if not digits:
        return "0"
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    exponent = "%+d" % (point - 1)
    return sign + digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + "e" + exponent


def string_form(text):
    return '"' + SPECIAL.sub(lambda found: SHORT.get(found[0]) or "\\u%04x" % ord(found[0]), text) + '"'


def form(value):
    """The RFC 8785 form."""
    if isinstance(value, Number):
        return number_form(value)
    if isinstance(value, str):
        return string_form(value)
    if isinstance(value, list):
        return "[" + ",".join(form(item) for item in value) + "]"
    if isinstance(value, Object):
        members = sorted(value.members, key=lambda m: m[0].encode("utf-16-be"))
        return "{" + ",".join(string_form(name) + ":" + form(item) for name, item in members) + "}"
    return {True: "true", False: "false", None: "null"}[value]


def canonical(data):
    """The canonical form of a text, as bytes."""
    value = parse(decode(data))
    strict(value)
    return form(value).encode("utf-8")
