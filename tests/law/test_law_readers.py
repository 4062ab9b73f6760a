"""Nothing is skipped in silence: whatever is unknown at any place of an input is refused by name, or listed.

Every sample is valid; each mutation adds one thing that no reader knows, and the message must name it. Places that
change no answer are listed by the reader, each with its reason.
"""

import copy
import json
import runpy
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from reference.click_elements import ARGUMENTS
from reference.jmt_files import JMVA, full
from reference.jmt_net_files import coloured
from reference.pnml_files import SAMPLES
from reference.random_kinds import GIVEN

import npexplore
from npexplore.cli.schema import SCHEMAS
from npexplore.designs import design
from npexplore.designs.raw.layouts import load_layout
from npexplore.errors import InputError, NpexploreError
from npexplore.golden.classify.rule_files import classbench_rules, load_rules
from npexplore.golden.elements import ELEMENTS
from npexplore.golden.elements.base import Place
from npexplore.golden.elements.filters import expression
from npexplore.golden.router.configuration import load_router
from npexplore.hardware.lowering import lower_program
from npexplore.hardware.shapes import Whole
from npexplore.machine.described.part_files import PartFile
from npexplore.machine.described.parts import Parts
from npexplore.machine.mixes import MixFile
from npexplore.machine.petri import pnml, read_pnml
from npexplore.machine.petri.description import load_net
from npexplore.machine.step_programs import StepProgram, compile_steps
from npexplore.networks import jmt_file
from npexplore.networks.description import load_network
from npexplore.networks.jmt import read_jsimg
from npexplore.networks.jmt_net import IRRELEVANT as OF_NETS
from npexplore.networks.jmt_net import read_jmt_net
from npexplore.networks.jmva import read_jmva
from npexplore.packets import pcapng
from npexplore.paths import share
from npexplore.strict_input import Entry
from npexplore.toml import decode

UNKNOWN = "zzunknown"
MOST = 400  # mutations of one file

XML: dict[str, tuple[str, Callable, object]] = {
    "full.jsimg": (full(), read_jsimg, jmt_file),
    "mine.jmva": (JMVA, read_jmva, jmt_file),
    "net.jsimg": (coloured(), read_jmt_net, SimpleNamespace(IRRELEVANT=OF_NETS, _title=jmt_file._title)),
    **{f"{name}.pnml": (text, read_pnml, pnml) for name, text in SAMPLES.items()},
}


def is_listed(chain, module):
    """Say whether a place is irrelevant: what it is in, from the outermost in, and the part's own name last."""
    titles = [module._title(one.tag.rpartition("}")[2], one.attrib)[0] for one in chain]
    kinds = [one.tag.rpartition("}")[2] for one in chain]
    for k, (key, kind) in enumerate(zip(titles, kinds, strict=True)):
        inside = {part for place in (key, kind, "*") for part in module.IRRELEVANT.get(place, ())}
        if "*" in inside or (k + 1 < len(chain) and {titles[k + 1], kinds[k + 1]} & inside):
            return True
    return False


def places(root):
    """Yield the chain of elements down to each element."""

    def below(chain):
        yield chain
        for child in chain[-1]:
            yield from below([*chain, child])

    yield from below([root])


def mutations(text):
    """Yield (chain of elements, kind of mutation, text) for elements of a document, at most MOST by a seeded draw."""
    namespace = ElementTree.fromstring(text).tag.partition("}")[0].lstrip("{") if text.find("xmlns=") > 0 else ""
    tag = f"{{{namespace}}}{UNKNOWN}" if namespace else UNKNOWN
    count = sum(1 for _ in places(ElementTree.fromstring(text)))
    changes = [(k, what) for k in range(count) for what in ("element", "attribute", "text", "foreign element")]
    for k, what in Random(1).sample(changes, min(MOST, len(changes))):
        root = ElementTree.fromstring(text)
        chain = next(chain for n, chain in enumerate(places(root)) if n == k)
        one = chain[-1]
        if what == "element":
            one.insert(len(one) // 2, ElementTree.Element(tag, name="x"))
        elif what == "attribute":
            one.set(UNKNOWN, "1")
        elif what == "foreign element":
            one.append(ElementTree.Element("{urn:elsewhere}" + UNKNOWN))
        elif len(one) and not (one.text or "").strip():
            one.text = UNKNOWN
        else:
            continue
        yield chain, what, ElementTree.tostring(root, encoding="unicode")


def refusal(read, path):
    """Return what a reader says against a file, "" if it reads it."""
    try:
        read(path)
    except InputError as error:
        return str(error)
    return ""


def silent(path, name):
    """Return the mutations of a sample that its reader passes over, and how many were tried."""
    text, read, module = XML[name]
    path, tried, passed_over = path / name, 0, []
    path.write_text(text)
    assert not refusal(read, path)
    for chain, what, changed in mutations(text):
        path.write_text(changed)
        told, tried = refusal(read, path), tried + 1
        if is_listed(chain, module):
            assert not told, told
        elif UNKNOWN not in told or not told.startswith(f"{name}:"):
            passed_over.append((what, "/".join(one.tag for one in chain), told))
    return passed_over, tried


@pytest.mark.parametrize("name", XML)
def test_whatever_is_unknown_in_xml_is_refused_by_its_name(name, tmp_path):
    passed_over, tried = silent(tmp_path, name)
    assert not passed_over
    assert tried > 25


# ---- TOML: every table of every kind of file that has a schema


def toml(value):
    """Return a value as TOML writes it inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


def tables(value, place=()):
    """Yield the place of every table inside, from the outermost in."""
    if isinstance(value, dict):
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from tables(part, (*place, key))


def strings(value, place=()):
    """Yield the place of every text inside."""
    if isinstance(value, str):
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from strings(part, (*place, key))


def changed(document, place, change):
    """Return a copy of a document in which something is changed at a place."""
    new = copy.deepcopy(document)
    inside = new
    for key in place[:-1]:
        inside = inside[key]
    if place:
        inside[place[-1]] = change(inside[place[-1]])
        return new
    return change(new)


DOCUMENTED = (
    "name ="
    + (Path(__file__).parents[2] / "docs/machine_files.md")
    .read_text(encoding="utf-8")
    .partition("```toml\nname =")[2]
    .partition("```")[0]
)


def read_part(path):
    """Read a part and make it, as a machine that names it does."""
    file = decode(path.read_bytes(), PartFile, path)
    given = GIVEN.get(path.stem, GIVEN["hash_unit"])(Random(1))
    Parts({path.name: file}).build(path.name, "thing", given)


KINDS = {  # kind of file -> (its reader, one text, places whose keys are names of the user's own)
    "network": (load_network, "closed_multiclass", {"choose"}),
    "net": (load_net, "polling_server", {"constant", "place", "index", "feed"}),
    "router": (load_router, "office", ()),
    "rules": (load_rules, "edge", ()),
    "layout": (load_layout, "v5", ()),
    "machine": (design, "documented", {"set"}),
    "mix": (lambda path: decode(path.read_bytes(), MixFile, path), "imix", ()),
    "part": (read_part, "hash_unit", {"values"}),
}
FOLDERS = {"network": "networks", "net": "nets", "router": "routers", "layout": "raw", "mix": "mixes", "part": "parts"}


def document_of(kind):
    name = KINDS[kind][1]
    if name == "documented":
        return tomllib.loads(DOCUMENTED)
    return tomllib.loads(share("models", FOLDERS.get(kind, kind), f"{name}.toml").read_text(encoding="utf-8"))


def test_every_schema_has_its_law():
    assert set(KINDS) == set(SCHEMAS)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_unknown_in_toml_is_refused_by_its_name(kind, tmp_path):
    read, _, names = KINDS[kind]
    document, path = document_of(kind), tmp_path / f"{kind}.toml"
    for beside in share("models", FOLDERS.get(kind, "rules")).glob("*.txt"):
        (tmp_path / beside.name).write_bytes(beside.read_bytes())

    def told(new):
        path.write_text("\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in new.items()), encoding="utf-8")
        return refusal(read, path)

    assert not told(document)
    for place in tables(document):
        if place[-1:] and place[-1] in names:
            continue
        for value in (1, {UNKNOWN: "x"}):
            message = told(changed(document, place, lambda table, value=value: {**table, UNKNOWN: value}))
            assert UNKNOWN in message, (place, message)


ELSEWHERE = {"ddr_sdram", "dram_devices"}  # tables of timings, which other schemas have
PLACES_OF_A_FILE = {"machine": 40}  # of the others: all


def bundled(kind):
    """Yield every file of a kind that comes with the package."""
    folder = share("models", {"rules": "rules", "machine": "machines"}.get(kind) or FOLDERS[kind])
    yield from (path for path in sorted(folder.glob("*.toml")) if path.stem not in ELSEWHERE)


def passed_over(kind, read, beside):
    """Return the places of bundled files where a reader passes over an unknown key, and how many were tried."""
    wrong, tried, names = [], 0, KINDS[kind][2]
    for file in bundled(kind):
        assert not refusal(read, file), file  # no false refusal
        document, path = tomllib.loads(file.read_text(encoding="utf-8")), beside / file.name
        found = [place for place in tables(document) if not (place[-1:] and place[-1] in names)]
        for place in Random(44).sample(found, min(len(found), PLACES_OF_A_FILE.get(kind, len(found)))):
            new = changed(document, place, lambda table: {**table, UNKNOWN: {UNKNOWN: "x"}})
            path.write_text("\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in new.items()), encoding="utf-8")
            message, tried = refusal(read, path), tried + 1
            wrong += [] if UNKNOWN in message and file.stem in message else [(file.name, place, message)]
        path.unlink()
    return wrong, tried


@pytest.mark.parametrize(("kind", "least"), {
    "network": 250, "net": 40, "router": 20, "rules": 15, "layout": 120, "mix": 28, "part": 130, "machine": 300,
}.items())  # fmt: skip
def test_every_bundled_file_is_read_and_what_is_unknown_in_it_refused(kind, least, tmp_path):
    for beside in share("models", FOLDERS.get(kind, "rules")).glob("*.txt"):
        (tmp_path / beside.name).write_bytes(beside.read_bytes())
    wrong, tried = passed_over(kind, KINDS[kind][0], tmp_path)
    assert not wrong
    assert tried >= least


def test_a_toml_reader_that_skips_is_caught(tmp_path):
    def skips(path):
        known = tomllib.loads(path.read_text(encoding="utf-8"))
        known.pop(UNKNOWN, None)
        decode("\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in known.items()).encode(), MixFile, path)

    wrong, tried = passed_over("mix", skips, tmp_path)
    assert 0 < len(wrong) < tried


def test_whatever_is_unknown_in_a_formula_is_refused_by_its_name(tmp_path):
    document, path, tried = tomllib.loads(DOCUMENTED), tmp_path / "machine.toml", 0

    def build(path):
        design(path).bounds(npexplore.workload(packet_bytes=64))

    for place in strings(document):
        text = changed(document, place, lambda text: text)
        for key in place:
            text = text[key]
        if not text.startswith("=") and place[-1] != "program":
            continue
        for more in (f" + {UNKNOWN}", f" + p.{UNKNOWN}", f" + {UNKNOWN}(1)") if text.startswith("=") else (
            f"\nm.{UNKNOWN}.compute(cycles=1)\n", f"\nm.me.{UNKNOWN}(cycles=1)\n", f"\n{UNKNOWN}(1)\n",
        ):  # fmt: skip
            new = changed(document, place, lambda text, more=more: text.rstrip() + more)
            path.write_text("\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in new.items()), encoding="utf-8")
            assert UNKNOWN in refusal(build, path), (place, more)
            tried += 1
    assert tried > 5


# ---- Click's elements and expressions, lines of rules and routes


@pytest.mark.parametrize("name", ELEMENTS)
def test_whatever_is_unknown_in_an_element_is_refused_by_its_name(name):
    kind = ELEMENTS[name]
    devices = ("FromSwitch", "ToSwitch", "InfiniteSource", "RatedSource")  # which take a text of the user's own
    for more in (f"{UNKNOWN.upper()} 1", *([] if name in devices else [UNKNOWN])):
        if "*" in kind.IRRELEVANT:
            kind(name, [*ARGUMENTS.get(name, []), more], Place("t", 1))
            continue
        with pytest.raises(InputError) as caught:
            kind(name, [*ARGUMENTS.get(name, []), more], Place("t", 1))
        assert UNKNOWN in str(caught.value).lower() or "arguments, got" in str(caught.value)


EXPRESSIONS = (
    "src host 1.2.3.4",
    "tcp port 80",
    "ip proto udp",
    "ip ttl > 3",
    "icmp type echo",
    "tcp opt syn",
    "ip frag",
)


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("more", [UNKNOWN, "~ 3", "& 3", "| 3", "=~ 3", f"and {UNKNOWN}", f"&& src {UNKNOWN}"])
def test_whatever_is_unknown_in_an_expression_is_refused(text, more):
    with pytest.raises(InputError) as caught:
        expression(f"{text} {more}")
    word = UNKNOWN if UNKNOWN in more else more.split()[0]
    assert word in str(caught.value) or f"got {word.removeprefix('=')!r}" in str(caught.value)  # =~ reads as = and ~


def test_whatever_is_unknown_in_lines_of_rules_and_routes_is_refused(tmp_path):
    line = "@10.0.0.0/8 11.0.0.1/32 0 : 65535 80 : 80 0x06/0xFF 0x0000/0x0000"
    words = line.split()
    for k in range(len(words) + 1):
        with pytest.raises(InputError, match=UNKNOWN):
            classbench_rules([" ".join([*words[:k], UNKNOWN, *words[k:]])], "r")
    routes = tmp_path / "routes.txt"
    for text in ("20.0.0.0/8 via 10.0.0.2 " + UNKNOWN, f"20.0.0.0/8 {UNKNOWN} 10.0.0.2", f"{UNKNOWN} via 10.0.0.2"):
        routes.write_text(f"20.0.0.0/9 via 10.0.0.2\n{text}\n", encoding="utf-8")
        port = 'name = "p0"\naddress = "10.0.0.1/24"\nmac = "02:00:00:00:00:10"\npeer_mac = "02:00:00:00:01:10"'
        (tmp_path / "r.toml").write_text(f'[routes]\nfile = "routes.txt"\n[[port]]\n{port}\n', encoding="utf-8")
        assert UNKNOWN in refusal(load_router, tmp_path / "r.toml")


STATEMENTS = (
    f"{UNKNOWN}(c.port)", f"c.out = c.{UNKNOWN}", f"import {UNKNOWN}", f"c.out = c.port.{UNKNOWN}", f"global {UNKNOWN}",
    f"c.out = (lambda {UNKNOWN}: 1)(2)", f"c.out = c.port if {UNKNOWN} else 2", f"c.out += {UNKNOWN}",
    f"c.out = [x for x in range({UNKNOWN})]", f"c.out = {UNKNOWN}(c.port, k=1)", f"c.out = int.{UNKNOWN}(3)",
    f"while c.{UNKNOWN}: c.out = 1", "c.out = c.port @ 3", "c.out = c.port ** 2", "with c: pass", "del c.out",
    "yield 3", "async def f(): pass", "match c.port:\n        case 1: c.out = 2", "print(c.port)",
)  # fmt: skip


@pytest.mark.parametrize("line", STATEMENTS, ids=range(len(STATEMENTS)))
def test_whatever_hardware_has_no_form_for_in_a_step_program_is_refused(line, tmp_path):
    path = tmp_path / "own.py"
    path.write_text(f"def only(c):\n    c.out = c.port + 1\n    {line}\n", encoding="utf-8")
    names = runpy.run_path(str(path))
    program = StepProgram("p", "only")
    program.step()(names["only"])
    begins = {"port": Whole(0, 3), "out": Whole(0, 0)}
    with pytest.raises(NpexploreError, match=r"program 'p', step 'only': .*own.py:3: ") as caught:
        lower_program(compile_steps(program), {}, begins, ["out"])
    word = UNKNOWN if UNKNOWN in line and not line.startswith(("import", "global", "c.out = (lam")) else ""
    assert word in str(caught.value)


def test_rules_of_other_tools_are_refused_by_line():
    tools = (
        "-A FORWARD -p tcp -j ACCEPT",
        "*filter",
        ":INPUT ACCEPT [0:0]",
        "filter parent 1: u32",
        "access-list 1 permit any",
    )
    for text in ("table inet filter {", "define x = 5", 'include "x"', *tools, '{"nftables": []}'):
        with pytest.raises(InputError, match=r"r:2: .* \(rules of other tools, as nftables, .* not read\)"):
            classbench_rules(["# rules", text], "r")


def test_the_site_lists_what_changes_no_answer(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs/_site")
    from registries import registry_pages

    text = registry_pages()["registries/inputs.md"]
    places = {place: parts for module in (jmt_file, pnml, pcapng) for place, parts in module.IRRELEVANT.items()}
    places |= {name: kind.IRRELEVANT for name, kind in ELEMENTS.items()}
    listed = {(place, part, reason) for place, parts in places.items() for part, reason in parts.items()}
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if row.startswith("| `")]
    shown = {(place.strip("`"), part.strip("`"), why) for place, parts, why in rows for part in parts.split(", ")}
    assert {(place, part.rpartition("}")[2], reason) for place, part, reason in listed} <= shown
    assert ("archive", "results", "what JMT measured; `--compare-stored` reads it") in shown


@pytest.mark.parametrize("name", ["mine.jmva", "pm4py.pnml"])
def test_a_reader_that_skips_is_caught(name, tmp_path, monkeypatch):
    monkeypatch.setattr(Entry, "finish", lambda self, irrelevant: None)
    passed_over, tried = silent(tmp_path, name)
    assert len(passed_over) > tried / 2
