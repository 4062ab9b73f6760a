"""Calibration programs of a cost table: small programs that each repeat one event, so that its cost can be measured.

Each program exists with few and with many repetitions of its event, without loops: the time of other code cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from npexplore.programs.events import HASHED

FRAME = bytes(12) + bytes.fromhex("080045000036000100004011") + bytes(2) + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + bytes(28)
TABLE = 1024
PREFIXES = 1, 100, 10_000
ALU = ("add r3, r4", "xor r4, 5", "lsh r3, 1", "and r4, 255", "mov r5, r3", "or r5, r4", "sub r4, 3", "rsh r5, 2")
LOADS = ("ldxb r3, [r7+14]", "stxdw [r10-8], r3", "ldxh r4, [r7+16]", "add r4, r3", "ldxw r5, [r7+26]", "xor r5, r4")
PACKET = "ldxw r7, [r1+0]\nldxw r8, [r1+4]\nmov r2, r7\nadd r2, 42\njgt r2, r8, exit\n"


@dataclass(frozen=True)
class Micro:
    """A program as text, the initial contents of its maps, and its packet."""

    name: str
    text: str
    maps: Mapping[str, Mapping[bytes, bytes]] = field(default_factory=dict)
    packet: bytes = FRAME


def empty() -> Micro:
    """Return the program that does nothing."""
    return Micro("empty", "mov r0, 1\nexit")


def suite() -> Iterator[Micro]:
    """Yield calibration programs for every event of a cost table."""
    start = "mov r3, 1\nmov r4, 2\nmov r5, 3\n"
    for count in (24, 80, 240):
        yield _micro(f"alu {count}", start, _cycle(ALU, count))
    for count in (12, 48, 144):
        yield _micro(f"packet {count}", start + PACKET, _cycle(LOADS, count))
    for count in (4, 12, 26):
        loop = (
            f"mov r6, {count}\nagain: ldxb r3, [r7+14]\nadd r4, r3\nlsh r4, 1\nadd r7, 1\nsub r6, 1\njne r6, 0, again"
        )
        yield _micro(f"loop {count}", start + PACKET, [loop])
    for count in (4, 16, 48):
        look = start + PACKET + "sub r8, r7\n"
        yield _micro(f"branch {count}", look, ["jgt r8, 5000, exit"] * count)
        yield _micro(
            f"branch taken {count}",
            look,
            [f"jlt r8, 5000, on{number}\nmov r3, 1\non{number}: mov r4, 1" for number in range(count)],
        )
    for count in (2, 8):
        yield _micro(f"divide {count}", start + PACKET + "sub r8, r7\n", ["mov r4, 1000000007\ndiv r4, r8"] * count)
        split = ["sth [r10-8], 1\nsth [r10-6], 0\n" + _calls("lookup", 1)[0]] * count
        yield _micro(f"split {count}", f".map t hash 4 8 {TABLE}\n", split)
        yield _micro(f"multiply {count}", start + PACKET, ["ldxb r3, [r7+14]\nxor r4, r3\nmul r4, r5"] * 8 * count)
        for helper in ("get_prandom_u32", "ktime_get_ns", "get_smp_processor_id", "get_numa_node_id"):
            yield _micro(f"{helper} {count}", "", [f"call {helper}"] * count)
        move = "mov r1, r6\nmov r2, {}\ncall xdp_adjust_{}"
        for end in ("head", "meta", "tail"):
            moves = (-4, 4) if end != "tail" else (4, -4)
            steps = [move.format(bytes_moved, end) for _ in range(count // 2) for bytes_moved in moves]
            yield _micro(f"adjust_{end} {count}", start, steps)
        checksum = "mov r1, 0\nmov r2, 0\nmov r3, r7\nadd r3, 14\nmov r4, 20\nmov r5, 0\ncall csum_diff"
        yield _micro(f"csum_diff {count}", start + PACKET, [checksum] * count)
        yield _micro(f"redirect {count}", "", ["mov r1, 1\nmov r2, 0\ncall redirect"] * count)
        code = "\n".join(["call local sub"] * count)
        yield Micro(f"call {count}", f"{code}\nmov r0, 1\nexit\nsub: mov r0, 1\nexit")
        yield from _on_maps(count)


def _on_maps(count: int) -> Iterator[Micro]:
    value, key_1 = bytes(8), (1).to_bytes(4, "little")
    for kind in ("array", "percpu_array"):
        declared = f".map t {kind} 4 8 64\n"
        yield _micro(f"lookup {kind} {count}", declared + "stw [r10-8], 1\n", _calls("lookup", count))
        store_value = declared + "stw [r10-8], 1\nstdw [r10-16], 7\n"
        yield _micro(f"update {kind} {count}", store_value, _calls("update", count))
        yield _micro(f"refused {kind} {count}", store_value, _calls("update", count, flags=1))
    add = "mov r3, 1\nlock add [r6+0], r3"
    lookup = ".map t array 4 8 64\nstw [r10-8], 1\n" + _calls("lookup", 1)[0] + "\nmov r6, r0\n"
    yield _micro(f"atomic {count}", lookup + "jne r6, 0, go\nexit\ngo: mov r4, 1\n", [add] * count)
    for kind in HASHED:
        for size in (4, 16):
            key = bytes(size - 4) + key_1
            declared = f".map t {kind} {size} 8 {TABLE}\n" + _key(size)
            calls = _calls("lookup", count, at=size)
            yield _micro(f"miss {kind} {size} {count}", declared, calls)
            yield _micro(f"hit {kind} {size} {count}", declared, calls, {"t": {key: value}})
        declared = f".map t {kind} 4 8 {TABLE}\n" + _key(4) + "stdw [r10-32], 7\n"
        yield _micro(f"update {kind} {count}", declared, _calls("update", count, at=4, of=32), {"t": {key_1: value}})
        calls = _calls("update", count, at=4, of=32, flags=1)
        yield _micro(f"refused {kind} {count}", declared, calls, {"t": {key_1: value}})
        yield _micro(f"refused delete {kind} {count}", declared, _calls("delete", count, at=4))
        pairs = [call for _ in range(count // 2) for name in ("update", "delete") for call in _calls(name, 1, 4, 32)]
        yield _micro(f"update and delete {kind} {count}", declared, pairs)
    for prefixes in PREFIXES:
        declared = f".map t lpm_trie 8 8 {prefixes + 1}\nstw [r10-8], 32\nstw [r10-4], 0x0100000a\n"
        routes = {_prefix(number): value for number in range(prefixes)}
        yield _micro(f"lpm {prefixes} {count}", declared, _calls("lookup", count), {"t": routes})
        if prefixes > 1:
            declared += "stdw [r10-16], 7\n"
            yield _micro(f"update lpm {prefixes} {count}", declared, _calls("update", count), {"t": routes})
            absent_key = declared.replace("0x0100000a", "0x0100007f")
            yield _micro(f"refused delete lpm {prefixes} {count}", absent_key, _calls("delete", count), {"t": routes})
            yield _micro(f"refused lpm {prefixes} {count}", declared, _calls("update", count, flags=1), {"t": routes})
    declared = ".map t devmap 4 4 4\n"
    steps = ["lddw r1, map t\nmov r2, 1\nmov r3, 0\ncall redirect_map"] * count
    yield _micro(f"redirect_map {count}", declared, steps, {"t": {key_1: key_1}})


def _prefix(number: int) -> bytes:
    """Return the key of a 24-bit prefix; prefix 0 is 10.0.0.0/24, the others are spread over all addresses."""
    top_bits = 0x0A0000 if number == 0 else (number * 0x9E3779B1 >> 8) & 0xFFFFFF
    return (24).to_bytes(4, "little") + top_bits.to_bytes(3, "big") + b"\0"


def _key(size: int) -> str:
    """Return the stores of a key of `size` (4 or 16) bytes below the frame pointer, in words of 4 bytes."""
    words = [f"stw [r10-{size - 4 * word}], 0" for word in range(size // 4 - 1)] + ["stw [r10-4], 1"]
    return "\n".join(words) + "\n"


def _calls(name: str, count: int, at: int = 8, of: int = 16, flags: int = 0) -> list[str]:
    """Return `count` calls of a map operation with the key at r10 - at and the value at r10 - of."""
    value_arguments = f"mov r3, r10\nadd r3, -{of}\nmov r4, {flags}\n" if name == "update" else ""
    return [f"lddw r1, map t\nmov r2, r10\nadd r2, -{at}\n{value_arguments}call map_{name}_elem"] * count


def _cycle(lines: Sequence[str], count: int) -> list[str]:
    return [lines[number % len(lines)] for number in range(count)]


def _micro(
    name: str, start: str, steps: Sequence[str], maps: Mapping[str, Mapping[bytes, bytes]] | None = None
) -> Micro:
    declared = [line for line in start.splitlines() if line.startswith(".map")]
    body = ["mov r6, r1", "mov r0, 1", *(line for line in start.splitlines() if not line.startswith(".map"))]
    begin = "\n".join([*declared, *body, ""])
    code = "\n".join(steps)
    return Micro(name, f"{begin}{code}\nmov r0, 1\nexit", maps or {})
