"""The verdict on one frame: the difference of the output from the golden router's, as text with input and output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from npexplore.errors import InputError
from npexplore.golden.compare.difference import (
    SAME_WAY,
    Difference,
    first_difference,
    frame_difference,
    in_common,
    summary,
)
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.walk import Outcome

MOST_SHOWN = 80  # bytes of a frame in a message
Frames = Iterable[tuple[int, bytes]]
Forward = Callable[[int, bytes], "Frames | None"]


class CounterexampleError(AssertionError):
    """A router's output is wrong.

    Args:
        difference: the field, both values, and the clause of the standard.
        text: the message.
        port: number of the input port.
        frame: the input frame (Ethernet).
    """

    def __init__(self, difference: Difference, text: str, port: int = 0, frame: bytes = b"") -> None:
        super().__init__(text)
        self.difference = difference
        self.port = port
        self.frame = frame


def verdict(sent: Sequence[tuple[int, bytes]], expected: Outcome, frame: bytes) -> Difference | None:
    """Return the first difference of the frames sent from the outcome; a packet that must not pass takes precedence."""
    dropped = [(expected.reason, frame)] if expected.reason else []
    difference = first_difference(expected.sent, sent, dropped)
    if difference is not None and dropped:
        passed = [row for row in _unexpected(sent, expected) if in_common(row[1], frame) >= SAME_WAY]
        difference = first_difference([], passed[:1], dropped) or difference
    return difference


def compare(got: Frames, expected: Outcome, *, port: int = 0, frame: bytes = b"") -> None:
    """Compare what a router sent with the golden outcome.

    Identifications of ICMP messages and times of day are not compared.

    Args:
        got: the frames that the router sent, (port, frame) each.
        expected: the golden outcome.
        port: the input port, for the message.
        frame: the input frame, for the message.

    Raises:
        CounterexampleError: with the first field that differs and the clause that it breaks.
    """
    sent = [(number, bytes(data)) for number, data, *_ in got]
    difference = verdict(sent, expected, frame)
    if difference is not None:
        raise CounterexampleError(difference, difference_text(difference, port, frame, expected, sent), port, frame)


def _unexpected(sent: Sequence[tuple[int, bytes]], expected: Outcome) -> list[tuple[int, bytes]]:
    return [
        (port, data)
        for port, data in sent
        if not any(
            expected_frame.port == port and frame_difference(expected_frame, data) is None
            for expected_frame in expected.sent
        )
    ]


def difference_text(
    difference: Difference, port: int, frame: bytes, expected: Outcome, sent: Sequence[tuple[int, bytes]]
) -> str:
    """Return a difference as text, with the input, the expected and the actual output."""
    answer = f"drops it: {expected.reason.text} ({expected.reason.clause})" if expected.reason else "forwards it"
    return "\n".join(
        [
            str(difference),
            f"  came in by port {port}: {summary(frame)}",
            f"    {shown(frame)}",
            f"  the golden router {answer}",
            *_listed([(expected_frame.port, expected_frame.frame) for expected_frame in expected.sent]),
            "  this one",
            *_listed(sent),
        ]
    )


def shown(frame: bytes) -> str:
    """Return a frame in hex; a long frame is cut."""
    return frame.hex() if len(frame) <= MOST_SHOWN else f"{frame[:MOST_SHOWN].hex()}... ({len(frame)} bytes)"


def _listed(sent: Sequence[tuple[int, bytes]]) -> list[str]:
    return [f"    sends by port {number}: {summary(data)}" for number, data in sent] or ["    sends nothing"]


def refuse_port(router: Router, port: int, frame: bytes, verb: str = "leave") -> None:
    """Raise InputError for a port that a router does not have; frame: the frame at that port."""
    if not 0 <= port < len(router.ports):
        names = ", ".join(known_port.name for known_port in router.ports[:8])
        last = len(router.ports) - 1
        raise InputError(f"frames must {verb} by ports 0 to {last} ({names}), got port {port} for {shown(frame)}")
