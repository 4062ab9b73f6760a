"""No module imports itself by way of others, or a higher storey; imports in functions and those for types alone count.

Names that a package lists (names.py) are imported by those who take them from there. Methods whose functions stand in a
higher storey ask the border for them by name: those are few, and each is called once.
"""

import ast
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import npexplore
from npexplore.names import listed_imports, registered_function

ROOT = Path(npexplore.__file__).parent
# the imports that close a circle, and why they stay; all of them are for types, or inside the function that needs them
LISTED = {
    ("npexplore.machine.resources.base", "npexplore.machine.visits"): "the types of what a visit is recorded with",
    ("npexplore.programs.records", "npexplore.programs.running"): "a program runs itself on packets",
    ("npexplore.programs.records", "npexplore.programs.result"): "the type of what that returns",
}

# methods whose functions stand in a higher storey
UPPER = ["Design.explain", "Design.formula", "Prediction.plot", "SingleResource.plot", "SolverAnswers.plot"]


def lists_names(node):
    """Say whether a statement lists the public names of a package."""
    return isinstance(node, ast.If) and ast.unparse(node.orelse).startswith(
        "__all__, __getattr__, __dir__ = on_demand("
    )


@cache
def imports():
    """Return the modules of the package, each with those it imports anywhere in its text."""
    files = {
        ".".join(("npexplore", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in ROOT.rglob("*.py")
    }
    graph = {}
    texts = {name: path.read_text() for name, path in files.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    lists = {name: listed_imports(texts[name]) for name, tree in trees.items() if any(map(lists_names, tree.body))}
    for name, tree in trees.items():
        named = set()
        tree.body = [node for node in tree.body if not lists_names(node)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{name} imports relatively"
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= inside if inside <= files.keys() else {node.module, *inside}
                listed = lists.get(node.module, {})
                named |= {listed[alias.name][0] for alias in node.names if alias.name in listed}
        graph[name] = named & files.keys() - {name}
    return graph


def left():
    """Return the imports without the listed ones."""
    return {name: {to for to in others if (name, to) not in LISTED} for name, others in imports().items()}


@cache
def storeys():
    """Return the number of each storey, from the highest, as the import contract lists them."""
    contracts = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {name.strip(): number for number, line in enumerate(layers) for name in line.split("|")}


def storey(name):
    """Return the number of a module's storey; -1 for the border, which is above all."""
    return storeys().get(".".join(name.split(".")[:2]), -1)


def circle(graph):
    """Return the modules of a circle, each imports the next; none if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def leads(start, end):
    """Say whether a module imports another one by way of any others, without the listed imports."""
    seen, waiting, graph = set(), {start}, left()
    while waiting:
        seen |= waiting
        waiting = {to for name in waiting for to in graph[name]} - seen
    return end in seen


def test_no_module_imports_itself_by_way_of_others():
    assert circle(left()) == []


def test_no_module_imports_a_higher_storey():
    upward = [(name, to) for name, others in imports().items() for to in others if 0 <= storey(to) < storey(name)]
    assert not upward


def test_a_circle_that_stays_is_inside_a_storey():
    assert len(LISTED) <= 3
    assert all(storey(name) == storey(to) >= 0 for name, to in LISTED)


def test_functions_of_higher_storeys_are_registered_for_the_methods_that_call_them():
    calls = {
        (f"{kind.name}.{method.name}", ast.unparse(node.args[0]))
        for path in ROOT.rglob("*.py")
        if "registered_function(" in (text := path.read_text())
        for kind in ast.walk(ast.parse(text))
        if isinstance(kind, ast.ClassDef)
        for method in kind.body
        if isinstance(method, ast.FunctionDef)
        for node in ast.walk(method)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "registered_function"
    }
    assert calls == {(name, repr(name)) for name in UPPER}
    assert all(callable(registered_function(name)) for name in UPPER)


@pytest.mark.parametrize("listed", LISTED, ids=" imports ".join)
def test_a_listed_import_is_there_and_closes_a_circle(listed):
    name, to = listed
    assert to in imports()[name], "it is gone: strike it from the list"
    assert leads(to, name), "it closes no circle any more: strike it from the list"


def test_imports_for_types_and_inside_functions_count():
    assert "npexplore.golden.diffserv.edge" in imports()["npexplore.golden.router.configuration"]
    assert "npexplore.machine.visits" in imports()["npexplore.machine.resources.base"]
    low, high = "npexplore.golden.router.sides", "npexplore.golden.linux.stages6"
    assert {low, high} <= set(circle(left() | {low: left()[low] | {high}}))
