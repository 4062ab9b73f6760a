"""Reference pages made from the package: public names, commands, TOML schemas, machines with knobs, parts."""

import json
from pathlib import Path
from types import FunctionType, ModuleType

from gallery import gallery_pages
from registries import registry_pages
from sphinx.application import Sphinx

import npexplore
from npexplore.cli import COMMANDS, GROUPS
from npexplore.cli.designs import list_knobs
from npexplore.cli.schema import kinds, schema

KINDS = {ModuleType: "module", type: "class", FunctionType: "function"}

BACK = ":doc:`All Python names <index>`\n\n"


def tree(pages: dict[str, str]) -> str:
    """Return the hidden list that hangs the pages of one folder below its index."""
    names = "\n".join(sorted(Path(page).stem for page in pages))
    return f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def public_packages() -> dict[str, ModuleType]:
    """Return npexplore and its public packages, by the name to import; packages of papers stand in one of them."""
    packages = {"npexplore": npexplore}
    for within in ("npexplore", "npexplore.papers"):
        listed = {f"{within}.{name}": getattr(packages[within], name) for name in packages[within].__all__}
        packages |= {name: item for name, item in listed.items() if hasattr(item, "__all__")}
    return packages


def api_pages() -> dict[str, str]:
    """Return a page a public name, and one that lists them all by package.

    The names hang in no tree: the theme works the whole tree out again for each page, more than half of a build's time
    with them in it. The pages are no Markdown: MyST's `eval-rst` leaves Sphinx's whole environment in each page's tree.
    """
    pages: dict[str, str] = {}
    lists, shown = [], {}
    packages = public_packages()
    for package, module in packages.items():
        first = module.__doc__.partition(chr(10))[0]
        lists.append(f"## {package}\n\n{first}\n\n| name | what it does |\n|---|---|")
        for name in sorted(module.__all__, key=str.lower):
            item, page = getattr(module, name), f"{package}.{name}"
            if page in packages:
                lists[-1] += f"\n| {name} | [below](#{page.replace('.', '')}) |"
                continue
            kind = next((kind for of, kind in KINDS.items() if isinstance(item, of)), "")
            first = cell((item.__doc__ or "").strip().partition("\n")[0]) if kind else "a constant"
            at = shown.setdefault(id(item) if kind else page, page)  # two packages may list a class; it has one page
            lists[-1] += f"\n| [`{name}`]({at}.rst) | {first} |"
            code = f".. auto{kind}:: {item.__name__ if kind == 'module' else page}" if kind else f".. py:data:: {page}"
            if at == page:
                pages[f"api/{page}.rst"] = f":orphan:\n\n{page}\n{'=' * len(page)}\n\n{BACK}{code}\n"
    listed = "\n\n".join(lists)
    pages["api/index.md"] = f"# Python names\n\n[What is public](../../api.md), and what may change.\n\n{listed}\n"
    return pages


def command_pages() -> dict[str, str]:
    """Return a page a command, as the command itself tells it."""
    commands = COMMANDS | {
        f"{group} {name}": entry for group, (listed, _) in GROUPS.items() for name, entry in listed.items()
    }
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
    pages |= registry_pages()
    pages |= gallery_pages(Path(app.srcdir).parent / "reports")
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
