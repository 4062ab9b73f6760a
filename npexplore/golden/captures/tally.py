"""Counts the packets of a replay by input port, and by output port or drop reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.golden.captures.replay import Step
from npexplore.golden.diffserv.outcome import Fate
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router


class Tally:
    """Counts of packets and frames in constant memory. Bytes are those of frames without check sequence."""

    def __init__(self, router: Router) -> None:
        ports = len(router.ports)
        self.router = router
        self.sent = np.zeros((ports, ports), np.int64)  # packets by input and output port
        self.dropped = np.zeros((ports, max(Reason) + 1), np.int64)  # by input port and reason
        self.frames = np.zeros((3, ports), np.int64)  # rows: in, out, ICMP messages of the router
        self.bytes = np.zeros((3, ports), np.int64)
        self.lost: Counter[tuple[int, Fate]] = Counter()  # packets that a DiffServ edge dropped, by input port
        self.cut = 0  # packets dropped as truncated because the capture is cut

    def take(self, step: Step) -> None:
        """Count the packets of a step."""
        forwarded, ports, port = step.made, len(self.router.ports), step.frames.port.astype(np.int64)
        rows = step.dropped
        np.add.at(self.dropped, (port[rows], forwarded.reason[rows].astype(np.int64)), 1)
        packet, first_frames = np.unique(forwarded.packet[~forwarded.icmp], return_index=True)
        np.add.at(self.sent, (port[packet], forwarded.port[~forwarded.icmp][first_frames].astype(np.int64)), 1)
        groups: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...] = (
            (port, step.frames.packets.length),
            (forwarded.port[~forwarded.icmp], forwarded.frames.length[~forwarded.icmp]),
            (forwarded.port[forwarded.icmp], forwarded.frames.length[forwarded.icmp]),
        )
        for kind, (number, size) in enumerate(groups):
            self.frames[kind] += np.bincount(number, minlength=ports)
            self.bytes[kind] += np.bincount(number, weights=size, minlength=ports).astype(np.int64)
        truncated = forwarded.reason == Reason.TRUNCATED
        self.cut += int((step.part.captured < step.part.length)[truncated].sum())

    def unsend(self, port: NDArray[np.int64], icmp: NDArray[np.bool_], size: NDArray[np.int64]) -> None:
        """Subtract frames that were counted as sent but were dropped later."""
        np.add.at(self.frames, (1 + icmp, port), -1)
        np.add.at(self.bytes, (1 + icmp, port), -size)

    def lose(self, source: int, port: int, fate: Fate) -> None:
        """Move a packet from the count of sent packets to the count of the DiffServ edge's drops."""
        self.sent[source, port] -= 1
        self.lost[source, fate] += 1

    @property
    def packets(self) -> int:
        """Number of incoming packets."""
        return int(self.frames[0].sum())

    @property
    def forwarded(self) -> int:
        """Number of packets sent by a port."""
        return int(self.sent.sum())

    def ports(self) -> list[dict[str, Any]]:
        """Return one row per port: frames and bytes in, out (each fragment counts), and ICMP messages of the router."""
        columns = ("in", "out", "icmp")
        return [
            {"port": port.name}
            | {name: int(self.frames[kind, port.number]) for kind, name in enumerate(columns)}
            | {f"{name}_bytes": int(self.bytes[kind, port.number]) for kind, name in enumerate(columns)}
            for port in self.router.ports
        ]

    def drops(self) -> list[dict[str, Any]]:
        """Return one row per reason with drops, most packets first."""
        rows = [
            {"reason": reason.name, "packets": int(packets), "meaning": reason.text, "clause": reason.clause}
            for reason, packets in zip(Reason, self.dropped.sum(axis=0).tolist(), strict=True)
            if packets
        ]
        rows += [
            {
                "reason": fate.name, "packets": sum(n for (_, lost), n in self.lost.items() if lost is fate),
                "meaning": fate.text, "clause": fate.clause,
            }
            for fate in Fate
            if any(lost is fate for _, lost in self.lost)
        ]  # fmt: skip
        return sorted(rows, key=lambda row: -row["packets"])

    def ways(self) -> list[dict[str, Any]]:
        """Return one row per input port and output port (`dropped` false) or drop reason (`dropped` true)."""
        names = [port.name for port in self.router.ports]
        kinds = (("sent", names, self.sent), ("dropped", [reason.name for reason in Reason], self.dropped))
        return [
            {"from": names[source], "to": targets[target], "dropped": kind == "dropped", "packets": packets}
            for kind, targets, counts in kinds
            for (source, target), packets in zip(np.argwhere(counts).tolist(), counts[counts > 0].tolist(), strict=True)
        ] + [
            {"from": names[source], "to": fate.name, "dropped": True, "packets": packets}
            for (source, fate), packets in sorted(self.lost.items())
        ]
