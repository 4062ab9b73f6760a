"""The test programs on seeded packets, in the Linux kernel and in the interpreter: verdict, bytes, maps are equal.

`python tests/reference/ebpf_kernel.py [PACKETS] [SEED]` compares PACKETS (default 7,500) of each program, and then
1,500 random instruction sequences. `--record` writes what the kernel answers into tests/programs/answers.txt, for
machines where programs cannot be loaded. `make kernel-programs` is the long form.
"""

import hashlib
import os
import re
import struct
import sys
from contextlib import contextmanager
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.ebpf_random import random_code

import npexplore as npx
from npexplore._kernels import ebpf as k
from npexplore.programs import Program
from npexplore.programs.linux import LinuxProgram

FOLDER = Path(__file__).parents[1] / "programs"
SHIPPED = Path(__file__).parents[2] / "data" / "programs"
LPM_KEY = struct.Struct("<I4s")
PRE = {
    "routes": {LPM_KEY.pack(bits, bytes(address)): (bits * 3 + n).to_bytes(4, "little")
               for n, (bits, *address) in enumerate([(0, 0, 0, 0, 0), (8, 10, 0, 0, 0), (9, 10, 128, 0, 0),
                                                     (24, 10, 1, 2, 0), (32, 10, 1, 2, 3), (3, 224, 0, 0, 0)])},
    "devices": {n.to_bytes(4, "little"): (1).to_bytes(4, "little") for n in (0, 2, 5)},
    "named_devices": {n.to_bytes(4, "little"): (1).to_bytes(4, "little") for n in (0, 200, 7)},
    "processors": {n.to_bytes(4, "little"): (64).to_bytes(4, "little") for n in (0, 1)},
    "steps": {n.to_bytes(4, "little"): name for n, name in ((0, b"step_a"), (1, b"step_b"), (3, b"drop_all"))},
}  # fmt: skip


OF_A_ROUTER = ("ask_tables",)  # what has no answer without a router: tests/oracle/test_ebpf_fib.py


def programs():
    """Yield (object, name of a program)."""
    for source in sorted([*FOLDER.glob("*.c"), *SHIPPED.glob("*.c")]):
        for name in re.findall(r"^XDP\((\w+)\)", source.read_text(encoding="utf-8"), re.MULTILINE):
            if name not in OF_A_ROUTER:
                yield source.with_suffix(".o"), name


def first_contents(program):
    maps = {name: dict(PRE[name]) for name in PRE if name in {one.name for one in program.used_maps.values()}}
    if "steps" in maps:
        maps["steps"] = {key: name for key, name in maps["steps"].items() if name.decode() in program.entries}
    return maps


def packets(count, rng):
    """Return packets: random bytes, and IPv4, IPv6, VLAN and ARP frames with few addresses, some cut or changed."""
    kinds = rng.integers(0, 8, count)
    lengths = rng.integers(14, 140, count)
    lengths[rng.random(count) < 0.02] = 1500
    made = []
    for kind, length in zip(kinds.tolist(), lengths.tolist(), strict=True):
        body = bytearray(rng.integers(0, 256, length, np.uint8).tobytes())
        if kind >= 2:
            head = {2: b"\x81\x00", 3: b"\x08\x06", 4: b"\x86\xdd"}.get(kind, b"\x08\x00")
            body[12:14] = head
            few = rng.integers(0, 4, 16).tolist()
            if kind == 2:
                body[16:18] = b"\x08\x00" if few[0] else b"\x00\x01"
            if kind == 4 and length > 54:
                body[14] = 0x60
                body[20] = (0, 6, 17, 43)[few[0]]
                body[54:56] = bytes([(0, 6, 60, 58)[few[1]], few[2]])
                body[38:54] = bytes([0x20, few[3], 0, *([few[4]] * 13)])
            if kind > 4 and length > 40:
                body[14] = 0x45 + (few[0] == 3)
                body[22] = (0, 1, 2, 64)[few[1]]
                body[23] = (6, 17, 1, 6)[few[2]]
                body[26:38] = bytes(
                    [10, 0, 0, few[3], 10, (1, 128, 2, 200)[few[4]], few[5], few[6], few[7], few[8], few[9], 80]
                )
                body[24:26] = bytes(2)
                if few[10]:
                    head = bytes(body[14 : 14 + 4 * (body[14] & 15)])
                    body[24:26] = npx.golden.internet_checksum(head).to_bytes(2, "big")
        made.append(bytes(body[:length]))
    return made


def own(program, frames, cpu=0):
    """Return the interpreter's answers: [(verdict, metadata and packet)], contents of the maps."""
    outs = []

    def take(batch):
        begins = batch.rows[:, k.OUT_AT]
        ends = begins + batch.rows[:, k.METADATA] + batch.rows[:, k.LENGTH]
        outs.extend(batch.out[a:b].tobytes() for a, b in zip(begins.tolist(), ends.tolist(), strict=True))

    result = program.run(frames, maps=first_contents(program), cpu=cpu, take=take, keep=False)
    assert not result.faults, (program.name, result.faults)
    return list(zip(result.rows[:, k.VERDICT].tolist(), outs, strict=True)), result.maps


def live(program, frames, cpu=0):
    """Return the kernel's answers, of the same form."""
    with LinuxProgram(program, first_contents(program)) as loaded:
        answers = [loaded.run(frame)[:2] for frame in frames]
        return answers, {one.name: loaded.contents(one.name, cpu) for one in program.used_maps.values()}


def digest(answers, maps):
    """Return a short hash of answers, for recording."""
    text = repr((answers, sorted((name, sorted(one.items())) for name, one in maps.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def comparable(program, maps):
    """Leave out what is no state: arrays of programs. Masked prefixes are equal to what the kernel keeps as it came."""
    kinds = {one.name: one.kind for one in program.used_maps.values()}
    return {
        name: {masked(key) if kinds[name] == 11 else key: value for key, value in contents.items()}
        for name, contents in maps.items() if kinds[name] != 3
    }  # fmt: skip


def masked(key):
    bits = int.from_bytes(key[:4], "little")
    width = 8 * (len(key) - 4)
    value = int.from_bytes(key[4:], "big") & ((1 << width) - 1 << (width - bits))
    return key[:4] + value.to_bytes(len(key) - 4, "big")


RECORDED, RECORDED_PACKETS = FOLDER / "answers.txt", 150


@contextmanager
def one_processor():
    """Stay on one processor, whose number this is: values of per-CPU maps are those of one."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield min(allowed)
    finally:
        os.sched_setaffinity(0, allowed)


def recorded_frames(name):
    return packets(RECORDED_PACKETS, np.random.default_rng([0, crc32(name.encode())]))


def random_programs(count, seed):
    """Return random programs; the kernel's answer to each is its register 0."""
    random = Random(seed)
    return [Program("random", f"random{n}", tuple(random_code(random)), {f"random{n}": 0}) for n in range(count)]


def live_results(programs_):
    """Return register 0 of each program, in the kernel."""
    results = []
    for one in programs_:
        with LinuxProgram(one) as loaded:
            results.append(loaded.run(bytes(14))[0])
    return results


def own_results(programs_):
    return [int(one.run([bytes(14)]).rows[0, k.VERDICT]) for one in programs_]


def record():
    """Write the kernel's answers."""
    with one_processor() as cpu:
        lines = [f"random {digest(live_results(random_programs(300, 0)), {})}"]
        for path, name in programs():
            program = npx.program(path, name)
            answers, maps = live(program, recorded_frames(name), cpu)
            lines.append(f"{name} {digest(answers, comparable(program, maps))}")
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(count=7500, seed=1):
    with one_processor() as cpu:
        return compared(count, seed, cpu)


def compare_random(count, seed):
    """Compare so many random instruction sequences; return how many of them differ."""
    ones = random_programs(count, seed)
    bad = sum(a != b for a, b in zip(own_results(ones), live_results(ones), strict=True))
    print(f"{count:,} random instruction sequences, {bad} differ")
    return bad


def compared(count, seed, cpu):
    """Compare all programs on so many packets each; return how many of them differ."""
    bad = runs = 0
    for number, (path, name) in enumerate(programs()):
        program = npx.program(path, name)
        frames = packets(count, np.random.default_rng([seed, number]))
        mine, my_maps = own(program, frames, cpu)
        theirs, their_maps = live(program, frames, cpu)
        wrong = [n for n, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b]
        a, b = comparable(program, my_maps), comparable(program, their_maps)
        runs += len(frames)
        if wrong or a != b:
            bad += 1
            print(path.name, name, len(wrong), "packets differ;", [m for m in a if a[m] != b[m]], "maps differ")
            for n in wrong[:2]:
                print(
                    "   ",
                    n,
                    frames[n][:40].hex(),
                    mine[n][0],
                    theirs[n][0],
                    mine[n][1][:60].hex(),
                    theirs[n][1][:60].hex(),
                )
    print(f"{runs:,} runs, {bad} programs differ")
    return bad


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        counts = tuple(map(int, sys.argv[1:]))
        sys.exit(main(*counts) + compare_random(1500, *counts[1:2] or (1,)) > 0)
