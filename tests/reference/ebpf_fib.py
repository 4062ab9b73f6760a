"""A program that calls fib_lookup, asked about a router's tables: in the Linux kernel's namespace, and here.

`python tests/reference/ebpf_fib.py [QUESTIONS] [SEED]` compares; `--record` writes the kernel's answers.
"""

import struct
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.ebpf_kernel import FOLDER

import npexplore as npx
from npexplore._kernels import ebpf as k
from npexplore.golden.router.configuration import NeighbourRecord, PortRecord, RouteRecord, RouterFile, resolve_router
from npexplore.programs.linux import LinuxProgram
from npexplore.testing import forwarding_tables
from npexplore.testing.linux_kernel import LinuxKernel
from npexplore.testing.namespaces import FIRST_LINK_NUMBER, inside

RECORDED = FOLDER / "answers_fib.txt"
PARAMETERS, IFINDEX = 22, 30  # where struct bpf_fib_lookup stands in a frame, and its interface
ABSENT = 500  # an interface that neither has
ROUTER = resolve_router(RouterFile(
    port=[
        PortRecord(name="a", address="10.0.0.1/24", mac="02:00:00:00:00:01", peer_mac="02:00:00:00:01:01",
                   address6="2001:db8:a::1/64"),
        PortRecord(name="b", address="10.0.1.1/30", mac="02:00:00:00:00:02", peer_mac="02:00:00:00:01:02", mtu=1300,
                   address6="2001:db8:b::1/64", addresses=["10.0.9.1/28"]),
        PortRecord(name="c", address="10.0.2.0/31", mac="02:00:00:00:00:03", peer_mac="02:00:00:00:01:03", mtu=9000),
    ],
    neighbour=[NeighbourRecord(address="10.0.0.7", mac="02:00:00:00:07:07"),
               NeighbourRecord(address="2001:db8:a::7", mac="02:00:00:00:07:08")],
    route=[
        RouteRecord(prefix="0.0.0.0/0", via="10.0.1.2"), RouteRecord(prefix="172.16.0.0/12", via="10.0.2.1"),
        RouteRecord(prefix="172.16.7.0/24", kind="blackhole"),
        RouteRecord(prefix="172.16.8.0/24", kind="unreachable"),
        RouteRecord(prefix="172.16.9.0/24", kind="prohibit"), RouteRecord(prefix="192.0.2.1/32", via="10.0.0.7"),
        RouteRecord(prefix="2001:db8::/32", via="2001:db8:b::2"),
        RouteRecord(prefix="2001:db8:7::/48", kind="blackhole"),
        RouteRecord(prefix="2001:db8:8::/48", kind="unreachable"),
        RouteRecord(prefix="2001:db8:9::/48", kind="prohibit"),
        RouteRecord(prefix="2001:db8:c::/64", via="2001:db8:a::7"),
    ],
))  # fmt: skip
NETWORKS = {
    2: ["10.0.0.0/29", "10.0.0.252/30", "10.0.1.0/30", "10.0.2.0/31", "10.0.9.0/28", "172.16.0.0/12", "172.16.7.0/24",
        "172.16.8.0/30", "172.16.9.0/30", "192.0.2.0/30", "8.8.0.0/16", "127.0.0.0/8", "224.0.0.0/4",
        "255.255.255.255/32"],
    10: ["2001:db8:a::/125", "2001:db8:b::/125", "2001:db8:7::/48", "2001:db8:8::/48", "2001:db8:9::/48",
         "2001:db8:c::/64", "2001:db8:f000::/36", "2001:dead::/32", "fe80::/10", "ff00::/8", "::1/128", "::/125"],
}  # fmt: skip


def address(random, family):
    network = ip_network(random.choice(NETWORKS[family]))
    return network[random.randrange(network.num_addresses)].packed.ljust(16, b"\0")


def questions(count, seed):
    """Return frames for `ask_tables`, with interfaces 1 to 3 or ABSENT."""
    random = Random(seed)
    frames = []
    for _ in range(count):
        family = random.choice((2, 2, 10, 10, 7)) if random.random() < 0.2 else random.choice((2, 10))
        of = family if family in NETWORKS else 2
        size = random.choice((0, 0, 0, 0, 1280, 1300, 1301, 1500, 1501, 9001, 65535))
        place = ABSENT if random.random() < 0.05 else random.randrange(1, 4)
        words = struct.pack("<BBHHHII", family, 17, random.getrandbits(16), random.getrandbits(16), size, place, 0)
        asked = words + address(random, of) + address(random, of) + random.randbytes(16)
        flags = random.choice((0, 0, 4, 64)) if random.random() < 0.3 else 0
        wrong_size = random.random() < 0.03
        frames.append(bytes(14) + bytes(4) + bytes([flags, wrong_size, 0, 0]) + asked)
    return frames


def moved(frame, away):
    """Return a frame with its interface renumbered, unless it is ABSENT."""
    (place,) = struct.unpack_from("<I", frame, IFINDEX)
    place += away if place != ABSENT else 0
    return frame[:IFINDEX] + place.to_bytes(4, "little") + frame[IFINDEX + 4 :]


def own(frames):
    run = npx.program(FOLDER / "fib.o", "ask_tables").run(frames, fib=forwarding_tables(ROUTER))
    assert not run.faults
    return list(zip(run.rows[:, k.VERDICT].tolist(), run.packets, strict=True))


def live(frames):
    """Return the kernel's answers, asked inside of a router's namespace."""
    program = npx.program(FOLDER / "fib.o", "ask_tables")
    with LinuxKernel(ROUTER) as kernel:
        for frame in frames:
            if frame[PARAMETERS] == 10:
                packet = bytes([0x60]) + bytes(7) + frame[PARAMETERS + 16 : PARAMETERS + 48] + bytes(8)
                kernel.introduce([(0, bytes(12) + b"\x86\xdd" + packet)])

        def asked():
            with LinuxProgram(program) as loaded:
                return [loaded.run(moved(frame, FIRST_LINK_NUMBER - 1))[:2] for frame in frames]

        answers = inside(kernel._namespaces[0], asked)
    return [(verdict, moved(frame, 1 - FIRST_LINK_NUMBER)) for verdict, frame in answers]


def explained(frame):
    """Return what a frame says, for people."""
    (result,) = struct.unpack_from("<i", frame, 14)
    family, _, _, _, length, place, metric = struct.unpack_from("<BBHHHII", frame, PARAMETERS)
    width = 16 if family == 10 else 4
    to = ip_address(frame[PARAMETERS + 32 : PARAMETERS + 32 + width])
    where = f"interface {place} metric {metric} to {to} macs {frame[74:86].hex()}"
    return f"result {result} flags {frame[18]} length {length} {where}"


if __name__ == "__main__":
    count, seed = (*map(int, sys.argv[1:]), 2000, 1)[:2] if sys.argv[1:] != ["--record"] else (300, 0)
    asked = questions(count, seed)
    answers = live(asked)
    if sys.argv[1:] == ["--record"]:
        RECORDED.write_text("".join(frame[14:].hex() + "\n" for _, frame in answers), encoding="utf-8")
    mine = own(asked)
    wrong = [n for n in range(count) if mine[n] != answers[n]]
    for n in wrong[:10]:
        print("asked", explained(asked[n]), "\n here", explained(mine[n][1]), "\n kernel", explained(answers[n][1]))
    results = [struct.unpack_from("<i", frame, 14)[0] for _, frame in answers]
    print(
        f"{count:,} questions, {len(wrong)} differ; results { ({r: results.count(r) for r in sorted(set(results))}) }"
    )
    sys.exit(bool(wrong))
