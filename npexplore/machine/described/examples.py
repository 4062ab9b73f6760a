"""Default parameters, usual visit and its operands of each kind, part and common name of a resource."""

from typing import Any

from npexplore.machine.described.named import LENGTH, NAMED
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import Example

DEFAULTS: dict[str, Example] = {
    **{name: kind.EXAMPLE for name, kind in KINDS.items()},
    "pcie_link": Example({"generation": 3, "lanes": 8}, "write", {"bytes": LENGTH}),
    "pcie_wires": Example({"generation": 3, "lanes": 8}, "post", {"bytes": LENGTH}),
    "qdr_sram": Example({"clock_mhz": 200.0}, "read", {"bytes": 8}),
    "hash_unit": Example({"clock_mhz": 200.0, "latency_clocks": 20}, "hash", {"bytes": 16}),
    "ethernet_port": Example({"rate": 100}, "send", {"bytes": LENGTH}),
    "byte_engine": Example({"bytes_per_s": 1e10}, "process", {"bytes": LENGTH}),
    "cpu_caches": Example({}, "touch", {"l2_lines": 2, "l3_lines": 1, "memory_lines": 1, "page_walks": 0}),
}  # fmt: skip


def usual_values(name: str) -> dict[str, Any]:
    """Return the default parameters of a name of NAMED."""
    named = NAMED[name]
    return {**DEFAULTS[named.kind].parameters, **named.parameters}
