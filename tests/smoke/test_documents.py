"""README and docs say what is so: their examples run, their commands exist, their links lead somewhere."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import click
import pytest

from npexplore.cli import main, program
from npexplore.designs import design_names

ROOT = Path(__file__).parents[2]
PATTERNS = ("*.md", "docs/*.md", "docs/tutorials/*.md", "[!.]*/README.md")
DOCUMENTS = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
FEWER = {  # the same examples with fewer sets
    "checking.md": {"sets.load_sets()": "sets.load_sets()[:2]", "sets.free(8, ": "sets.free(2, "},
}


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def shorter_examples(path):
    """Examples to be run, with fewer of what takes long."""
    found = blocks(path, "python")
    for usual, few in FEWER.get(path.name, {}).items():
        found = [block.replace(usual, few) for block in found]
    return found


def commands():
    """Those of all pages, but for what another one only adds words to."""
    joined = [block.replace("\\\n", " ") for path in DOCUMENTS for block in blocks(path, "sh")]
    lines = [line for block in joined for line in block.splitlines()]
    found = sorted({line.partition("#")[0].strip() for line in lines if line.startswith("npexplore ")})
    return [line for line in found if not any(longer.startswith(f"{line} ") for longer in found)]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder to write in that has the checkout's data."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    shutil.copy(ROOT / "data" / "programs" / "router.o", tmp_path / "my_xdp.o")  # stands for a program of the reader's
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p, "python")], ids=lambda p: p.name)
def test_examples_run(path, elsewhere, tmp_path, capsys):
    """As a module's text, and its tests as pytest would call them."""
    space = {"__name__": path.stem}
    for block in blocks(path, "toml"):
        if named := re.match(r"# (\w+\.toml)\n", block):  # a file that the examples read
            Path(named[1]).write_text(block)
    for number, block in enumerate(shorter_examples(path)):
        for name in re.findall(r'"([\w.]+\.pcap[\w.]*)"', block):  # stands for a capture of the reader's
            shutil.copy(ROOT / "data" / "captures" / "zeek_wikipedia.pcap", name)
        source = tmp_path / f"{path.stem}_{number}.py"  # a file: hypothesis reads the text of what it draws for
        source.write_text(block)
        before = set(space)
        exec(compile(block, str(source), "exec"), space)
        for name in sorted(set(space) - before):
            if name.startswith("test_"):
                space[name]()


@pytest.mark.slow
@pytest.mark.parametrize("line", commands())
def test_commands_run(line, elsewhere, capsys):
    captures = re.findall(r"(?<=[ =])(?:my|trace)\.pcap[.\w]*", line)  # stand for captures of the reader's
    captures += [f"{folder}one.pcap.gz" for folder in re.findall(r"\b(?:monday|tuesday)/", line)]
    for name in captures:
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "data" / "captures" / "zeek_wikipedia.pcap", name)
    if "key.bin" in line:
        Path("key.bin").write_bytes(bytes(range(32)))
    for block in (block for path in DOCUMENTS for kind in ("toml", "python") for block in blocks(path, kind)):
        if named := re.match(r"# (\w+\.(toml|py))\n", block):  # a file that a page shows
            Path(named[1]).write_text(block)
    if "my_machine.toml" in line:
        shutil.copy(ROOT / "models" / "template" / "toml" / "my_machine.toml", "my_machine.toml")
    if "box.csv" in line:
        shutil.copy(ROOT / "models" / "template" / "box.csv", "box.csv")
    if "./my_router router.toml" in line:  # stands for a program of the reader's
        shutil.copy(ROOT / "models" / "routers" / "through.toml", "router.toml")
        code = "import sys; from npexplore.cli import main; sys.exit(main(['route', '--config', *sys.argv[1:]]))"
        run = f'{shlex.quote(sys.executable)} -c "{code}" "$@"'
        Path("my_router").write_text(f'#!/bin/sh\ncase "$*" in *--in=*) exec {run};; esac\n')
        Path("my_router").chmod(0o755)
    shorter = []
    if line.startswith("npexplore optimise ixp2400"):  # 144 points: the same question of 16
        line = re.sub(r"(--set \w+=[^ ,]+,[^ ,]+)\S*", r"\1", line)
    if line.startswith("npexplore report"):
        shorter = ["--design", "start"]  # each other page has a test of its own
    if line.startswith("npexplore explain smartnic --trace"):
        shorter = ["--no-sensitivity"]  # 50 s each; explain ixp2400 --trace has it
    assert main([*shlex.split(line)[1:], *shorter]) == 0, capsys.readouterr().err


def spans(path, first):
    """What a page's sentences name in backquotes that begins with a word."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(rf"`({first} [^`]+)`", text)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_in_sentences_are_known(path):
    """With their options and files; whole commands stand in blocks of shell, which are run."""
    for line in spans(path, "npexplore"):
        command, words = program(), shlex.split(line)[1:]
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), name := words.pop(0))
            assert command is not None, f"{line}: {name}"
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} - known == set(), line
    for line in spans(path, "python") + spans(path, "pytest"):
        named = [word for word in shlex.split(line) if re.match(r"(tests|benchmarks|docs)/", word)]
        assert [name for name in named if not (ROOT / name).exists()] == [], line


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_stand_in_blocks_that_are_run(path):
    others = re.findall(r"^```(?!sh\n)\w*\n.*?^```", path.read_text(), re.MULTILINE | re.DOTALL)
    assert [line for block in others for line in block.splitlines() if line.startswith("npexplore ")] == []


@pytest.mark.slow
def test_the_readme_shows_what_the_command_says(capsys):
    """All but the numbers, which follow the models."""
    shown = blocks(ROOT / "README.md", "text")[0].splitlines()
    assert main(["explain", "ixp2400", "--trace", "sample:zeek_wikipedia"]) == 0
    said = capsys.readouterr().out.splitlines()
    number = re.compile(r"\d[\d,.]*\d|\d")
    assert [number.sub("0", line) for line in shown] == [number.sub("0", line) for line in said[: len(shown)]]


def test_what_is_made_shorter_stands_in_the_documents():
    texts = {path.name: path.read_text() for path in DOCUMENTS}
    assert [usual for name, some in FEWER.items() for usual in some if usual not in texts[name]] == []


def test_there_are_examples():
    assert len(blocks(ROOT / "README.md", "python")) == 1
    assert len(commands()) >= 3


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text())
    missing = [link for link in links if not link.startswith("http") and not (path.parent / link).exists()]
    assert missing == []


def headings(path):
    """The anchors of a document's headings, as GitHub and the site make them."""
    titles = re.findall(r"^#{1,4} (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_within_documents_lead_to_a_heading(path):
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", path.read_text())
    lost = [f"{to}#{at}" for to, at in links if (to or path.name).endswith(".md")
            and at not in headings(path.parent / to if to else path)]  # fmt: skip
    assert lost == []


def test_accuracy_is_made_of_every_listed_design():
    """The rule takes the machine files, and each is listed by its name; memory is told for all alone."""
    rule = (ROOT / "Makefile").read_text().partition("\naccuracy:")[2].partition("\n\n")[0]
    assert "$(wildcard models/machines/*.toml)" in rule
    assert sorted(path.stem for path in (ROOT / "models" / "machines").glob("*.toml")) == sorted(design_names())


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


def test_what_a_machine_has_for_itself_stands_under_its_name():
    machines = {"ixp2400", "ixp1200", "raw", "soclib", "gorilla"}
    rooms = [f"npexplore/{room}" for room in ("designs", "study/papers", "study/checking/quantities", "plot")]
    for room in (*rooms, "models/machines"):
        assert machines <= {path.stem for path in (ROOT / room).iterdir()}
    files = {path.stem for room in rooms for path in (ROOT / room).rglob("*.py")}
    assert {name for name in files if re.match(rf"({'|'.join(machines)})_", name)} == set()
