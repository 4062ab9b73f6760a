"""Packets to verify Gorilla's engine with: frames that are forwarded, and frames that test every rule of its router.

    probes       frames of the conformance bench, one per rule, for any router (npexplore.testing)
    drawn        frames from hypothesis strategies near the router's routes, links and labels; fixed by the seed
    captures     frames of real networks, readdressed to this router
    changed      any of these frames, unchanged, with one bit flipped, or truncated

`tried` starts with one frame for each path through the program (its steps and its outcome).
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
SHARES = (0.05, 0.1, 0.7, 0.15)  # probabilities of times to live 1, 2, 64 and 255
GROUP = b"\x33\x33\x00\x00\x00\x01"


def reasons_of(program: LoweredProgram, protocols: Sequence[str]) -> set[Reason]:
    """Return the reasons for which a lowered program may drop a packet.

    LOCAL_DELIVERY is excluded: such packets are not dropped. With MPLS alone, packets below labels are known to have an
    IPv4 header, so that TOO_SHORT and BAD_VERSION cannot occur.
    """
    never = {Reason.NONE, Reason.LOCAL_DELIVERY}
    if "mpls" in protocols and "ipv4" not in protocols:
        never |= {Reason.TOO_SHORT, Reason.BAD_VERSION}
    return {by_code(code) for code in values_of(program, "reason")} - never


def ends(box: Box, protocols: Sequence[str], cases: Iterable[Case], counting: bool = False) -> Counter[str]:
    """Run the step program and count the outcomes of packets: `sent`, `control`, or the name of a drop reason."""
    compiled = engine_program(box, protocols, counting)
    return Counter(end for _, end in _ways(box, compiled, cases))


def _ways(box: Box, compiled: Compiled, cases: Iterable[Case]) -> Iterator[tuple[tuple[str, ...], str]]:
    units = accelerators(box)
    for port, frame in cases:
        trace = forward(compiled, units, port, frame)
        context = trace.context
        end = CONTROL if context.left_to_control else SENT if context.sent else by_code(context.reason).name
        yield tuple(step.name for step in trace.passed), end


def rated(box: Box, protocols: Sequence[str], count: int) -> list[Case]:
    """Return minimum-size frames that Gorilla's router forwards, of protocols in turn, with one to four labels."""
    rng, ports = np.random.default_rng(2), box.golden.router.ports[:PORTS]
    kinds = [kind for name in protocols for kind in KINDS.get(name, (name,))]
    cases = []
    for number in range(count):
        port = ports[number % len(ports)]
        cases.append((port.number, port.mac + made_frame(kinds[number % len(kinds)], box, rng)[6:]))
    return cases


def tried(box: Box, protocols: Sequence[str], count: int, seed: int = 1, known: Sequence[Case] = ()) -> list[Case]:
    """Return `count` frames that test a router; frames on a new path through the program come first.

    known: additional frames to choose from. Raises InputError if hypothesis is not installed.
    """
    if find_spec("hypothesis") is None:
        raise InputError("packets that try a router are drawn by hypothesis, which is missing; install npexplore[test]")
    from npexplore.testing.probes import probes

    pool = [*known, *probes(box.golden.router), *captured(box), *drawn(box, protocols, min(count, MOST_DRAWN), seed)]
    if LABELLED & set(protocols):
        pool += below_labels(box, pool, seed)
    first, paths = list[Case](), set[object]()
    for case, path in zip(pool, _ways(box, engine_program(box, protocols, True), pool), strict=True):
        if path not in paths:
            paths.add(path)
            first.append(case)
    remaining = max(0, count - len(first))
    return [*first, *changed(pool, remaining, seed)][:count]


def drawn(box: Box, protocols: Sequence[str], count: int, seed: int = 1) -> list[Case]:
    """Return frames drawn from the protocols' hypothesis strategies; the seed fixes them."""
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
    """Return the IPv4 and IPv6 packets among frames, each below one to four of the router's labels; some too long."""
    labels, rng, cases = box.labels, np.random.default_rng(seed), list[Case]()
    if labels is None:
        return []
    entries = {label: labels.entries[number] for label, number in labels.number.items()}
    here = [label for label, entry in entries.items() if entry.port == HERE] or list(entries)
    for k, (port, frame) in enumerate(frames):
        if frame[12:ETHERNET] in (IPV4_TYPE, IPV6_TYPE) and here:
            chosen = [int(rng.choice(here)) for _ in range(int(rng.integers(4)))]
            chosen.append(int(rng.choice(here if k % 3 else list(entries))))
            rows = [
                Label(label, int(rng.integers(8)), ttl=int(rng.choice((1, 2, 64, 255), p=SHARES))) for label in chosen
            ]
            padding = bytes(TOO_LONG if k % 9 == 0 else 0)
            cases.append((port, frame[:12] + MPLS_TYPE + write_stack(rows) + frame[ETHERNET:] + padding))
    return cases


def _framed(box: Box, packets: Any, kind: bytes) -> Any:
    """Return a strategy for frames that arrive at any port, to its MAC address or to a multicast address."""
    from hypothesis import strategies as st

    def framed(port: int, packet: bytes, dice: int) -> Case:
        return port, (box.golden.router.ports[port].mac if dice else GROUP) + bytes(6) + kind + packet

    return st.builds(framed, st.integers(0, len(box.golden.router.ports) - 1), packets, st.integers(0, 7))


def captured(box: Box) -> list[Case]:
    """Return frames of the package's captures; unicast frames get the MAC address of the port at which they arrive."""
    ports, cases = box.golden.router.ports, list[Case]()
    for file in sorted(share("data", "captures").glob("*.pcap*")):
        for k, (_, frame) in enumerate(read_frames(file)):
            if k < MOST_OF_A_CAPTURE and ETHERNET <= len(frame) <= LONGEST:
                port = k % len(ports)
                cases.append((port, (frame[:6] if frame[0] & 1 else ports[port].mac) + frame[6:]))
    return cases


def changed(frames: Sequence[Case], count: int, seed: int = 1) -> list[Case]:
    """Return `count` copies of random frames: about half unchanged, the others with one bit flipped or truncated."""
    rng, cases = np.random.default_rng(seed), list[Case]()
    while len(cases) < count:
        port, frame = frames[int(rng.integers(len(frames)))]
        mutant, change = bytearray(frame), int(rng.integers(4))
        if change == 1:
            mutant[int(rng.integers(min(len(mutant), ETHERNET + 40)))] ^= 1 << int(rng.integers(8))
        elif change == 2 and len(mutant) > ETHERNET:
            mutant = mutant[: int(rng.integers(ETHERNET, len(mutant) + 1))]
        cases.append((port, bytes(mutant)))
    return cases
