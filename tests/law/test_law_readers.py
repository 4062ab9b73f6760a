"""Nothing is skipped in silence: whatever is unknown at any place of an input is refused by name, or listed.

Every sample is valid; each mutation adds one thing that no reader knows, and the message must name it. Places that
change no answer are listed by the reader, each with its reason.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from reference.jmt_files import JMVA, full
from reference.pnml_files import SAMPLES

from npexplore.errors import InputError
from npexplore.machine.petri import pnml, read_pnml
from npexplore.networks import jmt_file
from npexplore.networks.jmt import read_jsimg
from npexplore.networks.jmva import read_jmva
from npexplore.strict_input import Entry

UNKNOWN = "zzunknown"
MOST = 400  # mutations of one file

XML: dict[str, tuple[str, Callable, object]] = {
    "full.jsimg": (full(), read_jsimg, jmt_file),
    "mine.jmva": (JMVA, read_jmva, jmt_file),
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
    """Yield (chain of elements, kind of mutation, text) for every element of a document."""
    namespace = ElementTree.fromstring(text).tag.partition("}")[0].lstrip("{") if text.find("xmlns=") > 0 else ""
    tag = f"{{{namespace}}}{UNKNOWN}" if namespace else UNKNOWN
    count = sum(1 for _ in places(ElementTree.fromstring(text)))
    for k in range(count):
        for what in ("element", "attribute", "text", "foreign element"):
            root = ElementTree.fromstring(text)
            chain = list(places(root))[k]
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
    changes = list(mutations(text))
    for chain, what, changed in Random(1).sample(changes, min(MOST, len(changes))):
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


def test_the_documents_list_what_changes_no_answer():
    rows = Path(__file__).parents[2].joinpath("docs/inputs.md").read_text(encoding="utf-8").splitlines()
    for module in (jmt_file, pnml):
        for place, parts in module.IRRELEVANT.items():
            for part, reason in parts.items():
                shown = (
                    "everything" if part == "*" else f"`{part.partition('}')[2] if part.startswith('@{') else part}`"
                )
                where = "any element" if place == "*" else f"`{place}`"
                assert [r for r in rows if r.startswith(f"| {where} |") and shown in r and r.endswith(f"| {reason} |")]


@pytest.mark.parametrize("name", ["mine.jmva", "pm4py.pnml"])
def test_a_reader_that_skips_is_caught(name, tmp_path, monkeypatch):
    monkeypatch.setattr(Entry, "finish", lambda self, irrelevant: None)
    passed_over, tried = silent(tmp_path, name)
    assert len(passed_over) > tried / 2
