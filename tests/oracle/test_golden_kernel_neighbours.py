"""Neighbours that the router asks for, against the Linux kernel: neighbour_cases, as recorded and live."""

import pytest
from reference import kernel_recording as recording
from reference.neighbour_cases import neighbour_cases
from reference.repeated import in_some_run

from npexplore.golden.compare.masked import without_time
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.forward import Forwarder
from npexplore.testing.linux_kernel import why_not

ROUTER, CASES = neighbour_cases()
RECORDED = recording.read("neighbours")


def golden():
    """Return what the golden router sends, case by case."""
    forwarder, now, out = Forwarder(ROUTER, lookup="binary_trie"), 0, []
    for _, port, frame in CASES:
        now += 1_000_000 if frame else int(recording.WAIT_S * 1e9)
        sent = forwarder.forward(port, frame, now).sent if frame else forwarder.wait(now)
        out.append([(one.port, one.frame) for one in sent])
    return out


def comparable(rows):
    """Return frames without identifications, those of one port in order; what time brings comes in any order."""
    masked = [(port, without_time(frame, frame[12:14] == b"\x08\x00")) for port, frame in rows]
    return sorted(masked)


def test_recorded_cases_are_those_of_today():
    assert [row[:3] for row in RECORDED] == CASES
    assert recording.lines_of("neighbours")[0]["cases"] == len(CASES) >= 60


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [pytest.param(a, row[3], id=row[0].replace(" ", "-")) for a, row in zip(golden(), RECORDED, strict=True)],
)
def test_golden_does_what_was_recorded(ours, theirs):
    assert comparable(ours) == comparable(theirs)


def test_the_batch_does_the_same():
    rows, now = [], 0
    for _, port, frame in CASES:
        now += 1_000_000
        rows += [(port, frame, now)] if frame else []
    made = BatchForwarder(ROUTER, lookup="binary_trie").forward(Frames.of(rows))
    reference = Forwarder(ROUTER, lookup="binary_trie")
    outcomes = [reference.forward(*row) for row in rows]
    assert made.reason.tolist() == [outcome.reason for outcome in outcomes]
    assert list(made.frames) == [sent.frame for outcome in outcomes for sent in outcome.sent]


@pytest.mark.slow
def test_the_kernel_does_the_same():
    reason = why_not()
    if reason is not None:
        pytest.skip(f"the Linux kernel cannot be asked: {reason}")
    ours = [comparable(rows) for rows in golden()]

    def same():
        """Questions are repeated after a second, and what a neighbour has said may not change within one."""
        assert ours == [comparable(rows) for rows in recording.ask(ROUTER, CASES)]

    in_some_run(same)
