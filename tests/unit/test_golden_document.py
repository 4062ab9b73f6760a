"""The golden router's pages say what is so: tables are the code's; every key, field and reason stands there."""

import re

import pytest
from reference.golden_tables import PAGES, PLACES, TABLES, renewed
from reference.kernel_recording import lines_of

from npexplore.golden.captures.routed import forward_captures
from npexplore.golden.router.configuration import load_router, router_schema
from npexplore.paths import share

NAMES = ("golden.md", "router_files.md", "golden_reference.md")
TEXT = "".join((PAGES / name).read_text() for name in NAMES)


@pytest.mark.parametrize("name", TABLES)
def test_table_is_what_the_code_makes(name):
    table = re.search(rf"<!-- table: {name} -->\n(.*?)\n<!-- end", TEXT, re.DOTALL)[1]
    assert table == TABLES[name](), "run python tests/reference/golden_tables.py"


@pytest.mark.parametrize("page", sorted(set(PLACES.values())))
def test_tables_that_differ_would_be_renewed(page):
    text = (PAGES / page).read_text()
    stale = re.sub(r"(?m)^(\|.*)`(MARTIAN_SOURCE|rp_filter)`", r"\1`another`", text)  # in tables alone
    assert stale != text
    assert renewed(stale, page) == renewed(text, page) == text


def test_every_key_of_the_configuration_is_told():
    keys = {key for schema in router_schema()["$defs"].values() for key in schema["properties"]}
    assert {key for key in keys if f"`{key}`" not in TEXT and f"[{key}]" not in TEXT} <= {"port", "neighbour", "route"}
    assert {"[[port]]", "[[neighbour]]", "[[route]]"} <= set(re.findall(r"\[\[\w+\]\]", TEXT))


def test_every_field_of_the_document_is_told():
    capture = share("data", "captures", "zeek_wikipedia.pcap")
    fields = {"config", "compare", *forward_captures(load_router("office"), {"office": capture}).document()}
    told = re.search(r"one document: `([^`]+)`", TEXT)[1].split(", ")
    assert set(told) == fields


def test_the_document_counts_the_recordings():
    told = re.search(r"The recordings hold what Linux (\S+) did with (.*?) cases, of which", TEXT, re.DOTALL)
    heads = [lines_of(suite)[0] for suite in ("named", "random", "ipv6", "configured", "neighbours", "conformance")]
    counts = [head["cases"] for head in heads]
    assert {head["kernel"] for head in heads} == {told[1]}
    told_counts = re.findall(r"(?<!IPv)\b\d[\d,]*\b", told[2])
    found = [int(number.replace(",", "")) for number in told_counts]
    assert found == [*counts, sum(counts)]
