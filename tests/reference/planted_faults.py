"""Plants faults in functions of every room, one at a time, and tells whether the quick tests that run the line fail.

`planted_faults.py record FOLDER` runs the quick tests once, and writes which blocks of the package each of them runs.
`planted_faults.py plant FOLDER --faults 220 --seed 56` then plants each fault as the package is imported (no file is
changed), and runs the most specific of the tests that run its block. Both go on where they were stopped.
`planted_faults.py table FOLDER` prints the shares by room.
"""

import argparse
import ast
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import zlib
from collections import defaultdict
from importlib import import_module
from itertools import cycle
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.source_changes import blocks, environment, install, plant, sites, swap

NOT_QUICK = "not slow and not oracle and not fuzz"
ROOMS_LEFT_OUT = {"_kernels"}  # a changed kernel is compiled for a minute
SUITES = ("unit", "law", "agree")
FILES_AT_ONCE = 30
STAGES = ((5, 4), (15, 8))  # recorded seconds and files of one stage; the second runs where the first sees nothing
STANDSTILL_S = 120  # a thread of the parent's may have held a lock when a process was forked
RECORDED_CASES = 4  # of a test with parameters; all of them run against a fault
RECORDED_EXAMPLES = 10  # of a property
CPU_LIMIT_S = 60  # of a stage, beyond its recorded seconds
LIBRARIES = (
    "numba",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "hypothesis",
    "pyarrow.parquet",
    "plotly.graph_objects",
)


def modules(root):
    """Return the text of each module of the package that faults are planted in, by its path."""
    paths = sorted((root / "npexplore").rglob("*.py"))
    names = {path.relative_to(root).as_posix(): path for path in paths}
    return {name: path.read_text() for name, path in names.items() if room_of(name) not in ROOMS_LEFT_OUT}


def room_of(name):
    """Return the folder of a module; those at the top of the package are one room."""
    parts = Path(name).parts
    return parts[1] if len(parts) > 2 else "(top)"


def first_blocks(texts):
    """Return the number of each module's first block: blocks of all modules are counted in one row."""
    first, count = {}, 0
    for name, text in texts.items():
        first[name] = count
        count += len(blocks(ast.parse(text))[0])
    return first, count


class Recorder:
    """A plugin of pytest: which blocks each test runs in a few of its cases, their number, and its seconds."""

    def __init__(self, marks):
        self.marks, self.rows, self.scale = marks, {}, {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        cases = defaultdict(list)
        for item in items:
            cases[test_of(item)].append(item)
        items[:] = []
        for test, own in cases.items():
            items += own[:: max(1, len(own) // RECORDED_CASES)][:RECORDED_CASES]
            self.scale[test] = len(own)
            self.rows[test] = [0.0, len(own), True, bytes(len(self.marks))]
            if getattr(own[0].obj, "is_hypothesis_test", False):
                self._shorten(test, getattr(own[0].obj, "__func__", own[0].obj))

    def _shorten(self, test, function):
        from hypothesis import settings

        plan = function._hypothesis_internal_use_settings
        if plan.max_examples > RECORDED_EXAMPLES:
            self.scale[test] *= plan.max_examples / RECORDED_EXAMPLES
            function._hypothesis_internal_use_settings = settings(plan, max_examples=RECORDED_EXAMPLES)

    def pytest_runtest_logreport(self, report):
        if not report.passed:
            self.rows[report.nodeid.partition("[")[0]][2] = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.marks[:] = bytes(len(self.marks))
        start = time.perf_counter()
        yield
        row = self.rows[test_of(item)]
        row[0] += (time.perf_counter() - start) * self.scale[test_of(item)] / min(row[1], RECORDED_CASES)
        row[3] = bytes(map(max, row[3], self.marks[:]))
        return True

    def finish(self, out):
        """Write the rows."""
        out.write_bytes(pickle.dumps({test: [*row[:3], zlib.compress(row[3])] for test, row in self.rows.items()}))


class Chosen:
    """A plugin of pytest: only these tests, in this order."""

    def __init__(self, tests):
        self.order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if test_of(i) in self.order), key=lambda item: self.order[test_of(item)])


def test_of(item):
    """Return the name of a case's test."""
    return item.nodeid.partition("[")[0]


def in_child(root, out, change, arguments, plugin, seconds):
    """Run pytest in a forked process whose package is changed; return its exit status, None where it stands still."""
    if child := os.fork():
        return waited_for(child)
    status = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        with tempfile.TemporaryDirectory() as folder, out.open("w") as file:
            os.environ |= environment(root, Path(folder), CI="true", **change)
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            sys.path[:0] = [str(root), str(root / "tests")]
            os.chdir(root)
            if "npexplore" in sys.modules:
                swap(root, change["NPEXPLORE_PLANTED"])
            else:
                install()
            rewritten = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is imported here, too
            options = ["-q", *rewritten, "-n0", "-p", "no:cacheprovider", "-m", NOT_QUICK, "--rootdir", str(root)]
            status = int(pytest.main([*options, *arguments], plugins=[plugin() if callable(plugin) else plugin]))
            sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def waited_for(child):
    """Return the exit status of a process, None where it used no processor time for long and was ended."""
    used, since, status = 0.0, time.monotonic(), None
    while True:
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(code) if status is None else None
        words = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        if (now := sum(map(int, words[11:15]))) != used:
            used, since = now, time.monotonic()
        elif time.monotonic() - since > STANDSTILL_S:
            status = os.kill(child, signal.SIGKILL) or -signal.SIGKILL
        time.sleep(0.05)


def record(root, folder, part):
    """Run the quick tests, some files at a time, and write what each test runs."""
    first, count = first_blocks(modules(root))
    files = [path for suite in SUITES for path in sorted((root / "tests" / suite).glob("test_*.py"))]
    for number in range(0, len(files), FILES_AT_ONCE):
        out = folder / f"blocks_{number:04d}.pickle"
        if out.exists() or number // FILES_AT_ONCE % part[1] != part[0]:
            continue
        with tempfile.TemporaryDirectory() as marks:
            path = Path(marks) / "marks"
            path.write_bytes(bytes(count))
            Path(f"{path}.first").write_text(json.dumps(first))

            def recorder(out=out):
                import builtins

                plugin = Recorder(builtins.__blocks_run__)
                plugin.pytest_sessionfinish = lambda: plugin.finish(out)
                return plugin

            arguments = [str(path.relative_to(root)) for path in files[number : number + FILES_AT_ONCE]]
            change = {"NPEXPLORE_RECORDED": str(path)}
            print(out.name, in_child(root, out.with_suffix(".log"), change, arguments, recorder, 3600), flush=True)


def recorded(folder):
    """Return the tests that pass: seconds of all cases, number of blocks, of cases; and the tests of each block."""
    tests, tests_of = {}, defaultdict(list)
    for path in sorted(folder.glob("blocks_*.pickle")):
        for test, (seconds, cases, passes, marks) in pickle.loads(path.read_bytes()).items():
            if passes:
                run = [number for number, mark in enumerate(zlib.decompress(marks)) if mark]
                tests[test] = (seconds, len(run), cases)
                for number in run:
                    tests_of[number].append(test)
    return tests, tests_of


def candidates(name, block, first, tests, tests_of):
    """Return the tests that may run a block, with a rank.

    0: they ran it when they were recorded; 1: they ran others of its module; 2: they ran others of its folder, and not
    all of their cases were recorded.
    """
    names = list(first)
    last = dict(zip(names, [*list(first.values())[1:], max(tests_of) + 1], strict=True))
    ranks = dict.fromkeys(tests_of[block], 0)
    for other in names:
        rank = 1 if other == name else 2
        if rank == 1 or Path(other).parent == Path(name).parent:
            for test in dict.fromkeys(test for at in range(first[other], last[other]) for test in tests_of.get(at, ())):
                if rank == 1 or tests[test][2] > RECORDED_CASES:
                    ranks[test] = min(rank, ranks.get(test, rank))
    return ranks


def stages(ranks, tests):
    """Yield the tests of each stage and their seconds: the most specific first, until the stage is full."""
    specific = sorted(ranks, key=lambda test: (ranks[test], tests[test][1] * (0.2 + tests[test][0]), test))
    for limit, most_files in STAGES:
        stage, seconds, files = [], 0.0, set()
        for test in specific:
            file = test.partition("::")[0]
            if not stage or (seconds + tests[test][0] + 0.05 <= limit and len(files | {file}) <= most_files):
                seconds += tests[test][0] + 0.05
                stage.append(test)
                files.add(file)
        specific = [test for test in specific if test not in stage]
        if stage:
            yield stage, seconds


def faults(texts, count, seed):
    """Yield module, number of the node that is changed, and what is changed: as many in each room."""
    chance, rooms, chosen = random.Random(seed), defaultdict(list), set()
    for name, text in texts.items():
        if sites(ast.parse(text)):
            rooms[room_of(name)].append(name)
    for room in cycle(sorted(rooms)):
        if len(chosen) == count:
            return
        name = chance.choice(rooms[room])
        tree = ast.parse(texts[name])
        number = chance.randrange(len(sites(tree)))
        if (name, number) not in chosen:
            chosen.add((name, number))
            yield name, number, plant(sites(tree)[number])


def seen_by(root, out, fault, ranks, tests):
    """Return the first test that fails, "no end" where it takes too long, None where all pass, and their number."""
    count = 0
    for stage, seconds in stages(ranks, tests):
        count += len(stage)
        files = list(dict.fromkeys(test.partition("::")[0] for test in stage))
        limit = int(seconds * 2 + CPU_LIMIT_S)
        status = in_child(root, out, {"NPEXPLORE_PLANTED": fault}, ["-x", *files], Chosen(stage), limit)
        failed = [line for line in out.read_text().splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if failed:
            return failed[0].split(" - ")[0].partition(" ")[2], count
        if status not in (0, 5, None):
            return "no end" if status < 0 else f"pytest ends with {status}", count
    return None, count


def plant_all(root, folder, count, seed, part, again):
    """Plant the faults that no run has planted yet (`again`: and those that none saw), and append what is seen."""
    sys.path[:0] = [str(root)]
    for name in [*LIBRARIES, *(name.removesuffix(".py").replace("/", ".") for name in modules(root))]:
        if not name.endswith("__main__"):
            import_module(name.removesuffix(".__init__"))
    texts = modules(root)
    first, _ = first_blocks(texts)
    tests, tests_of = recorded(folder)
    out = folder / f"faults_{part[0]}.jsonl"
    before = {(row["module"], row["node"]) for row in records(folder) if not row["seen_by"]} if again else set()
    chosen = list(enumerate(faults(texts, count, seed)))
    for number, (name, node, change) in chosen[:: -1 if part[0] % 2 else 1]:  # two go towards each other
        known = {(row["module"], row["node"]) for row in records(folder)} - before
        if (name, node) in known or number // 2 % (part[1] // 2 or 1) != part[0] // 2:
            continue
        before.discard((name, node))
        tree = ast.parse(texts[name])
        ranks = candidates(name, first[name] + blocks(tree)[1][sites(tree)[node]], first, tests, tests_of)
        seen, run = seen_by(root, folder / f"last_{part[0]}.log", f"{name}:{node}", ranks, tests)
        row = {"number": number, "module": name, "node": node, "change": change}
        row |= {"tests": sum(not rank for rank in ranks.values()), "run": run, "seen_by": seen}
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(number, name, change, "|", row["tests"], run, seen, flush=True)


def records(folder):
    """Return the last row of each fault."""
    files = sorted(folder.glob("faults_*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return list({(row["module"], row["node"]): row for row in rows}.values())


def table(folder):
    """Print the faults that tests see, by room."""
    rooms = defaultdict(list)
    for row in records(folder):
        rooms[room_of(row["module"])].append(row)
    print("| room | faults | seen | in no quick test |\n|---|---|---|---|")
    for room, rows in [*sorted(rooms.items()), ("**all**", [row for some in rooms.values() for row in some])]:
        seen = sum(row["seen_by"] is not None for row in rows)
        print(f"| {room} | {len(rows)} | {seen} | {sum(not row['tests'] for row in rows)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "plant", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--faults", type=int, default=220)
    parser.add_argument("--seed", type=int, default=56)
    parser.add_argument("--part", default="0/1", help="which of how many processes this one is")
    parser.add_argument("--again", action="store_true", help="plant again what no test saw")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    root, folder = options.root.resolve(), options.folder.resolve()
    part = tuple(int(number) for number in options.part.split("/"))
    if options.action == "record":
        record(root, folder, part)
    elif options.action == "plant":
        plant_all(root, folder, options.faults, options.seed, part, options.again)
    else:
        table(folder)


if __name__ == "__main__":
    main()
