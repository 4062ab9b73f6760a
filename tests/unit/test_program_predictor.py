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
