"""Models that LINE's gallery and examples build: written down with LINE's own answers, and answered by npexplore.

    python benchmarks/line_gallery.py record MODELS.json.gz   # where line-solver 3 is installed (not beside npexplore)
    python benchmarks/line_gallery.py compare MODELS.json.gz  # where npexplore is; writes the table as Markdown

LINE (Casale, imperial-qore/line-solver, BSD-3) is asked by four of its solvers, four seconds of processor time each.
`tests/oracle/recorded` keeps a recording with version 3.0.8.0.
"""

from __future__ import annotations

import gzip
import inspect
import json
import os
import runpy
import signal
import sys
import tempfile
from pathlib import Path
from unittest.mock import MagicMock

SECONDS = 4
FOLDERS = (
    "basic/closedQN", "basic/openQN", "basic/mixedQN", "basic/classSwitching", "basic/prioModel", "basic/cacheModel",
    "basic/forkJoin", "advanced/fcRegion", "advanced/loadDependent", "advanced/cyclicPolling",
    "advanced/stateDepRouting", "advanced/initState", "advanced/cdfRespT", "advanced/stateProbabilities",
    "advanced/switchoverTimes", "gettingstarted",
)  # fmt: skip
SOLVERS = ("CTMC", "NC", "MAM", "MVA")


def record(out: Path) -> None:
    """Run every example in a child process, LINE imported once, and write all models with their answers."""
    import line_solver

    signal.signal(signal.SIGPROF, late)
    found = []
    names = [
        name for name, _ in inspect.getmembers(line_solver.gallery, inspect.isfunction) if name.startswith("gallery_")
    ]
    examples = Path(line_solver.__file__).parent / "examples"
    scripts = [str(path) for folder in FOLDERS for path in sorted((examples / folder).glob("*.py"))]
    with tempfile.TemporaryDirectory() as folder:
        for name in [*names, *scripts]:
            file = Path(folder) / "one.json"
            file.unlink(missing_ok=True)
            if not (child := os.fork()):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                try:
                    record_one(name, file)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            if file.exists():
                found += json.loads(file.read_text())
                print(len(found), name, flush=True)
                out.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), 9, mtime=0))


def record_one(name: str, out: Path) -> None:
    """Build the models of one gallery function or script, its solvers silenced, and ask LINE for the means."""
    import line_solver
    from line_solver.io.linemodel_io import model_to_dict

    solvers = {solver: getattr(line_solver, solver) for solver in SOLVERS}
    made: list[object] = []
    if name.startswith("gallery_"):
        made.append(getattr(line_solver.gallery, name)())
    else:
        plain = line_solver.Network.__init__

        def keep(self: object, *args: object, **more: object) -> None:
            plain(self, *args, **more)
            made.append(self)

        line_solver.Network.__init__ = keep
        for solver in dir(line_solver):
            if (
                solver in SOLVERS
                or solver.startswith("Solver")
                or solver in ("JMT", "SSA", "FLD", "LDES", "AUTO", "DES")
            ):
                setattr(line_solver, solver, MagicMock())
        os.chdir(Path(name).parent)
        sys.path.insert(0, str(Path(name).parent))
        try:
            runpy.run_path(name, run_name="__main__")
        except Exception as error:
            print(error, file=sys.stderr)
    found: list[dict[str, object]] = []
    for model in made[:4]:
        said = model_to_dict(model)["model"]
        if all(said != one["model"] for one in found):
            label = Path(name).stem + (f".{len(found)}" if found else "")
            answers = {solver.lower(): ask(kind, model) for solver, kind in solvers.items()}
            found.append({"name": label, "model": said, "answers": answers})
    out.write_text(json.dumps(found))


def ask(solver: object, model: object) -> object:
    """Return LINE's rows (station, class, mean number, throughput), or why there are none."""

    signal.setitimer(signal.ITIMER_PROF, SECONDS, 0.1)
    try:
        table = solver(model, verbose=False).avg_table()
        rows = getattr(table, "data", table).iterrows()
        return [[str(r["Station"]), str(r["JobClass"]), float(r["QLen"]), float(r["Tput"])] for _, r in rows]
    except (Exception, LateError) as error:
        return f"{type(error).__name__}: {error}"[:120]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class LateError(BaseException):
    """A solver took too long; no Exception, for LINE catches those and goes on."""


def late(*_: object) -> None:
    """Stop a solver whose processor time is over."""
    raise LateError(f"more than {SECONDS} s")


def compare(recorded: Path) -> str:
    """Return the table of all models: who answers, exactly or by name, and how far LINE's answers are."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from reference.line_answers import answers, table

    return table(answers(json.loads(gzip.decompress(recorded.read_bytes()))))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", out]:
            record(Path(out))
        case ["compare", recorded]:
            print(compare(Path(recorded)))
        case _:
            sys.exit(__doc__)
