"""Inputs a few edits away from valid ones: tables of TOML, elements of XML, words of a text, bytes of an object.

Values are drawn from grammars: numbers at the edges of formats, words, formulas over names of the file, tables.
"""

import json
import math
import re

from hypothesis import strategies as st

NUMBERS = [0, 1, -1, 2, 3, 64, 255, 65536, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 10**30, -(2**63), 0.5, -0.0]
NUMBERS += [1e-300, 5e-324, 1e30, 1e300, -1e300, math.inf, -math.inf, math.nan]
WORDS = ["", " ", "x", "a" * 300, "0", "-1", "1e400", "nan", "\x1b[2J", "\u202e", "../x", "/dev/null", "é", "%s", "{}"]
FUNCTIONS = ["min", "max", "round", "abs", "ceil", "floor", "ceildiv", "round_up", "int", "len", "sum", "str", "open"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "==", "and"]
LITERALS = ["0", "1", "2", "1e30", "-1", "0.5", "1e999", "9" * 500, "''"]
NAMES = ["p", "packet", "m", "facts", "p.file", "packet.packet_bytes", "__class__", "x", "None", "True"]


def numbers():
    """Return numbers at the edges of formats, and any."""
    return st.one_of(st.sampled_from(NUMBERS), st.integers(-(2**70), 2**70), st.floats())


def formulas(names=()):
    """Return expressions of Python as machine files and nets have them, over names and numbers."""
    leaf = st.one_of(st.sampled_from([*NAMES, *names]), st.sampled_from(LITERALS))

    def larger(inner):
        return st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
            st.builds("{}({})".format, st.sampled_from(FUNCTIONS), inner),
            st.builds("{}({}, {})".format, st.sampled_from(FUNCTIONS), inner, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("{}.{}".format, inner, st.sampled_from(["file", "value", "real", "__dict__", "x"])),
            st.builds("{}[{}]".format, inner, inner),
            st.builds("[{}]".format, inner),
            st.builds("-{}".format, inner),
        )

    return st.recursive(leaf, larger, max_leaves=6)


def odd_values(names=()):
    """Return values of TOML that may stand in another one's place."""
    plain = st.one_of(
        numbers(), st.booleans(), st.sampled_from([*WORDS, *names]), formulas(names), formulas(names).map("= {}".format)
    )
    return st.recursive(
        plain,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "type"]), inner)),
        max_leaves=4,
    )


def toml_text(tables):
    """Return tables as a text of TOML, all of them inline."""
    return "".join(f"{_key(key)} = {_inline(value)}\n" for key, value in tables.items())


def _key(key):
    return json.dumps(key, ensure_ascii=False).replace("\x7f", "\\u007f")


def _inline(value):
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "{" + ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case str():
            return _key(value)
        case _:
            return str(value)


def _places(value, at=()):
    """Return the places of a tree of tables and lists, each with its value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [(at, value)] if at else []
    return found + [one for key, item in items for one in _places(item, (*at, key))]


def _words_of(tables):
    return sorted({str(word) for at, value in _places(tables) for word in (at[-1], value) if isinstance(word, str)})


@st.composite
def edited_tables(draw, tables):
    """Return a TOML text a few edits away from tables: values replaced, keys left out, added, renamed, lists grown."""
    tables, words = json.loads(json.dumps(tables)), [word for word in _words_of(tables) if len(word) < 100]
    for _ in range(draw(st.integers(1, 3))):
        places = _places(tables)
        if not places:
            break
        at, old = draw(st.sampled_from(places))
        home = tables
        for step in at[:-1]:
            home = home[step]
        kind = draw(st.sampled_from(["value"] * 6 + ["word", "gone", "renamed", "twice", "formula"]))
        if kind == "gone":
            del home[at[-1]]
        elif kind == "twice" and isinstance(home, list):
            home.extend([old] * draw(st.integers(1, 3)))
        elif kind == "renamed" and isinstance(home, dict):
            home[draw(st.sampled_from(words))] = home.pop(at[-1])
        elif kind == "word" and isinstance(old, str) and "\n" in old:
            home[at[-1]] = draw(edited_text(old))
        elif kind == "word":
            home[at[-1]] = draw(st.sampled_from(words))
        elif kind == "formula":
            home[at[-1]] = "= " + draw(formulas(words))
        elif isinstance(old, str) and "\n" in old and draw(st.booleans()):
            home[at[-1]] = draw(edited_text(old))
        else:
            home[at[-1]] = draw(odd_values(words))
    return toml_text(tables)


TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@st.composite
def edited_text(draw, text):
    """Return a text a few edits away: words replaced, left out, doubled, exchanged, and numbers at the edges."""
    tokens = TOKEN.findall(text)
    for _ in range(draw(st.integers(1, 4))):
        if not tokens:
            break
        at, other = draw(st.integers(0, len(tokens) - 1)), draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(["number", "word", "gone", "twice", "exchanged", "formula", "line"])):
            case "number":
                here = [k for k, token in enumerate(tokens) if token[:1].isdigit()] or [at]
                tokens[here[at % len(here)]] = str(draw(numbers()))
            case "word":
                tokens[at] = draw(st.one_of(st.sampled_from(WORDS), st.just(tokens[other])))
            case "gone":
                del tokens[at : at + draw(st.integers(1, 5))]
            case "twice":
                tokens[at:at] = tokens[other : other + draw(st.integers(1, 20))] * draw(st.integers(1, 3))
            case "exchanged":
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case "formula":
                tokens[at] = draw(formulas())
            case _:
                tokens[at:at] = ["\n"]
    return "".join(tokens)


VALUE = re.compile(r'(?<==")[^"]*(?=")|(?<=>)[^<>]+(?=<)')
ELEMENT = re.compile(r"<(\w+)[^<>]*/>|<(\w+)[^<>]*>[^<>]*</\2>")


@st.composite
def edited_xml(draw, text):
    """Return an XML text a few edits away: values of attributes and texts replaced, elements left out or doubled."""
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["value", "value", "value", "word", "gone", "twice"]))
        parts = list((VALUE if kind in ("value", "word") else ELEMENT).finditer(text))
        if not parts:
            continue
        part = draw(st.sampled_from(parts))
        match kind:
            case "value":
                new = str(draw(st.one_of(numbers(), st.sampled_from(WORDS))))
            case "word":
                new = draw(st.sampled_from(parts)).group()
            case _:
                new = part.group() * (0 if kind == "gone" else draw(st.integers(2, 4)))
        if kind == "value":
            new = re.sub(r"[<>&\"\x00-\x08\x0b-\x1f]", "", new)
        text = text[: part.start()] + new + text[part.end() :]
    return text


@st.composite
def edited_bytes(draw, data):
    """Return bytes a few edits away: fields of 1 to 8 bytes replaced, pieces left out, doubled, cut off."""
    data = bytearray(data)
    for _ in range(draw(st.integers(1, 5))):
        at, size = draw(st.integers(0, max(len(data) - 1, 0))), draw(st.sampled_from([1, 2, 4, 8]))
        match draw(st.sampled_from(["field", "field", "field", "gone", "twice", "cut"])):
            case "field":
                edge = draw(st.sampled_from([0, 1, -1, 255, 2**15, 2**31 - 1, 2**31, 2**63 - 1, len(data), at]))
                data[at : at + size] = (edge % 2 ** (8 * size)).to_bytes(size, "little")
            case "gone":
                del data[at : at + size]
            case "twice":
                data[at:at] = data[at : at + 64]
            case _:
                del data[max(at, 16) :]
    return bytes(data)
