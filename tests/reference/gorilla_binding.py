"""The router's declarations held to what its steps do, and what is known to differ.

The declared fields are chosen so that the program splits into as many steps as the paper counts (10, 12, 13); the paper
does not say what its steps read. What a step does beyond them is listed here with its reason, and nothing else is let
through: neither a further difference nor one of these that went away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference.step_declarations import CALL, IDLE, UNDECLARED, Disagreement, Key, check_declared
from reference.step_tracing import Tracer, Uses

from npexplore.designs.gorilla.steps.router import PROTOCOLS, Box, accelerators, engine_program
from npexplore.golden.flow_counters import FlowCounters
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.policy import Policy
from npexplore.golden.router.sides import Side
from npexplore.machine.step_programs.compiler import Compiled, compile_steps
from npexplore.machine.step_programs.language import Field, Step, StepProgram

WATCHED = Box, Forwarder, Router, Policy, Side, FlowCounters
REGISTERS = "a value kept from the step before, as in a register; the scratchpad is not read again"
METADATA = "the port of arrival, read with the first step"
KNOWN: Mapping[Key, str] = {
    ("dispatch", IDLE, "metadata"): "there is one layer 2, so that nothing is dispatched by",
    ("ethernet", CALL, "port"): METADATA,
    ("mpls_extract", UNDECLARED, "frame"): "the link's address and type, judged once more for labelled frames",
    ("mpls_extract", UNDECLARED, "packet"): "the first label looks for the bottom, among as many as are looked through",
    ("mpls_extract", UNDECLARED, "port"): METADATA,
    ("mpls_modify", UNDECLARED, "packet"): "what lies below the label: version, time to live and checksum",
    ("ipv4_extract", CALL, "packet"): "the checksum goes over options, which come from the packet as it is received",
    ("ipv4_check", UNDECLARED, "header.header_length"): REGISTERS,
    ("ipv4_check", UNDECLARED, "header.source"): REGISTERS,
    ("ipv4_check", UNDECLARED, "header.destination"): REGISTERS,
    ("ipv4_modify", UNDECLARED, "header.total_length"): REGISTERS,
    ("ipv4_modify", UNDECLARED, "packet"): "time to live, protocol and checksum; the version where labels are pushed",
    ("ipv4_modify", UNDECLARED, "port"): METADATA,
    ("ipv6_check", UNDECLARED, "header.next_header"): REGISTERS,
    ("ipv6_check", UNDECLARED, "header.source"): REGISTERS,
    ("ipv6_check", UNDECLARED, "header.destination"): REGISTERS,
    ("ipv6_check", UNDECLARED, "destination"): REGISTERS,
    ("ipv6_modify", UNDECLARED, "source"): REGISTERS,
    ("ipv6_modify", UNDECLARED, "destination"): REGISTERS,
    ("ipv6_modify", UNDECLARED, "port"): METADATA,
}
_LINKS, _PORTS = "addresses of the router's links: comparators", "MTU and addresses by port: a small table"
_HOPS, _MACS = "next hops by the reply's number: a table of an engine", "addresses of neighbours: associative"
_BROADCASTS, _KINDS = "broadcast addresses of a link: comparators", "reasons by kind of route: four constants"
TABLES: Mapping[str, Mapping[str, str]] = {  # looked into without a call, and what each would be in hardware
    "ethernet": {"TYPES": "four constants", "TAGS": "constants"},
    "mpls_extract": {"Router.ports": _PORTS},
    "mpls_modify": {"Router.ports": _PORTS},
    "ipv4_check": {"Side4.links": _LINKS, "Side4.martians": "prefixes that are constants: comparators"},
    "ipv4_modify": {
        "Side4.hops": _HOPS, "Side4.neighbours": _MACS, "Router.ports": _PORTS, "Side4.links": _LINKS,
        "Side4._broadcasts": _BROADCASTS, "Side4.refusals": _KINDS,
    },
    "ipv6_check": {"CHAINED": "numbers of extension headers: constants", "Side6.own": _LINKS},
    "ipv6_modify": {
        "Side6.hops": _HOPS, "Side6.neighbours": _MACS, "Router.ports": _PORTS, "Side6.ports": _LINKS,
        "Side6._broadcasts": _BROADCASTS, "Side6.refusals": _KINDS,
    },
}  # fmt: skip


def tracer(
    box: Box, protocols: Sequence[str] = PROTOCOLS, counting: bool = False, uses: Mapping[str, Uses] | None = None
) -> Tracer:
    """Return what traces an engine's program; uses: of steps traced before, over other tables, to go on with."""
    made = Tracer(engine_program(box, protocols, counting), accelerators(box), WATCHED)
    made.uses.update({name: one for name, one in (uses or {}).items() if name in made.uses})
    return made


def trace(of: Tracer, port: int, frame: bytes) -> None:
    """Run a frame through, as `forward` does."""
    of.run(port=port, frame=frame, sent=None, reason=Reason.NONE, left_to_control=False)


def check(of: Tracer) -> tuple[Disagreement, ...]:
    """Return the known disagreements of a traced program; raises ModelError for any other, or a table not listed.

    Packets must have gone all ways through the program: one that is known and did not show is an error too.
    """
    steps = of.program.steps
    known = [key for key in KNOWN if key[0] in steps]
    return check_declared(of.program, of.uses, known, {name: TABLES.get(name, {}) for name in steps})


def recompiled(
    compiled: Compiled, uses: Mapping[str, Uses], ports: Mapping[str, int] | None = None, whole_words: bool = False
) -> Compiled:
    """Return a program split by the bits that steps themselves look at, instead of those they declare.

    whole_words: a step takes each word of the scratchpad that has one of them, a region beginning with a word; without
    it, as `compile_steps` does, their number alone counts.
    """
    program, width = compiled.program, compiled.width_bits
    split = StepProgram(program.name, program.start)
    for step in program.steps.values():
        spans: dict[str, set[int]] = {}
        for (_, region), bits in uses[step.name].reads.items():
            spans.setdefault(region, set()).update(bits)
        count = sum(
            width * len({bit // width for bit in bits}) if whole_words else len(bits) for bits in spans.values()
        )
        reads: tuple[str, ...] = ()
        if count:
            split.fields[step.name] = Field(step.name, count, region="derived")
            reads = (step.name,)
        split.add(Step(step.name, step.run, reads, step.calls, step.goes, step.keeps))
    return compile_steps(split, width, ports)
