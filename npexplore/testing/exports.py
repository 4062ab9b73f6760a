"""Export failures: for each cluster captures of the input, the expected and the actual output, or a pytest file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from npexplore.packets.frames import write_frames
from npexplore.testing.conformance import Conformance

HEAD = '''"""Frames that a router forwarded wrongly; made by npexplore.testing."""

import pytest
from {module} import {name} as forward

from npexplore.golden.reasons import Reason
from npexplore.golden.router.walk import Outcome, Sent
from npexplore.testing import compare

CASES = {{  # what was wrong -> port, frame, what should have happened
{cases}}}


@pytest.mark.parametrize("case", CASES)
def test_forwarded_as_it_must_be(case):
    port, frame, outcome = CASES[case]
    compare(forward(port, bytes.fromhex(frame)), outcome, port=port, frame=bytes.fromhex(frame))
'''


def write_captures(found: Conformance, folder: str | Path) -> list[Path]:
    """Write NN/in.PORT.pcap, NN/expected.PORT.pcap and NN/got.PORT.pcap for each cluster's smallest failure."""
    written = []
    for number, cluster in enumerate(found.clusters, start=1):
        one, place = cluster.smallest, Path(folder) / f"{number:02d}"
        place.mkdir(parents=True, exist_ok=True)
        rows: dict[str, Sequence[tuple[int, bytes]]] = {
            "in": [(one.port, one.frame)],
            "expected": [(sent.port, sent.frame) for sent in one.outcome.sent],
            "got": one.sent,
        }
        for kind, frames in rows.items():
            for port in found.router.ports:
                mine = [frame for out, frame in frames if out == port.number]
                if mine:
                    path = place / f"{kind}.{port.name}.pcap"
                    write_frames(path, mine, list(range(len(mine))))
                    written.append(path)
    return written


def write_tests(found: Conformance, path: str | Path, forward: str) -> None:
    """Write a pytest file in which each cluster's smallest failure is one test.

    Args:
        found: the failures, as `examine_router` or `examine_captures` returns them.
        path: the file to write.
        forward: the function under test, as MODULE:NAME.
    """
    module, _, name = forward.partition(":")
    cases = []
    for number, cluster in enumerate(found.clusters, start=1):
        one = cluster.smallest
        sent = "".join(
            f"Sent({row.port}, bytes.fromhex({row.frame.hex()!r}), {row.icmp}), " for row in one.outcome.sent
        )
        outcome = f"Outcome(Reason.{one.outcome.reason.name}, ({sent}))"
        cases.append(f"    {f'{number}. {cluster.title}'!r}: ({one.port}, {one.frame.hex()!r}, {outcome}),\n")
    Path(path).write_text(HEAD.format(module=module, name=name, cases="".join(cases)), encoding="utf-8")
