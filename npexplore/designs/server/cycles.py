"""A core's cycles per packet of each program: measured cycles, and cycles derived from others.

drop_read = drop + a line of the second cache        ddos_filter = drop_read + cost of its instructions
ipvs = route + drop_conntrack - drop_filter          a full table: route + lookups x (mispredictions + lines)
"""

from __future__ import annotations

from functools import cache
from math import log2

from npexplore.designs.server.caches import KB, caches, lookup_cycles, lookup_miss
from npexplore.errors import ModelError
from npexplore.machine.parameters import Parameters
from npexplore.programs.costs import read_costs

KERNEL_419 = 4.19
KERNELS = (4.18, KERNEL_419)
MAX_FLOWS = 20_000  # flows of the largest calibration row: all lines of the table miss the near caches by then
SMALL_RING = 128
ALL_CALLS = 10  # the driver's function calls per packet, before any is optimised away


def cycles(p: Parameters) -> float:
    """Return a core's cycles per packet, without cache misses of packet lines.

    Raises ModelError for a program without a measurement for this stack, card or kernel.
    """
    p.assume("even" if p.steering == "even" else "hashed")
    if p.program == "own":
        return float(p.own_cycles) + lookup_cycles(p)
    saved_calls = ALL_CALLS - int(p.calls)
    packet_cycles = _program(p) - saved_calls * float(p.call_ns) * float(p.clock_mhz) * 1e-3
    if packet_cycles <= 0:
        raise ModelError(
            f"call_ns must leave cycles of {p.stack} {p.program} where {saved_calls} calls are spared, got {p.call_ns}"
        )
    return packet_cycles * (1 + float(p.shared_share) * (int(p.cores) - 1)) if p.stack == "linux" else packet_cycles


def _program(p: Parameters) -> float:
    """Return a program's cycles on one core with all function calls of the driver."""
    stack, program = str(p.stack), str(p.program)
    if (p.kernel == KERNEL_419 or p.nic == "xl710") and (stack, program) != ("xdp", "drop"):
        raise _unmeasured(p, f" with kernel {p.kernel} and {p.nic}")
    if p.nic == "xl710":
        return float(p.clock_mhz) / float(p.xl710_mpps)  # an upper bound: the card is the bottleneck
    if p.xdp_pass == "on" and stack != "linux":
        raise _unmeasured(p, " and passes every packet on")
    if stack == "xdp":
        packet_cycles = _xdp(p, program)
    else:
        packet_cycles = _ipvs(p) if (stack, program) == ("linux", "ipvs") else _measured(p, f"{stack}_{program}")
    if program == "route" and p.table == "full":
        packet_cycles += _full_table(p) * (int(p.linux_lookups) if stack == "linux" else 1)
    return packet_cycles + (_measured(p, "linux_xdp_pass") if p.xdp_pass == "on" else 0.0)


def _measured(p: Parameters, *names: str) -> float:
    """Return the first of these measured values that the machine file has."""
    for name in names:
        if f"cycles_{name}" in p.file.parameter:
            return float(p[f"cycles_{name}"])
    raise _unmeasured(p)


def _unmeasured(p: Parameters, where: str = "") -> ModelError:
    return ModelError(
        f"nobody measured what {p.stack} takes for program {str(p.program)!r}{where}; program=own takes own_cycles"
    )


def _xdp(p: Parameters, program: str) -> float:
    """Return the cycles of an XDP program, which runs in the driver."""
    if program in ("drop_read", "ddos_filter"):
        p.assume("fetched_ahead")
        read_cycles = _measured(p, "xdp_drop") + float(p.l2_cycles)
        return read_cycles + (_filter_cycles(int(p.filter_instructions)) if program == "ddos_filter" else 0.0)
    variant = {"redirect": int(p.ring) == SMALL_RING and "r128", "route": p.striding == "on" and "striding"}
    names = [f"xdp_{program}_{variant[program]}"] if variant.get(program) else []
    return _measured(p, *names, f"xdp_{program}")


@cache
def _filter_cycles(instructions: int) -> float:
    """Return the cycles of a filter that looks up one counter; checks of headers and port take five branches."""
    return read_costs("x86_server").cycles(
        {"instruction": float(instructions), "branch_taken": 5.0, "lookup.percpu_array": 1.0}
    )


def _ipvs(p: Parameters) -> float:
    """Return the cycles of a packet that is routed with a lookup of its connection."""
    p.assume("connections")
    tracked, filtered = _measured(p, "linux_drop_conntrack"), _measured(p, "linux_drop_filter")
    if tracked < filtered:
        raise ModelError(
            f"cycles_linux_drop_conntrack must be at least cycles_linux_drop_filter = {filtered:g}, got {tracked:g}"
        )
    return _measured(p, "linux_route") + tracked - filtered


def _full_table(p: Parameters) -> float:
    """Return the cycles that a lookup in the full table takes beyond one in a table of one prefix.

    A branch that distinguishes flows splits them in two halves at best and is then mispredicted half of the time: at
    most log2(flows) / 2 mispredictions. Table lines that other flows evicted from the first two caches are fetched
    `lines_at_once` at a time.
    """
    p.assume("unforeseen")
    p.assume("full_table")
    first, second, third = float(p.l1_cycles), float(p.l2_cycles), float(p.l3_cycles)
    if not first <= second <= third:
        raise ModelError(
            f"l1_cycles must be at most l2_cycles, and those at most l3_cycles, got {first:g}, {second:g}, {third:g}"
        )
    flows, hierarchy = min(int(p.flows), MAX_FLOWS), caches(p)
    one_flow, many_flows = (
        lookup_miss(n, int(p.flow_lines), int(p.fib_kb) * KB, hierarchy, int(p.passing_lines)) for n in (1, flows)
    )
    extra = [max(0.0, share - least) for share, least in zip(many_flows, one_flow, strict=True)]
    waits = int(p.flow_lines) / int(p.lines_at_once)
    mispredictions = min(float(p.empty_pointers) + float(p.mismatched_leaves), log2(flows) / 2)
    return mispredictions * float(p.branch_cycles) + waits * ((second - first) * extra[0] + (third - second) * extra[1])
