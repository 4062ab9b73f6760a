"""What commands print: JSON's own types, tables for people."""

import json
import math
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

from npexplore.cli.output import cell, emit, facts, note, say, table
from npexplore.errors import InputError
from npexplore.results import plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, None),
        (-math.inf, None),
        (np.float64("nan"), None),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.array([[1.5, math.inf]]), [[1.5, None]]),
        ({np.int64(40): (1, 2)}, {"40": [1, 2]}),
        ({"a": {"b": np.float32(0.5)}}, {"a": {"b": 0.5}}),
        (True, True),
    ],
)
def test_jsonable_holds_only_json_types(value, expected):
    got = plain(value)
    assert got == expected
    assert type(got) is type(expected)


def test_jsonable_refuses_what_has_no_json_form():
    with pytest.raises(TypeError, match="object has no JSON form"):
        plain({"a": object()})


def test_emit_prints_one_document_or_the_text(capsys):
    emit({"rate": math.nan}, "a table", as_json=True)
    assert json.loads(capsys.readouterr().out) == {"rate": None}
    emit({"rate": math.nan}, lambda: "a table", as_json=False)
    assert capsys.readouterr().out == "a table\n"


def test_table_aligns_numbers_right_and_shows_gaps():
    text = table(
        [{"name": "dram", "busy": 0.5}, {"name": "me", "busy": None}], {"name": "resource", "busy": "busy share"}
    )
    assert text.splitlines() == [
        "resource  busy share",
        "--------  ----------",
        "dram             0.5",
        "me                 -",
    ]


def test_a_narrow_table_breaks_texts_at_blanks():
    text = table([{"name": "dram", "mean": 0.5, "about": "a bank is held to the end"}], width=24)
    assert text.splitlines() == [
        "name  mean  about",
        "----  ----  ------------",
        "dram   0.5  a bank is",
        "            held to the",
        "            end",
    ]


def test_columns_that_do_not_fit_stand_below_behind_the_first():
    row = {"name": "dram", "busy": 1234567.0, "blocked share": 7654321.0}
    assert table([row], width=15).splitlines() == [
        "name       busy",
        "----  ---------",
        "dram  1,234,567",
        "",
        "name    blocked",
        "          share",
        "----  ---------",
        "dram  7,654,321",
    ]


@pytest.mark.parametrize("width", [20, 33, 80])
def test_no_line_of_a_table_is_wider_than_wanted(width):
    rows = [{"knob": "threads", "about": "word " * 30, "low": 1.0, "high": 64.0, "source": "Sec. 5.2 of the paper"}] * 3
    wide = table(rows)
    assert max(map(len, wide.splitlines())) > 80
    narrow = table(rows, width=width)
    assert max(map(len, narrow.splitlines())) <= width
    assert narrow.count("word") == wide.count("word")  # nothing is lost


def test_a_very_long_word_is_broken():
    text = table([{"name": "a", "path": "x" * 60}], width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("x") == 60


def test_facts_stand_in_one_column():
    assert facts({"packets": 12345, "mean": 51.25}) == "packets  12,345\nmean     51.25"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (math.nan, "-"),
        (123456.7, "123,457"),
        (0.123456, "0.1235"),
        (False, "no"),
        ({}, "-"),
        ("a\nb", "a b"),
        (1e20, "1e+20"),
    ],
)
def test_cell_is_what_people_read(value, text):
    assert cell(value) == text


def test_a_terminal_gets_whole_words_and_tables_as_they_are(capsys, monkeypatch):
    prose, columns = "the words of a paragraph " * 8, "a   " * 40
    monkeypatch.setenv("COLUMNS", "80")
    emit({}, f"{prose.strip()}\n\n{columns}", as_json=False)
    assert capsys.readouterr().out == f"{prose.strip()}\n\n{columns}\n"  # a file or a pipe: a paragraph a line
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    emit({}, f"{prose.strip()}\n\n{columns}", as_json=False)
    *lines, blank, table_line = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines) == prose.strip()
    assert (blank, table_line) == ("", columns)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_of_any_encoding_is_printed_on(encoding):
    """Signs that it has not are told by others; nothing ends in an error of encoding."""
    code = "import sys; from npexplore.cli import main; sys.argv[1:] = ['schema', '--ro\u2192']; main(); "
    code += "print('\u00b1 \u00b5 \u4e2d')"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False
    )
    assert "--ro->" in found.stderr.decode(encoding)
    assert found.stdout.decode(encoding).strip() == ("+- u ?" if encoding == "ascii" else "\u00b1 \u00b5 ?")


@pytest.mark.parametrize(
    "code", [*range(9), *range(11, 32), *range(127, 160), 0x61C, 0x200E, 0x2028, 0x202E, 0x2066, 0xDC9B]
)
def test_what_commands_a_terminal_or_turns_text_round_is_written_out(code, capsys):
    name = f"a{chr(code)}b"
    say(name)
    note(name)
    print(facts({"file": name}), InputError(name))
    out, err = capsys.readouterr()
    assert chr(code) not in (out + err).replace("\n", "")
    assert "a" in err


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_fault_of_ours(closed):
    line = f"{shlex.quote(sys.executable)} -m npexplore --version {closed}"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
