"""Reference pages made from the package: public names, commands, TOML schemas, machines with knobs, parts."""

import ast
import importlib
import json
import re
from pathlib import Path

from sphinx.application import Sphinx

import npexplore
from npexplore.cli import COMMANDS, TRACE_COMMANDS
from npexplore.cli.explain import list_knobs
from npexplore.cli.schema import kinds, schema

PACKAGES = ("npexplore", "npexplore.golden", "npexplore.testing")
ROOMS = (  # whose names beside those have pages of their own, too
    *(f"npexplore.golden.{room}" for room in ("lookup", "classify", "police", "schedule", "diffserv", "elements")),
    *(f"npexplore.packets{room}" for room in ("", ".statistics", ".synthetic")),
    *(f"npexplore.machine.{room}" for room in ("resources", "step_programs", "petri")),
    *(f"npexplore.solve.{room}" for room in ("queueing", "chains", "petri", "machine_chain")),
    "npexplore.ledger",
)
RETURNED = (  # what the functions of npexplore return, and users hold
    "npexplore.designs.base.Design",
    "npexplore.solve.prediction.Prediction",
    "npexplore.machine.workload.Workload",
    "npexplore.machine.machine.Machine",
    "npexplore.packets.capture.Capture",
    "npexplore.study.explaining.explain.Explanation",
    "npexplore.study.optimising.optimise.Optimum",
    "npexplore.study.checking.calibrate.Calibration",
    "npexplore.study.checking.check.Check",
)

ORPHAN = "---\norphan: true\n---\n\n"
BACK = "[All Python names](index.md)\n\n"


def tree(pages: dict[str, str]) -> str:
    """Return the hidden list that hangs the pages of one folder below its index."""
    names = "\n".join(sorted(Path(page).stem for page in pages))
    return f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def used_on_pages() -> list[str]:
    """Return the names, with their modules, that examples import from elsewhere than the packages of the reference."""
    docs, found = Path(__file__).parents[1], set()
    for page in (*docs.glob("*.md"), *docs.glob("tutorials/*.md"), docs.parent / "README.md"):
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("npexplore."):
                    found |= {(str(node.module), one.name) for one in node.names if node.module not in PACKAGES}
    items = [getattr(importlib.import_module(module), name, None) for module, name in sorted(found)]  # None: a module
    rooms = [importlib.import_module(room) for room in ROOMS]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    items = [item for item in items if callable(item) and not any(item is other for other in public)]
    twice = {name for package in PACKAGES for name in importlib.import_module(package).__all__}  # there is one Bench
    return sorted({f"{item.__module__}.{item.__name__}" for item in items if item.__name__ not in twice} - {*RETURNED})


def api_pages() -> dict[str, str]:
    """Return a page a public name, and one that lists them all by package.

    The names hang in no tree: the theme works the whole tree out again for each page, more than half of a build's time
    with them in it.
    """
    pages, lists = {}, []
    shown = {getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2]) for path in RETURNED}
    for package in (*PACKAGES, *ROOMS):
        module = importlib.import_module(package)
        names = [name for name in sorted(module.__all__) if package in PACKAGES or callable(getattr(module, name))]
        names = [name for name in names if getattr(module, name) not in shown]
        shown |= {item for item in (getattr(module, name) for name in names) if callable(item)}
        lists.append(f"## {package}\n\n{module.__doc__.partition(chr(10))[0]}\n\n| name | what it does |\n|---|---|")
        for name in names:
            item, page = getattr(module, name), f"{package}.{name}"
            kind = "class" if isinstance(item, type) else "function" if callable(item) else "data"
            first = (item.__doc__ or "").strip().partition("\n")[0].replace("|", "\\|")
            lists[-1] += f"\n| [`{name}`]({page}.md) | {first} |"
            pages[f"api/{page}.md"] = f"{ORPHAN}# {page}\n\n{BACK}```{{eval-rst}}\n.. auto{kind}:: {page}\n```\n"
    lists.append(
        "## What they return\n\nObjects that functions of `npexplore` return.\n\n| class | what it is |\n|---|---|"
    )
    for path in RETURNED:
        module_name, _, name = path.rpartition(".")
        item = getattr(importlib.import_module(module_name), name)
        first = item.__doc__.strip().partition("\n")[0].replace("|", "\\|")
        lists[-1] += f"\n| [`{name}`]({path}.md) | {first} |"
        pages[f"api/{path}.md"] = f"{ORPHAN}# {name}\n\n{BACK}```{{eval-rst}}\n.. autoclass:: {path}\n```\n"
    lists.append("## What the examples use beside these\n\n| name | what it does |\n|---|---|")
    for path in used_on_pages():
        module_name, _, name = path.rpartition(".")
        item = getattr(importlib.import_module(module_name), name)
        first = (item.__doc__ or "").strip().partition("\n")[0].replace("|", "\\|")
        lists[-1] += f"\n| [`{path.removeprefix('npexplore.')}`]({path}.md) | {first} |"
        kind = "class" if isinstance(item, type) else "function"
        pages[f"api/{path}.md"] = f"{ORPHAN}# {name}\n\n{BACK}```{{eval-rst}}\n.. auto{kind}:: {path}\n```\n"
    listed = "\n\n".join(lists)
    pages["api/index.md"] = f"# Python names\n\n{listed}\n"
    return pages


def command_pages() -> dict[str, str]:
    """Return a page a command, as the command itself tells it."""
    commands = COMMANDS | {f"trace {name}": entry for name, entry in TRACE_COMMANDS.items()}
    pages, rows = {}, ""
    for name, (where, what) in sorted(commands.items()):
        file = name.replace(" ", "_")
        rows += f"| [`{name}`]({file}.rst) | {what} |\n"
        pages[f"cli/{file}.rst"] = f".. click:: {where}\n   :prog: npexplore {name}\n"  # makes the heading as well
    pages["cli/index.md"] = f"# Commands\n\n| command | what it answers |\n|---|---|\n{rows}\n{tree(pages)}"
    return pages


def cell(value: object) -> str:
    """Return a value as a cell of a table."""
    return "" if value is None else str(value).replace("|", "\\|").replace("\n", " ").replace("*", "\\*")


def schema_pages() -> dict[str, str]:
    """Return a page a kind of TOML file: its keys with their types, and the whole JSON Schema below."""
    pages, rows = {}, ""
    for kind, (_, folder, about) in kinds().items():
        shown = json.dumps(schema(kind), indent=1)
        rows += f"| [{kind}]({kind}.md) | {about} | `models/{folder}` |\n"
        pages[f"schemas/{kind}.md"] = (
            f"# {kind} files\n\n{about[0].upper()}{about[1:]}. Examples: `models/{folder}`. "
            f"`npexplore schema {kind}` prints this schema for editors.\n\n```json\n{shown}\n```\n"
        )
    pages["schemas/index.md"] = (
        f"# TOML files\n\n| kind | what it says | examples |\n|---|---|---|\n{rows}\n{tree(pages)}"
    )
    return pages


def machine_pages() -> dict[str, str]:
    """Return a page a listed machine, with everything that can be set on it and the source of each default."""
    pages, rows = {}, ""
    for name in npexplore.design_names():
        design = npexplore.design(name)
        title = design.parameters.file.title
        found = list_knobs(design.parameters)
        rows += f"| [{name}]({name}.md) | {cell(title)} | {len(found)} |\n"
        columns = list(found[0])
        lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(cell(row[column]) for column in columns) + " |" for row in found]
        table = "\n".join(lines)
        pages[f"machines/{name}.md"] = (
            f"# {name}\n\n{title}. The same list as `npexplore explain {name} --knobs` prints.\n\n{table}\n"
        )
    pages["machines/index.md"] = (
        f"# Listed machines\n\n| machine | what it is | knobs |\n|---|---|---|\n{rows}\n{tree(pages)}"
    )
    return pages


def write(app: Sphinx) -> None:
    """Write the pages below docs/made, those that changed only."""
    folder = Path(app.srcdir) / "made"
    pages = api_pages() | command_pages() | schema_pages() | machine_pages()
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in [path for path in folder.rglob("*.*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Join the build, before any page is read."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
