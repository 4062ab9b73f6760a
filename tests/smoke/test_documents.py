"""README and docs say what is so: their examples run, their commands exist, their links lead somewhere."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from npexplore.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("[!.]*/README.md")])


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def commands():
    joined = [block.replace("\\\n", " ") for path in DOCUMENTS for block in blocks(path, "sh")]
    lines = [line for block in joined for line in block.splitlines()]
    return sorted({line.partition("#")[0].strip() for line in lines if line.startswith("npexplore ")})


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder to write in that has the checkout's data."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p, "python")], ids=lambda p: p.name)
def test_examples_run(path, elsewhere, capsys):
    space = {}
    for block in blocks(path, "python"):
        for name in re.findall(r'"([\w.]+\.pcap[\w.]*)"', block):  # stands for a capture of the reader's
            shutil.copy(ROOT / "data" / "captures" / "zeek_wikipedia.pcap", name)
        exec(compile(block, str(path), "exec"), space)


@pytest.mark.slow
@pytest.mark.parametrize("line", commands())
def test_commands_run(line, elsewhere, capsys):
    for name in re.findall(r"(?<=[ =])my\.pcap\b", line):  # stands for a capture of the reader's
        shutil.copy(ROOT / "data" / "captures" / "zeek_wikipedia.pcap", name)
    if "my_machine.toml" in line:
        shutil.copy(ROOT / "models" / "template" / "toml" / "my_machine.toml", "my_machine.toml")
    assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err


def test_there_are_examples():
    assert len(blocks(ROOT / "README.md", "python")) == 1
    assert len(commands()) >= 3


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text())
    missing = [link for link in links if not link.startswith("http") and not (path.parent / link).exists()]
    assert missing == []


def test_make_knows_the_documented_targets():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    documented = {name for path in DOCUMENTS for name in re.findall(r"make ([a-z][a-z-]+)\b *[`#\n]", path.read_text())}
    assert {"report", "test"} <= documented <= targets


def test_every_storey_is_on_the_map():
    text = (ROOT / "docs" / "architecture.md").read_text()
    storeys = {p.name for p in (ROOT / "npexplore").iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert {name for name in storeys if f"`{name}/`" not in text} == set()


def test_every_room_is_on_the_map_and_no_other():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {p.parent.name for p in (ROOT / "npexplore").rglob("__init__.py") if p.parent != ROOT / "npexplore"}
    named = set(re.findall(r"`([a-z0-9_]+)/`", text))
    beside = {p.name for p in ROOT.iterdir() if p.is_dir()}
    assert rooms - named == set()
    assert named - rooms - beside == set()
