"""Names that say nothing of their value, counted in each module.

As a command: lower the limits of plain_names.json to today's counts.
"""

import ast
import json
import re
from collections import Counter
from pathlib import Path

import npexplore

ROOT = Path(npexplore.__file__).parent
LIMITS = Path(__file__).with_suffix(".json")
EMPTY = frozenset({"found", "made", "kept", "told", "given", "asked"})  # a name says what the value is, not how it came
BARE = frozenset({"FEW", "MOST", "NEAR", "FULL", "LEAST", "MANY"})  # a constant says what it limits, in which unit
WORDS = re.compile(rf"\b_*({'|'.join(EMPTY | BARE)})_*\b")  # modules without any are not parsed


def bound_names(text: str) -> list[str]:
    """Return every name that a module's text binds: variables, attributes, parameters, functions, classes, aliases."""
    names = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                names.append(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.append(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.append(name)
            case ast.alias(asname=str(name)):
                names.append(name)
    return names


def empty_names(text: str) -> Counter[str]:
    """Return how often a module's text binds each empty word or bare constant, underscores at its ends ignored."""
    if not WORDS.search(text):
        return Counter()
    return Counter(name.strip("_") for name in bound_names(text) if name.strip("_") in EMPTY | BARE)


def counts() -> dict[str, int]:
    """Return the number of empty names in each module that has any, by its path in the package."""
    by_module = {
        path.relative_to(ROOT).as_posix(): empty_names(path.read_text()).total() for path in ROOT.rglob("*.py")
    }
    return {name: count for name, count in sorted(by_module.items()) if count}


def limits() -> dict[str, int]:
    """Return the largest count that each module may have; a module without an entry may have none."""
    return json.loads(LIMITS.read_text())


if __name__ == "__main__":
    before, now = limits() if LIMITS.exists() else counts(), counts()
    lowered = {name: min(limit, now[name]) for name, limit in before.items() if name in now}
    LIMITS.write_text(json.dumps(lowered, indent=1) + "\n")
