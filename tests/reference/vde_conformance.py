"""The conformance table of vde_l3, the router of Debian's package vde2: what it did with the probes, and drawn frames.

`python tests/reference/vde_conformance.py` asks it anew (needs vde2 and the right to make namespaces), records it, and
writes its table of docs/conformance.md.
"""

import gzip
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.conformance_cases import DOCUMENT, told
from reference.kernel_recording import FOLDER, lines_of, read

from npexplore.errors import InputError
from npexplore.golden.router.configuration import load_router
from npexplore.testing.conformance import Tally, failure
from npexplore.testing.drawing import cases_for
from npexplore.testing.examining import crash, judge_of
from npexplore.testing.links import LinkRouter
from npexplore.testing.probes import probes

CONFIGURATION = Path(__file__).parent / "vde_router.toml"
ROUTER = load_router(CONFIGURATION)
DRAWN = 100
MARKS = "<!-- table: vde_l3 -->\n", "\n<!-- end of table vde_l3 -->"
READY_S = 20.0  # Python and four programs start


def asked():
    """Yield (port, frame, what vde_l3 sends, its last words if it ended) for the probes and drawn frames."""
    program = [sys.executable, str(Path(__file__).parent / "vde_router.py"), str(CONFIGURATION)]
    with LinkRouter(program, ROUTER, ready_s=READY_S, again=True) as mine:
        for port, frame in dict.fromkeys([*probes(ROUTER), *cases_for(ROUTER, DRAWN)]):
            try:
                yield port, frame, mine.forward(port, frame), ""
            except InputError as error:
                yield port, frame, [], str(error)


def conformance():
    """Return the table of what was recorded."""
    golden, head = judge_of(ROUTER), lines_of("vde_l3")
    tally = Tally(ROUTER, head[0]["cases"])
    for (_, port, frame, sent), row in zip(read("vde_l3"), head[1:], strict=True):
        outcome = golden.forward(port, frame)
        ended = row["ended"] and crash(port, frame, outcome, InputError(row["ended"]))
        tally.count(outcome, ended or failure(port, frame, outcome, sent))
    return tally.conformance()


def table():
    """Return the table of the document."""
    found = conformance()
    return f"{lines_of('vde_l3')[0]['router']}. Profile `rfc1812`: {found.headline()}.\n\n{told(found, 'it')}"


def main():
    """Ask, record, write the table."""
    version = subprocess.run(["vde_switch", "-v"], capture_output=True, text=True, check=False).stdout.splitlines()[0]
    answers = list(asked())
    lines = [json.dumps({"router": f"vde_l3 of {version.strip()}", "cases": len(answers)})]
    lines += [
        json.dumps({
            "name": "", "port": port, "frame": frame.hex(), "out": [[p, f.hex()] for p, f in out], "ended": ended
        })
        for port, frame, out, ended in answers
    ]  # fmt: skip
    (FOLDER / "vde_l3.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
    text = DOCUMENT.read_text()
    before, behind = text.split(MARKS[0])[0], text.split(MARKS[1])[-1]
    DOCUMENT.write_text(before + MARKS[0] + table() + MARKS[1] + behind)


if __name__ == "__main__":
    main()
