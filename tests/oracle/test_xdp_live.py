"""`conform --xdp --live`: an XDP router run by the kernel answers as the interpreter does, frame by frame."""

import random
from pathlib import Path

import pytest

from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.programs.linux import is_available
from npexplore.testing import LiveXdpRouter, XdpRouter

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"
pytestmark = pytest.mark.oracle


def drawn(count, seed):
    """Return (port, frame) of random frames, many of them for the example router."""
    r = random.Random(seed)
    mac, other = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
    for _ in range(count):
        head = bytes(
            [0x45, 0, 0, 46, 0, 0, 0, 0, r.choice([0, 1, 2, 64]), 17, 0, 0, *r.choices([10, 192, 168, 0, 1, 2], k=8)]
        )
        total = sum(int.from_bytes(head[k : k + 2], "big") for k in range(0, 20, 2))
        checksum = 0xFFFF - (total % 0xFFFF or 0xFFFF) if r.random() < 0.9 else 7
        head = head[:10] + checksum.to_bytes(2, "big") + head[12:]
        yield r.randrange(3), mac + other + b"\x08\x00" + head + bytes(26)


@pytest.mark.parametrize("name", ["router.o", "router_faulty.o"])
def test_the_kernel_answers_as_the_interpreter(name):
    if not is_available():
        with pytest.raises(InputError, match="cannot be run live"), LiveXdpRouter(PROGRAMS / name, "office"):
            pass
        return
    mine = XdpRouter(PROGRAMS / name, "office")
    macs = [port.mac for port in mine.router.ports]
    with LiveXdpRouter(PROGRAMS / name, "office") as live:
        for port, frame in drawn(300, seed=7):
            mine_to = macs[port % len(macs)] + frame[6:]
            assert live.forward(port % len(macs), mine_to) == mine.forward(port % len(macs), mine_to)
    assert live.verdicts == mine.verdicts
    assert len(live.verdicts) >= 2  # not all are left to the kernel


def test_a_program_that_asks_the_kernels_tables_is_refused():
    with pytest.raises(InputError, match="fib_lookup asks the kernel's tables"):
        LiveXdpRouter(Path(__file__).parents[1] / "programs" / "fib.o", "office", section="ask_tables")


def test_live_is_for_objects(capsys):
    assert main(["conform", "--config", "office", "--live", "true"]) == 2
    assert "--live are for --xdp" in capsys.readouterr().err
