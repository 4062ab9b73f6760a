"""The border: the public packages with their names, the page that lists them, and imports that do not go through it.

`python tests/reference/public_names.py` writes the lists of docs/api.md anew.
"""

import ast
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import npexplore
from npexplore.machine import KINDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
LISTS = re.compile(r"(<!-- names -->\n).*?(<!-- end -->)", re.DOTALL)
CODE = re.compile(r"^( *)```python[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def public_packages():
    """Return npexplore and its public packages, by the name to import; papers list packages in turn."""
    packages = {"npexplore": npexplore}
    waiting = ["npexplore"]
    while waiting:
        within = waiting.pop()
        for name in packages[within].__all__:
            item = getattr(packages[within], name)
            if isinstance(item, ModuleType):
                packages[f"{within}.{name}"] = item
                waiting += [f"{within}.{name}"] if hasattr(item, "__all__") else []
    return {name: item for name, item in packages.items() if hasattr(item, "__all__")}


def names_page():
    """Return the list of a page: each public package with its first sentence and its names, kinds as one."""
    parts, kinds = [], {kind.__name__ for kind in KINDS.values()}
    for package, module in public_packages().items():
        shown = sorted((name for name in module.__all__ if name not in kinds), key=str.lower)
        names = ", ".join(f"`{name}`" for name in shown)
        names += ", and the class of each kind in `KINDS`" if len(shown) < len(module.__all__) else ""
        parts.append(f"## {package}\n\n{module.__doc__.partition(chr(10))[0]}\n\n{names}\n\n")
    return "".join(parts)


def renewed(text):
    return LISTS.sub(lambda found: found[1] + names_page() + found[2], text)


def blocks(text):
    """Return the Python code of a page."""
    return [re.sub(f"(?m)^{indent}", "", code) for indent, code in CODE.findall(text)]


def deep_imports(source):
    """Return what a Python text imports from npexplore past the border, and what it reads there: `npx.golden.inner`."""
    tree, deep, packages = ast.parse(source), [], public_packages()
    known = {}  # what stands for a public package in the text
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "npexplore":
                    deep += [] if alias.name in packages else [alias.name]
                    known[alias.asname or "npexplore"] = alias.name if alias.asname else "npexplore"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "npexplore":
            module = import_module(node.module)
            public = next((name for name, item in packages.items() if item is module and name == node.module), None)
            for alias in node.names:
                if public is None or alias.name not in packages[public].__all__:
                    deep.append(f"{node.module}.{alias.name}")
                elif f"{public}.{alias.name}" in packages:
                    known[alias.asname or alias.name] = f"{public}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (package := _package(node.value, known, packages)):
            listed = {*packages[package].__all__, "__version__", "__file__", "__doc__", "__all__"}
            deep += [] if node.attr in listed else [f"{package}.{node.attr}"]
    return sorted(set(deep))


def _package(node, known, packages):
    """Return the public package that an expression stands for; None for anything else."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute) and (outer := _package(node.value, known, packages)):
        inner = f"{outer}.{node.attr}"
        return inner if inner in packages else None
    return None


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
