"""Packets to verify Gorilla's engine with: frames that are forwarded, and frames that try every rule of its router.

    probes       of the conformance bench: rule by rule, for any router (npexplore.testing)
    drawn        hypothesis strategies around the router's routes, links and labels, the same ones each time
    captures     frames of real networks, as sent to this router
    changed      all of these with a bit changed, or cut short

`tried` begins with one frame for each way through the program: its steps, and how it ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from ipaddress import IPv6Network
from typing import Any

import numpy as np

from npexplore.designs.gorilla.steps.router import LABELS, Box, accelerators, engine_program, forward
from npexplore.designs.gorilla.traffic import PORTS
from npexplore.designs.gorilla.traffic import frame as made_frame
from npexplore.errors import InputError
from npexplore.golden.ethernet import ETHERNET, IPV4_TYPE, IPV6_TYPE, MPLS_TYPE
from npexplore.golden.mpls.stack import Label, write_stack
from npexplore.golden.mpls.switch import HERE
from npexplore.golden.reasons import Reason, by_code
from npexplore.hardware.outcomes import values_of
from npexplore.hardware.programs import LoweredProgram
from npexplore.machine.step_programs import Compiled
from npexplore.packets.frames import read_frames
from npexplore.paths import share

Case = tuple[int, bytes]
KINDS = {"mpls": ("mpls_1", "mpls_2", "mpls_3", "mpls_4"), LABELS: ("mpls_1", "mpls_2", "mpls_3", "mpls_4")}
LABELLED = frozenset(KINDS)
SENT, CONTROL = "sent", "control"
MOST_OF_A_CAPTURE, LONGEST, MOST_DRAWN, TOO_LONG = 200, 1514, 1500, 1600
SHARES = (0.05, 0.1, 0.7, 0.15)  # of times to live of 1, 2, 64 and 255
GROUP = b"\x33\x33\x00\x00\x00\x01"


def reasons_of(program: LoweredProgram, protocols: Sequence[str]) -> set[Reason]:
    """Return the reasons for which a lowered program drops a packet.

    What is for the router is not dropped; what is handed to IPv4 from below labels has been seen to be a header of it.
    """
    never = {Reason.NONE, Reason.LOCAL_DELIVERY}
    if "mpls" in protocols and "ipv4" not in protocols:
        never |= {Reason.TOO_SHORT, Reason.BAD_VERSION}
    return {by_code(code) for code in values_of(program, "reason")} - never


def ends(box: Box, protocols: Sequence[str], cases: Iterable[Case], counting: bool = False) -> Counter[str]:
    """Return how often packets end as they do in the step program: `sent`, `control`, or the name of a reason."""
    compiled = engine_program(box, protocols, counting)
    return Counter(end for _, end in _ways(box, compiled, cases))


def _ways(box: Box, compiled: Compiled, cases: Iterable[Case]) -> Iterator[tuple[tuple[str, ...], str]]:
    units = accelerators(box)
    for port, frame in cases:
        trace = forward(compiled, units, port, frame)
        context = trace.context
        end = CONTROL if context.left_to_control else SENT if context.sent else by_code(context.reason).name
        yield tuple(one.name for one in trace.passed), end


def rated(box: Box, protocols: Sequence[str], count: int) -> list[Case]:
    """Return minimum-size frames that Gorilla's router forwards, of protocols in turn; labels are one to four."""
    rng, ports = np.random.default_rng(2), box.golden.router.ports[:PORTS]
    kinds = [kind for name in protocols for kind in KINDS.get(name, (name,))]
    cases = []
    for k in range(count):
        port = ports[k % len(ports)]
        cases.append((port.number, port.mac + made_frame(kinds[k % len(kinds)], box, rng)[6:]))
    return cases


def tried(box: Box, protocols: Sequence[str], count: int, seed: int = 1, known: Sequence[Case] = ()) -> list[Case]:
    """Return so many frames that try a router, those that come by a new way first; needs hypothesis.

    known: further frames to take from. Raises InputError without hypothesis.
    """
    if find_spec("hypothesis") is None:
        raise InputError("packets that try a router are drawn by hypothesis, which is missing; install npexplore[test]")
    from npexplore.testing.probes import probes

    pool = [*known, *probes(box.golden.router), *captured(box), *drawn(box, protocols, min(count, MOST_DRAWN), seed)]
    if LABELLED & set(protocols):
        pool += below_labels(box, pool, seed)
    first, seen = list[Case](), set[object]()
    for case, way in zip(pool, _ways(box, engine_program(box, protocols, True), pool), strict=True):
        if way not in seen:
            seen.add(way)
            first.append(case)
    left = max(0, count - len(first))
    return [*first, *changed(pool, left, seed)][:count]


def drawn(box: Box, protocols: Sequence[str], count: int, seed: int = 1) -> list[Case]:
    """Return frames drawn from strategies of the protocols, the same ones for a seed; needs hypothesis."""
    from hypothesis import strategies as st

    from npexplore.testing.drawing import cases_for
    from npexplore.testing.routers import frames
    from npexplore.testing.strategies import ipv4_packets
    from npexplore.testing.strategies6 import addresses_near6, ipv6_packets, label_stacks

    router = box.golden.router
    parts = [frames(router)]
    if router.six is not None and "ipv6" in protocols:
        networks = [IPv6Network((row.value, row.length)) for row in router.six.routes]
        near = st.sampled_from(addresses_near6([(network, 0) for network in networks]))
        parts.append(_framed(box, ipv6_packets(source=near, destination=near), b"\x86\xdd"))
    if router.labels is not None and LABELLED & set(protocols):
        label = st.one_of(st.sampled_from([*router.labels.number, 0, 1, 2, 3, 7]), st.integers(0, (1 << 20) - 1))
        routed = st.sampled_from(rated(box, ["ipv4"], 64)).map(lambda case: case[1][ETHERNET:])
        below = st.one_of(routed, ipv4_packets(), ipv6_packets(), st.binary(max_size=12))
        parts += [_framed(box, label_stacks(label=label, payload=below, depth=9), kind) for kind in (b"\x88\x47",) * 2]
    return cases_for(router, count, cases=st.one_of(parts), start=seed)


def below_labels(box: Box, frames: Sequence[Case], seed: int = 1) -> list[Case]:
    """Return the packets of IPv4 and IPv6 among frames below one to four labels of a router, some made too long."""
    labels, rng, cases = box.labels, np.random.default_rng(seed), list[Case]()
    if labels is None:
        return []
    entries = {label: labels.entries[number] for label, number in labels.number.items()}
    here = [label for label, entry in entries.items() if entry.port == HERE] or list(entries)
    for k, (port, frame) in enumerate(frames):
        if frame[12:ETHERNET] in (IPV4_TYPE, IPV6_TYPE) and here:
            chosen = [int(rng.choice(here)) for _ in range(int(rng.integers(4)))]
            chosen.append(int(rng.choice(here if k % 3 else list(entries))))
            rows = [Label(one, int(rng.integers(8)), ttl=int(rng.choice((1, 2, 64, 255), p=SHARES))) for one in chosen]
            long = bytes(TOO_LONG if k % 9 == 0 else 0)
            cases.append((port, frame[:12] + MPLS_TYPE + write_stack(rows) + frame[ETHERNET:] + long))
    return cases


def _framed(box: Box, packets: Any, kind: bytes) -> Any:
    """Return a strategy of frames by any port, to its address or to a group of stations."""
    from hypothesis import strategies as st

    def framed(port: int, packet: bytes, dice: int) -> Case:
        return port, (box.golden.router.ports[port].mac if dice else GROUP) + bytes(6) + kind + packet

    return st.builds(framed, st.integers(0, len(box.golden.router.ports) - 1), packets, st.integers(0, 7))


def captured(box: Box) -> list[Case]:
    """Return frames of the captures that come with the package, each to the address of the port that it comes by."""
    ports, cases = box.golden.router.ports, list[Case]()
    for file in sorted(share("data", "captures").glob("*.pcap*")):
        for k, (_, frame) in enumerate(read_frames(file)):
            if k < MOST_OF_A_CAPTURE and ETHERNET <= len(frame) <= LONGEST:
                port = k % len(ports)
                cases.append((port, (frame[:6] if frame[0] & 1 else ports[port].mac) + frame[6:]))
    return cases


def changed(frames: Sequence[Case], count: int, seed: int = 1) -> list[Case]:
    """Return packets made of others: some as they are, some with a bit changed, or cut short."""
    rng, cases = np.random.default_rng(seed), list[Case]()
    while len(cases) < count:
        port, frame = frames[int(rng.integers(len(frames)))]
        mutant, what = bytearray(frame), int(rng.integers(4))
        if what == 1:
            mutant[int(rng.integers(min(len(mutant), ETHERNET + 40)))] ^= 1 << int(rng.integers(8))
        elif what == 2 and len(mutant) > ETHERNET:
            mutant = mutant[: int(rng.integers(ETHERNET, len(mutant) + 1))]
        cases.append((port, bytes(mutant)))
    return cases
