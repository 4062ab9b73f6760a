"""Runs captures through the router in one call: replay, outputs, drop table, counts, comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from npexplore.errors import InputError, shown
from npexplore.golden.captures.edge_run import EdgeRun
from npexplore.golden.captures.outputs import DropTable, LateDropTable, OutputCaptures
from npexplore.golden.captures.replay import Capture, Replay, Step
from npexplore.golden.captures.spool import Spool
from npexplore.golden.captures.tally import Tally
from npexplore.golden.compare.comparison import Comparison, Verdict
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.rules import Profile
from npexplore.records import content_hash


class Sink(Protocol):
    """A consumer of the steps of a replay."""

    def take(self, step: Step) -> None:
        """Process the next step."""


@dataclass(frozen=True)
class Routed:
    """The result of a run: its replay (inputs, counters), counts, files written, and the verdict of a comparison."""

    __hash__ = content_hash

    replay: Replay
    tally: Tally
    outputs: dict[str, Path]
    verdict: Verdict | None
    edge: EdgeRun | None = None

    @property
    def profile(self) -> str:
        """The name of the profile whose rules the run followed."""
        return self.replay.forwarder.reference.profile.name

    def inputs(self) -> list[dict[str, Any]]:
        """Return one row per input: port, file, format, packets, damage (None, or offset and message)."""
        frames = {row["port"]: row["in"] for row in self.tally.ports()}
        return [
            {
                "port": port, "file": shown(scan.path), "format": scan.format, "packets": frames[port],
                "damage": None if scan.damage is None else vars(scan.damage),
            }
            for port, scan in zip(self.replay.ports, self.replay.scans, strict=True)
        ]  # fmt: skip

    def document(self) -> dict[str, Any]:
        """Return the fields of `npexplore route --json` (docs/golden.md), except those that the command adds."""
        tally = self.tally
        return {
            "profile": self.profile,
            "packets": tally.packets,
            "forwarded": tally.forwarded,
            "dropped": tally.packets - tally.forwarded,
            "inputs": self.inputs(),
            "ports": tally.ports(),
            "drops": tally.drops(),
            "ways": tally.ways(),
            "counters": dict(sorted(self.replay.forwarder.counters.items())),
            "outputs": {port: shown(path) for port, path in self.outputs.items()},
            "diffserv": None if self.edge is None else self.edge.document(),
        }


def forward_captures(
    router: Router, inputs: Mapping[str, Capture], *, out: str | Path | None = None, drops: str | Path | None = None,
    compare: str | Path | None = None, profile: Profile | str | None = None, lookup: str = "dir24_8",
    any_station: bool = False, sinks: Iterable[Sink] = (),
) -> Routed:  # fmt: skip
    """Run captures through the router, one capture for each input port, all packets in order of time.

    Memory does not grow with the captures, except for about 100 bytes per packet with a DiffServ edge. A
    damaged capture yields the packets before the damage.

    Args:
        router: the configuration.
        inputs: captures by the names of their ports.
        out: a folder for the outputs, PORT.pcap each.
        drops: a CSV file for dropped packets with their reasons.
        compare: a folder with the captures of another router, to compare the outputs with.
        profile: "rfc1812" or "linux" (None: that of the configuration).
        lookup: the lookup structure, a name of `LPMS`.
        any_station: forward frames with any destination MAC address, as in `Replay`.
        sinks: objects that also take each step of the replay.

    Raises:
        InputError: a file that cannot be read or written; then no output file remains.
    """
    if router.edge is not None and compare is not None:
        raise InputError("a router with [diffserv] sends packets in another order: its captures cannot be compared")
    tally = Tally(router)
    with ExitStack() as opened:
        replay = Replay(router, inputs, profile=profile, lookup=lookup, any_station=any_station)
        opened.enter_context(closing(replay))
        comparison = None if compare is None else opened.enter_context(closing(Comparison(router, Path(compare))))
        read = [scan.path for scan in replay.scans]
        with ExitStack() as stack:
            outputs: list[Sink] = [tally, *sinks]
            captures = None if out is None else stack.enter_context(OutputCaptures(router, Path(out), read))
            edge: EdgeRun | None = None
            if router.edge is not None:
                late = None if drops is None else stack.enter_context(LateDropTable(router, Path(drops)))
                edge = EdgeRun(router, router.edge, tally, stack.enter_context(Spool()), captures, late)
                outputs.append(edge)
            else:
                outputs += [sink for sink in (captures, comparison) if sink is not None]
                if drops is not None:
                    outputs.append(stack.enter_context(DropTable(router, Path(drops))))
            for step in replay:
                for sink in outputs:
                    sink.take(step)
            if edge is not None:
                edge.finish()
        verdict = None if comparison is None else comparison.finish(damaged=replay.damaged)
    return Routed(replay, tally, {} if captures is None else captures.written, verdict, edge)
