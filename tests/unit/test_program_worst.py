"""The slowest packets of a program: found where no packet of the capture goes, written, and answered by a machine."""

import json

import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.packets.frames import read_frames
from npexplore.programs import read_costs
from npexplore.programs.worst import slowest
from npexplore.study.sweeping.identity import model_key

# IPv4, then UDP, then port 4242 of at least 60 bytes: three divisions
DEEP = """
ldxw r2, [r1+0]
ldxw r3, [r1+4]
mov r0, 1
mov r4, r2
add r4, 60
jgt r4, r3, out
ldxh r5, [r2+12]
jne r5, 8, out
ldxb r5, [r2+23]
jne r5, 17, out
ldxh r5, [r2+36]
jne r5, 0x9210, out
div r5, 3
div r5, 3
div r5, 3
mov r0, 3
out: exit
"""
FILTERS, WIKIPEDIA = "tests/programs/filters.o", "sample:zeek_wikipedia"
PROGRAM = ["--program", FILTERS, "--section", "by_type", "--trace", WIKIPEDIA]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_path_behind_four_comparisons_is_met_from_zeros(seed):
    program, costs = npx.program(DEEP), read_costs("x86_server")
    slow = slowest(program, [bytes(60)], costs, generated=20_000, seed=seed)
    assert {one.verdict: one.seen for one in slow} == {"tx": False, "drop": False}
    assert slow[0].verdict == "tx"
    assert slow[0].cycles == pytest.approx(3.27 * (17 * 0.04 + 3 * 2.4))
    assert program.run([slow[0].packet]).verdicts == {"tx": 1}
    assert [one.seen for one in slowest(program, [slow[0].packet], costs, generated=0)] == [True]


def test_the_command_writes_the_packet_and_tells_its_rate(tmp_path, capsys):
    out = tmp_path / "worst.pcap"
    words = ["--section", "by_type", "--trace", WIKIPEDIA, "--out", str(out), "--made", "5000", "--json"]
    assert main(["program", "worst", FILTERS, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    ((_, packet),) = read_frames(out)
    assert packet.hex() == found["packet"]
    made = npx.design("server").with_program(FILTERS, out, section="by_type")
    assert made.bounds().rate_pps == pytest.approx(found["rate_pps"])
    assert found["rate_pps"] == min(one["rate_pps"] for one in found["verdicts"])


def test_sweeps_tell_programs_apart_and_go_on(tmp_path, capsys):
    keys = {
        model_key(npx.design("server").with_program(FILTERS, WIKIPEDIA, section=name, costs=costs))
        for name in ("by_type", "by_port") for costs in ("x86_server", "epyc_zen4")
    }  # fmt: skip
    assert len(keys) == 4
    out = tmp_path / "rates.parquet"
    words = ["sweep", "nfp4000", *PROGRAM, "--set", "cores=5,10", "--solver", "bounds", "--out", str(out), "--json"]
    assert main(words) == 0
    assert main([*words, "--resume"]) == 0
    assert main(["optimise", "server", *PROGRAM, "--set", "cores=1,2", "--cost", "threads", "--json"]) == 0
    assert capsys.readouterr().out.count("cores") >= 2
