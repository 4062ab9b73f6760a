"""Branches predicted in a capture's order: none wrong that repeat, half of random ones, and what they cost a server."""

import numpy as np
import pytest

import npexplore as npx
from npexplore.packets.frames import write_frames
from npexplore.programs.predictor import mispredicted

BRANCHES, PACKETS = 16, 2000
TEXT = "ldxw r2, [r1+0]\nmov r0, 1\n" + "".join(
    f"ldxb r3, [r2+{14 + n}]\njeq r3, 0, a{n}\nadd r0, 0\na{n}: mov r4, 0\n" for n in range(BRANCHES)
) + "exit"  # fmt: skip


def packets(order):
    rng = np.random.default_rng(1)
    rows = {
        "constant": np.ones((PACKETS, BRANCHES)),
        "periodic": (np.arange(PACKETS)[:, None] + np.arange(BRANCHES)) % 7 == 0,
        "random": rng.integers(0, 2, (PACKETS, BRANCHES)),
    }
    return [bytes(14) + row.astype(np.uint8).tobytes() + bytes(30) for row in rows[order]]


@pytest.mark.parametrize(("order", "wrong"), [("constant", 0), ("periodic", 0), ("random", BRANCHES / 2)])
def test_what_repeats_is_learnt_and_half_of_the_rest_is_wrong(order, wrong):
    run = npx.program(TEXT).run(packets(order), keep=False)
    assert mispredicted(run)[PACKETS // 2 :].mean() == pytest.approx(wrong, rel=0.05)


def test_a_server_pays_for_wrong_branches(tmp_path):
    write_frames(tmp_path / "random.pcap", packets("random"), [1000 * n for n in range(PACKETS)])
    made = npx.design("server").with_program(npx.program(TEXT), tmp_path / "random.pcap")
    foreseen, met = (1e9 / made.with_(branches=how).bounds().rate_pps for how in ("foreseen", "in_order"))
    clock = made.parameters.clock_mhz
    assert met - foreseen == pytest.approx(8 * 8.5 * 3270 / clock, rel=0.05)  # 16 branches of a trial: 67 ns more


COUNTERS = """
.map t array 4 64 {entries}
ldxw r2, [r1+0]
ldxw r3, [r2+14]
stxw [r10-4], r3
mov r2, r10
add r2, -4
lddw r1, map t
call map_lookup_elem
jeq r0, 0, out
ldxw r4, [r0+0]
out: mov r0, 1
exit
"""


def far(tmp_path, entries):
    """Cycles of a mean packet that its keys' order adds: a line of each of so many entries, over and over."""
    path = tmp_path / f"{entries}.pcap"
    frames = [bytes(14) + (n % entries).to_bytes(4, "little") + bytes(42) for n in range(4096)]
    write_frames(path, frames, [1000 * n for n in range(len(frames))])
    made = (
        npx.design("server").with_(replacement="lru").with_program(npx.program(COUNTERS.format(entries=entries)), path)
    )
    near, met = (made.with_(map_lines=how) for how in ("near", "in_order"))
    return (1e9 / met.bounds().rate_pps - 1e9 / near.bounds().rate_pps) * made.parameters.clock_mhz * 1e-3


def test_a_server_pays_for_lines_of_maps_where_its_caches_have_them(tmp_path):
    """16 lines fit the first cache (32 KB), 1,024 the second (256 KB, read in turn they evict the first)."""
    p = npx.design("server").parameters
    assert far(tmp_path, 16) == pytest.approx(0, abs=0.01)
    assert far(tmp_path, 1024) == pytest.approx(p.l2_cycles, rel=0.05)
