"""No module imports itself by way of others, even where imports inside functions and those for types alone count.

Names that a package lists (names.py) are imported by those who take them from there.
"""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import npexplore
from npexplore.names import listed_imports

ROOT = Path(npexplore.__file__).parent
# the imports that close a circle, and why they stay; all of them are for types, or inside the function that needs them
LISTED = {
    ("npexplore.designs.base", "npexplore.study.explaining.explain"): "a design explains itself when it is asked to",
    ("npexplore.designs.base", "npexplore.study.formulas.search"): "a design finds its formulas when it is asked to",
    ("npexplore.designs.prepared", "npexplore.designs.base"): "the type of what it makes ready, which asks it to",
    ("npexplore.machine.resources.base", "npexplore.machine.visits"): "the types of what a visit is recorded with",
    ("npexplore.programs.records", "npexplore.programs.running"): "a program runs itself on packets",
    ("npexplore.programs.records", "npexplore.programs.result"): "the type of what that returns",
    ("npexplore.solve.prediction", "npexplore.plot.prediction"): "a prediction draws itself",
    ("npexplore.study.explaining.explain", "npexplore.plot.explanation"): "an explanation draws itself",
    ("npexplore.study.explaining.words", "npexplore.study.explaining.explain"): "the type of what it puts into words",
}


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


@pytest.mark.parametrize("listed", LISTED, ids=" imports ".join)
def test_a_listed_import_is_there_and_closes_a_circle(listed):
    name, to = listed
    assert to in imports()[name], "it is gone: strike it from the list"
    assert leads(to, name), "it closes no circle any more: strike it from the list"


def test_imports_for_types_and_inside_functions_count():
    assert "npexplore.golden.diffserv.edge" in imports()["npexplore.golden.router.configuration"]
    assert "npexplore.plot.prediction" in imports()["npexplore.solve.prediction"]
    low, high = "npexplore.golden.router.sides", "npexplore.golden.linux.stages6"
    assert {low, high} <= set(circle(left() | {low: left()[low] | {high}}))
