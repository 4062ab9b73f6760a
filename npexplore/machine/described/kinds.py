"""The table of all resource kinds for the documents: what each is made from, its visits with operands, its servers.

python -m npexplore.machine.described.kinds docs/resources.md     writes it into a page, between its two marks
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npexplore.errors import InputError
from npexplore.machine.described.resources import operands
from npexplore.machine.resources import KINDS, AddressMap, DramTiming, WriteBuffer
from npexplore.machine.resources.base import OwnFaces, Resource, Server
from npexplore.machine.resources.dram_device import dram_device
from npexplore.machine.resources.dram_timing import dram_parts

BEGIN, END = "<!-- kinds -->", "<!-- end of kinds -->"
SHOWN: dict[str, dict[str, Any]] = {  # of each kind one with all its servers
    "processor": {"engines": 4, "clock_hz": 1e9},
    "server": {"service_s": 1e-8, "units": 2, "members": 3},
    "accelerator": {"interval_s": 1e-8, "latency_s": 2e-8, "window": 4},
    "channel": {"rate_hz": 1e8, "depth": 2},
    "arbiter": {"requesters": 4, "interval_s": 1e-8, "groups": 2},
    "reorder": {"places": 8},
    "balancer": {"over": "others", "members": 3},
    "delay": {},
    "memory": {"word_bytes": 4, "word_s": 1e-9, "channels": 2, "split_ports": True},
    "dram": {"banks": 4, "bus_bytes_per_s": 1.6e9, "overhead_bytes": 12, "slots": 8, "queue_limit": 10},
    "ddr": {"banks": 8, "bus_bytes": 8, "slots": 16, "write_buffer": WriteBuffer(32, 24),
            "address_map": AddressMap()},
    "dram_controller": {"channels": 2, "address_map": AddressMap("row bank column channel", 8192)},
    "pool": {"count": 16},
    "queue": {"capacity": 32},
    "banked_memory": {"word_bytes": 8, "word_s": 1e-8, "banks": 4, "precharge_s": 2e-8},
    "policer": {"rates_pps": [1e6]},
    "scheduled_queue": {"capacity": 64, "weights": {"high": 2, "low": 1}, "ports": 4},
    "line_card": {"bytes_per_s": 1.25e9, "buffer_bytes": 4096},
    "mesh": {"columns": 2, "rows": 1, "clock_hz": 1e9, "fifo_depth": 4},
    "streams": {"columns": 2, "rows": 1, "clock_hz": 1e9, "paths": [[[0, 1]]]},
    "lock": {"clock_hz": 1e9},
    "matrix": {"ports": 4, "word_s": 1e-9},
}  # fmt: skip


def table() -> str:
    """Return the table as Markdown; raises InputError for a listed kind without an example in SHOWN."""
    lines = ["| kind | made from | visits | servers, members x units | one face |", "|---|---|---|---|---|"]
    kinds: Mapping[str, Any] = KINDS
    for name, kind in kinds.items():
        if name not in SHOWN:
            raise InputError(f"kind {name!r} needs an example in SHOWN of npexplore/machine/described/kinds.py")
        given = dict(SHOWN[name])
        needs = operands(kind, without={"name": None})
        if "timing" in needs:
            given["timing"] = DramTiming.of(dram_parts()["ddr_400"])
        if "device" in needs:
            given["device"] = dram_device("ddr4_3200")
        made = kind(name, **given)
        face = f"no: {kind.WHY}" if issubclass(kind, OwnFaces) else "yes"
        from_ = ", ".join(key if must else f"[{key}]" for key, (_, must) in needs.items())
        servers = ", ".join(_server(server, name) for server in made.servers()) or "none"
        lines.append(f"| `{name}` | {from_} | {_visits(made)} | {servers} | {face} |")
    return "\n".join(lines)


def _visits(made: Resource) -> str:
    told = []
    for visit, names in made.VISITS.items():
        shown = ", ".join(f"[{name}]" if name in made.OPTIONAL else name for name in names)
        told.append(f"{visit}({shown})" + (" gives a number" if visit in made.RESULTS else ""))
    return "; ".join(told)


def _server(server: Server, name: str) -> str:
    word = server.name.removeprefix(f"{name}.")
    size = f" {server.members} x {server.units}" if (server.members, server.units) != (1, 1) else ""
    return f"{word}{size}" + (f" ({server.role})" if server.role != "queue" else "")


def write(page: Path) -> None:
    """Write the table between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
