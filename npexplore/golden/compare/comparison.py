"""Compares another router's output captures with ours as they are produced: the first difference and its clause.

Captures are compared port by port, frame by frame and in order; times are not compared. Fields that may differ are
listed in npexplore.golden.compare.difference. A few frames are read ahead to distinguish a missing frame from a
changed one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from npexplore.errors import InputError
from npexplore.golden.captures.replay import ETHERNET_LINK, Step
from npexplore.golden.compare.difference import AHEAD, Difference, first_difference, frame_difference
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.walk import Sent
from npexplore.packets.links import link_format
from npexplore.packets.scan import CaptureScan

ENDINGS = (".pcap", ".pcapng", ".pcap.gz", ".pcapng.gz", ".pcap.zst", ".pcapng.zst")
REMEMBERED_DROPS = 4096  # the most recent drops, which explain unexpected frames


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison: number of equal frames, first difference, damage of the other captures by port."""

    alike: int
    difference: Difference | None
    damage: dict[str, str]


class _Theirs:
    """The frames of another router's capture, read on demand."""

    def __init__(self, path: Path | None) -> None:
        self.scan = None if path is None else CaptureScan(path)
        self._frames = self._read()
        self._ahead: deque[bytes] = deque()

    def _read(self) -> Iterator[bytes]:
        for table in self.scan or ():
            assert self.scan is not None
            for link in sorted({*table["link_type"].tolist()} - {ETHERNET_LINK}):
                raise InputError(f"{self.scan.path}: link type must be EN10MB, got {link_format(link).name}")
            data, base = self.scan.window
            starts = table["position"] - base
            for start, end in zip(starts.tolist(), (starts + table["captured"]).tolist(), strict=True):
                yield data[start:end].tobytes()

    def ahead(self, count: int) -> list[bytes]:
        """Return up to `count` next frames without consuming them."""
        while len(self._ahead) < count and (frame := next(self._frames, None)) is not None:
            self._ahead.append(frame)
        return list(self._ahead)[:count]

    def next(self) -> bytes | None:
        """Consume and return the next frame, None at the end."""
        return self._ahead.popleft() if self._ahead else next(self._frames, None)


class _Port:
    """The comparison of one port, up to its first difference."""

    def __init__(self, number: int, path: Path | None) -> None:
        self.number, self.theirs = number, _Theirs(path)
        self.ours: deque[tuple[int, Sent]] = deque()  # (position in the order of sending, frame)
        self.alike = 0
        self.difference: tuple[int, Difference] | None = None

    def close(self) -> None:
        """Close the other router's capture."""
        if self.theirs.scan is not None:
            self.theirs.scan.close()

    def go_on(self, keep: int, dropped: deque[tuple[Reason, bytes]]) -> None:
        """Compare our frames except the last `keep`."""
        while self.difference is None and len(self.ours) > keep:
            position, sent = self.ours[0]
            theirs = self.theirs.ahead(1)
            if theirs and (theirs[0] == sent.frame or frame_difference(sent, theirs[0]) is None):
                self.theirs.next()
                self.ours.popleft()
                self.alike += 1
            else:
                self._differ(position, [our_frame for _, our_frame in self.ours], dropped)

    def finish(self, cut: bool, dropped: deque[tuple[Reason, bytes]]) -> None:
        """Compare the rest; missing frames at the end are no difference if damage cut the capture or our input."""
        self.go_on(0, dropped)
        if self.difference is None and not cut and self.theirs.ahead(1):
            self._differ(1 << 62, [], dropped)
        if self.difference and self.theirs.scan and self.theirs.scan.damage and not self.theirs.ahead(1):
            self.difference = None

    def _differ(self, place: int, ours: list[Sent], dropped: deque[tuple[Reason, bytes]]) -> None:
        theirs = [(self.number, frame) for frame in self.theirs.ahead(AHEAD)]
        difference = first_difference(ours[:AHEAD], theirs, dropped)
        assert difference is not None
        self.difference = place, difference._replace(frame=difference.frame + self.alike)
        self.ours.clear()


class Comparison:
    """Compare steps with the captures FOLDER/PORT.pcap (or .pcapng, gzip or zstd) of another router.

    Raises InputError if FOLDER is no folder or has no capture named after a port.
    """

    def __init__(self, router: Router, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder}: must be a folder with the captures to compare")
        paths = {
            port.number: next(
                (path for ending in ENDINGS if (path := folder / f"{port.name}{ending}").exists()), None
            )
            for port in router.ports
        }  # fmt: skip
        if not any(paths.values()):
            names = ", ".join(f"{port.name}.pcap" for port in router.ports)
            raise InputError(f"{folder}: has no capture named after a port ({names})")
        self.router, self.folder = router, folder
        with ExitStack() as opened:
            self._ports = [opened.enter_context(closing(_Port(number, path))) for number, path in paths.items()]
            self._opened = opened.pop_all()
        self._dropped: deque[tuple[Reason, bytes]] = deque(maxlen=REMEMBERED_DROPS)
        self._sent = 0

    def take(self, step: Step) -> None:
        """Compare the frames of a step with the next frames of the other router."""
        reasons = {int(reason): reason for reason in Reason}
        for row in step.dropped.tolist()[-REMEMBERED_DROPS:]:
            self._dropped.append((reasons[int(step.made.reason[row])], step.frames.packets[row]))
        forwarded = step.made
        for port, icmp, frame in zip(forwarded.port.tolist(), forwarded.icmp.tolist(), forwarded.frames, strict=True):
            self._ports[port].ours.append((self._sent, Sent(port, frame, icmp)))
            self._sent += 1
        for port_comparison in self._ports:
            if port_comparison.difference is not None:
                port_comparison.ours.clear()
            port_comparison.go_on(AHEAD, self._dropped)

    def close(self) -> None:
        """Close the captures of the other router."""
        self._opened.close()

    def finish(self, *, damaged: bool = False) -> Verdict:
        """Compare the remaining frames. damaged: our inputs are cut, so that frames may be missing at the end."""
        for port in self._ports:
            port.finish(damaged, self._dropped)
        differences = sorted(port.difference for port in self._ports if port.difference is not None)
        damage = {
            self.router.ports[port.number].name: str(port.theirs.scan.damage)
            for port in self._ports
            if port.theirs.scan is not None and port.theirs.scan.damage
        }
        return Verdict(sum(port.alike for port in self._ports), differences[0][1] if differences else None, damage)
