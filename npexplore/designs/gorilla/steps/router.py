"""The router's step program for any set of protocols: shared steps (Fig. 1) and the steps of each protocol.

    dispatch -> ethernet -> protocol -> [flow_count] -> emit        exception: drop;   control: to the control processor

Compiled for a scratchpad of 128 bits, IPv4 has 10 steps, IPv6 12 and MPLS over IPv4 13, as section 4 says; flow
counting adds one (section 4.5). These counts follow from the fields declared here; steps read more (`binding`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from npexplore.designs.gorilla.steps import ipv4, ipv6, mpls
from npexplore.designs.gorilla.steps.accelerators import flow_counter, header_check, label_table, lookup
from npexplore.designs.gorilla.steps.box import Box as Box
from npexplore.designs.gorilla.steps.outcome import REASON_BITS, TYPES, fail
from npexplore.errors import ModelError, one_of
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.lookup.multibit import MultibitTrie
from npexplore.golden.reasons import Reason
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.vlans import TAGS
from npexplore.machine.step_programs import (
    Answer,
    Call,
    Compiled,
    Context,
    Field,
    Kept,
    StepProgram,
    Trace,
    compile_steps,
    execute,
)

PROTOCOLS = ("ipv4", "ipv6", "mpls")
LABELS = "labels"  # MPLS alone, without the IPv4 below it
ORDER = (  # of steps in the program: all jumps go forward, except the loop over labels
    "dispatch", "ethernet", "mpls_extract", "mpls_lookup", "mpls_modify", "ipv4_extract", "ipv4_check", "ipv6_extract",
    "ipv6_check", "ipv4_lookup", "ipv6_lookup", "flow_count", "ipv4_modify", "ipv6_modify", "control", "exception",
    "emit",
)  # fmt: skip
WIDTH_BITS = 128
PORTS = {"lookup4": 2, "lookup6": 2}  # two ports each, lookupx and lookupy in Fig. 2


def _ends(joined: StepProgram, counting: bool) -> None:
    """Add the flow counter, if `counting`, and the final steps."""
    if counting:
        after = [f"{name}_modify" for name in PROTOCOLS if f"{name}_modify" in joined.steps]

        @joined.step(
            calls=[Call("count", "flow_counter", ["flow"])], goes=after, keeps=[Kept("count", 1, missing=True)]
        )
        def flow_count(c: Context) -> str:
            return str(c.after)

    @joined.step()
    def control(c: Context) -> None:
        """Hand the packet to the control processor."""
        c.left_to_control = True

    @joined.step()
    def exception(c: Context) -> None:
        """Drop the packet with its reason."""

    @joined.step()
    def emit(c: Context) -> None:
        """Hand the header to the post-processor."""
        c.sent = c.out


def router_program(box: Box, protocols: Sequence[str] = PROTOCOLS, counting: bool = False) -> StepProgram:
    """Return the step program of a router.

    Args:
        box: the tables that its steps look up: the golden router's tables, label cache and counters.
        protocols: names in PROTOCOLS; `mpls` includes IPv4 below the labels, `labels` does not.
        counting: whether a step counts the packets of each flow.

    Raises UnknownNameError for an unknown protocol, ModelError for an empty list.
    """
    chosen = [one_of("protocol", name, (*PROTOCOLS, LABELS)) for name in protocols]
    if not chosen:
        raise ModelError("a router program needs at least one protocol, got none")
    program = StepProgram(
        "+".join(chosen), "dispatch",
        [Field("metadata", 32, region="port"), Field("ethernet_header", 8 * ETHERNET, lambda c: c, "frame")],
    )  # fmt: skip
    layer3 = ["mpls" if name == LABELS else name for name in chosen]
    first, labels = {name: f"{name}_extract" for name in layer3}, "mpls" in layer3

    @program.step(["metadata"], goes=["ethernet"])
    def dispatch(c: Context) -> str:
        """Choose the layer-2 protocol, which is always Ethernet."""
        return "ethernet"

    @program.step(
        ["ethernet_header"], [Call("frame_ok", "integrity2", ["ethernet_header"])], [*first.values(), "exception"],
        keeps=[Kept("frame_ok", REASON_BITS), Kept("link_broadcast", 1), *([mpls.KEEPS_LEFT] if labels else [])],
    )  # fmt: skip
    def ethernet(c: Context) -> str:
        name = TYPES.get(c.frame[12:14], "")
        if name not in first:
            return fail(c, Reason.UNKNOWN_VLAN if c.frame[12:14] in TAGS else Reason.NOT_IPV4)
        if c.frame_ok:
            return fail(c, c.frame_ok)
        c.link_broadcast, c.packet = bool(c.frame[0] & 1), c.frame[ETHERNET:]
        if labels:
            c.left = 0
        return first[name]

    parts = []
    if "ipv4" in chosen or "mpls" in chosen:
        parts.append(ipv4.ipv4_steps(box, counting))
    if "ipv6" in chosen:
        parts.append(ipv6.ipv6_steps(box, counting))
    if "mpls" in layer3:
        inner = [name for name in ("ipv4", "ipv6") if f"{name}_extract" in first.values() or name == "ipv4"]
        parts.append(mpls.mpls_steps(box, counting, inner if "mpls" in chosen else ()))
    joined = program.with_steps(*parts)
    _ends(joined, counting)
    order = [name for name in ORDER if name in joined.steps]
    joined.steps = {name: joined.steps[name] for name in order}
    return joined


def engine_program(
    box: Box, protocols: Sequence[str] = PROTOCOLS, counting: bool = False, width_bits: int = WIDTH_BITS
) -> Compiled:
    """Return the compiled program of an engine.

    box, protocols, counting: as in `router_program`. width_bits: width of the scratchpad, in bits.
    """
    return compile_steps(router_program(box, protocols, counting), width_bits, PORTS)


def accelerators(box: Box) -> Mapping[str, Callable[..., Answer]]:
    """Return the accelerators that look up a router's tables, by name."""
    assert isinstance(box.ipv4.lpm, MultibitTrie)
    accelerators: dict[str, Callable[..., Answer]] = {
        "integrity2": header_check(lambda c: frame_fault(box.golden, c)),
        "lookup4": lookup(box.ipv4.lpm),
        "flow_counter": flow_counter(box.counters),
        **{name: header_check(check) for name, check in {**ipv4.INTEGRITY, **ipv6.INTEGRITY}.items()},
    }
    if box.ipv6 is not None:
        assert isinstance(box.ipv6.lpm, MultibitTrie)
        accelerators["lookup6"] = lookup(box.ipv6.lpm)
    if box.labels is not None:
        accelerators["label_table"] = label_table(box.label_cache, box.labels)
    return accelerators


def frame_fault(router: Forwarder, c: Any) -> Reason:
    """Return OTHER_STATION if a frame is not addressed to the port at which it arrived, NONE otherwise."""
    is_for_router = (c.frame[:1] and c.frame[0] & 1) or c.frame[:6] == router.router.ports[c.port].mac
    return Reason.NONE if is_for_router else Reason.OTHER_STATION


def forward(compiled: Compiled, units: Mapping[str, Callable[..., Answer]], port: int, frame: bytes) -> Trace:
    """Run a frame through the program; the context of the returned trace holds the frame's outcome.

    Args:
        compiled: the program of an engine.
        units: the accelerators that it calls, by name.
        port: the number of the port at which the frame arrived.
        frame: its bytes, from the Ethernet header on.

    In the context, `sent` is (port, frame) or None, `reason` why the frame was dropped, and `left_to_control` whether
    it is left to the control processor.
    """
    return execute(
        compiled, units, port=port, frame=frame, sent=None, reason=Reason.NONE, left_to_control=False,
    )  # fmt: skip
