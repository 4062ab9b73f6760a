"""Faults planted in functions of every room, one at a time, and whether the quick tests of that module see them.

`python tests/reference/planted_faults.py OUT.json --faults 60 --seed 56` changes one module at a time of the checkout
that it stands in, and puts it back. `--before OLD.json` takes answers over where a module's tests have not changed.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from itertools import cycle
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_QUICK = "not slow and not oracle and not fuzz"
ROOMS_LEFT_OUT = {"_kernels"}  # a changed kernel is compiled for a minute
MAX_TEST_FILES = 10
TIMEOUT_S = 150  # a test that never ends has seen the fault
SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def sites(tree):
    """Return the nodes of functions' bodies that can be changed."""
    bodies = [part for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for part in node.body]
    nodes = dict.fromkeys(node for body in bodies for node in ast.walk(body))
    return [node for node in nodes if _operator(node) or _is_number(node) or isinstance(node, ast.If | ast.IfExp)]


def _operator(node):
    op = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
    return op if type(op) in SWAPS else None


def _is_number(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def plant(text, chance):
    """Return a module's text with one fault, and what was changed; None where there is nothing to change."""
    tree = ast.parse(text)
    places = sites(tree)
    if not places:
        return None
    node = chance.choice(places)
    old = ast.unparse(node).partition("\n")[0]
    if operator := _operator(node):
        new = SWAPS[type(operator)]()
        if isinstance(node, ast.Compare):
            node.ops[0] = new
        else:
            node.op = new
    elif _is_number(node):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        node.test = ast.UnaryOp(ast.Not(), node.test)
    return ast.unparse(tree), f"line {node.lineno}: {old} -> " + ast.unparse(node).partition("\n")[0]


def modules_by_room():
    """Return the modules of each room of the package, those at its top as one room."""
    rooms = {}
    for path in sorted((ROOT / "npexplore").rglob("*.py")):
        room = path.relative_to(ROOT / "npexplore").parts[0]
        if room not in ROOMS_LEFT_OUT:
            rooms.setdefault(room if not room.endswith(".py") else "", []).append(path)
    return rooms


def tests_of(module, texts):
    """Return the test files that import a module, else of the modules that import it, and on; nearest names first."""
    words = set(re.findall(r"[a-z0-9]+", module[0].relative_to(ROOT / "npexplore").with_suffix("").as_posix()))
    for _ in range(4):
        names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in module]
        parts = [map(re.escape, name.rpartition(".")) for name in names]
        patterns = [rf"{package}\.{last}\b|from {package} import .*\b{last}\b" for package, _, last in parts]
        pattern = re.compile("|".join(patterns))
        if files := [path for path, text in texts.items() if pattern.search(text)]:
            return sorted(files, key=lambda path: (-len(words & set(path.stem.split("_"))), path))[:MAX_TEST_FILES]
        module = [
            *module,
            *(path for path in sorted((ROOT / "npexplore").rglob("*.py")) if pattern.search(path.read_text())),
        ]
    return [path for path in texts if len(words & set(path.stem.split("_"))) > 1][:MAX_TEST_FILES]


def digest(files):
    """Return a hash of test files and of what they import from reference."""
    texts = [path.read_text() for path in files]
    names = sorted({name for text in texts for name in re.findall(r"from reference(?:\.| import )(\w+)", text)})
    texts += [path.read_text() for name in names if (path := ROOT / "tests" / "reference" / f"{name}.py").exists()]
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()


def seen_by(files):
    """Return the first test that fails, "no end" where it takes too long, None where all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", NOT_QUICK, *files]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "no end"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return failed[1] if failed else None if run.returncode in (0, 5) else "pytest ends with an error"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=56)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    chance, rooms = random.Random(options.seed), modules_by_room()
    texts = {path: path.read_text() for folder in ("unit", "law", "agree")
             for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))}  # fmt: skip
    known = {}
    if options.before:
        known = {(r["module"], r["change"], r["digest"]): r for r in json.loads(options.before.read_text())}
    records = []
    for room in cycle(sorted(rooms)):
        if len(records) == options.faults:
            break
        module = chance.choice(rooms[room])
        text = module.read_text()
        files, planted = tests_of([module], texts), plant(text, chance)
        if planted is None:
            continue
        name = module.relative_to(ROOT).as_posix()
        record = {"module": name, "change": planted[1], "files": len(files), "digest": digest(files)}
        if before := known.get(tuple(record[key] for key in ("module", "change", "digest"))):
            records.append(before)
            continue
        try:
            module.write_text(planted[0])
            record["seen_by"] = seen_by(files) if files else None
        finally:
            module.write_text(text)
        records.append(record)
        options.out.write_text(json.dumps(records, indent=1) + "\n")
        print(len(records), name, record["change"], "|", record["seen_by"], flush=True)
    options.out.write_text(json.dumps(records, indent=1) + "\n")
    seen = sum(record["seen_by"] is not None for record in records)
    print(f"{seen} of {len(records)} faults are seen ({seen / len(records):.0%})")


if __name__ == "__main__":
    main()
