"""The IXP2400's program by hand: accesses a packet makes under each scheme, knobs, files, what is refused."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from npexplore.designs import DESIGNS, Design, design, design_names
from npexplore.errors import InputError, ModelError, RefusedError, UnknownNameError
from npexplore.machine.workload_sources import workload
from npexplore.solve.simulate import simulate

IXP = design("ixp2400")


def padded(size):
    return -(-size // 8) * 8


def accesses(scheme, size, full_tail="scratch"):
    """What Sec. 4.1 says: (DRAM accesses, scratchpad accesses) of a packet as lists of sizes, each written and read."""
    cells = [64] * (size // 64) + ([size % 64] if size % 64 else [])
    dram, scratch = [], []
    for i, cell in enumerate(cells):
        first, last = i == 0, i == len(cells) - 1
        if scheme == "base":
            dram.append(cell)
        elif first and scheme == "hb":
            scratch.append(min(24, cell))
            dram += [cell - 24] if cell > 24 else []
        elif first or (last and scheme == "fcb_tb" and (cell < 64 or full_tail == "scratch")):
            scratch.append(cell)
        else:
            dram.append(cell)
    (dram if scheme == "base" else scratch).append(24)  # the header, read and written back
    return 2 * dram, 2 * scratch


@pytest.mark.parametrize("size", [1, 20, 24, 25, 40, 63, 64, 65, 88, 127, 128, 129, 192, 1500])
@pytest.mark.parametrize("scheme", ["base", "hb", "fcb", "fcb_tb"])
@pytest.mark.parametrize("full_tail", ["scratch", "dram"])
def test_accesses_of_a_packet(scheme, size, full_tail):
    made = IXP.with_(scheme=scheme, full_tail=full_tail)
    found = made.demands(workload(packet_bytes=size)).demands
    dram, scratch = accesses(scheme, size, full_tail)
    assert found.counts.get("dram.accesses", 0) == len(dram)
    assert found.counts.get("dram.bytes", 0) == sum(map(padded, dram))
    assert found.counts.get("dram.narrow", 0) == sum(padded(a) < 64 for a in dram)
    words = sum(-(-a // 4) for a in scratch) + 1  # and the entry of the transmit ring
    assert found.servers["scratch"].seconds == pytest.approx(words * 1.67e-9)
    cells = -(-size // 64)
    p = made.parameters
    assert found.servers["me"].seconds == pytest.approx((p["me_ns_per_packet"] + p["me_ns_per_cell"] * cells) * 1e-9)
    assert found.servers["hash"].seconds == pytest.approx(p["hash_ns"] * 1e-9)
    assert found.servers["msf"].visits == 2 * cells
    assert found.servers["sram.read"].visits == 2  # a free buffer, the lookup
    assert found.servers["sram.write"].seconds == pytest.approx((4 if scheme == "base" else 6) * 5e-9)
    if dram:
        assert found.servers["dram.bus"].seconds == pytest.approx(sum(padded(a) + 16 for a in dram) / 1.6e9)


@pytest.mark.parametrize("placement", ["access", "first_cell", "cell", "packet"])
def test_simulated_bytes_are_the_program_s(placement):
    made, load = IXP.with_(placement=placement), workload(packet_bytes=300)
    answer = made.simulate(load, packets=640)
    assert answer.rates["dram.bytes"] / answer.rate_pps == pytest.approx(
        made.demands(load).demands.counts["dram.bytes"], rel=0.02
    )


def test_the_header_lies_in_the_bank_of_its_first_cell():
    """A packet of one cell has one bank; of many, the others are spread: busier banks than with one bank a packet."""

    def rate(size, placement):
        made = IXP.with_(placement=placement, threads=2, banks=64, dram_slots=16)
        return made.simulate(workload(packet_bytes=size), packets=800).rate_pps

    assert rate(64, "first_cell") == rate(64, "packet")
    assert rate(640, "first_cell") != rate(640, "packet")


def test_headers_of_long_packets_may_be_read_more_than_once():
    thrice = IXP.with_(long_header_reads=3)
    for size, more in ((64, 0), (65, 2)):
        counts = [made.demands(workload(packet_bytes=size)).demands.counts["dram.accesses"] for made in (IXP, thrice)]
        assert counts[1] - counts[0] == more


def test_width_and_banks():
    load = workload(packet_bytes=64)
    narrow, wide = (IXP.with_(bus_bits=bits).demands(load).demands.servers["dram.bus"].seconds for bits in (64, 128))
    assert narrow == pytest.approx(2 * wide)
    four, eight = (IXP.with_(banks=b).demands(load).ceilings()["dram.bank"] for b in (4, 8))
    assert eight == pytest.approx(2 * four)


@pytest.mark.parametrize(
    ("knobs", "error", "message"),
    [
        ({"bank": 8}, UnknownNameError, "knob of ixp2400 'bank' is unknown (nearest: banks"),
        ({"threads": 0}, InputError, "knob threads must be in 1..64, got 0"),
        ({"threads": 65}, InputError, "knob threads must be in 1..64, got 65"),
        ({"scheme": "fcbtb"}, InputError, "knob scheme must be one of base, hb, fcb, fcb_tb, got 'fcbtb'"),
        ({"dram_part": "ddr_500"}, InputError, "knob dram_part must be one of ddr_200"),
        ({"hash_ns": -1}, InputError, "knob hash_ns must be at least 0.1 ns, got -1"),
    ],
)
def test_knobs_that_cannot_be(knobs, error, message):
    with pytest.raises(error) as raised:
        IXP.with_(**knobs)
    assert message in str(raised.value)


def test_static_segments_must_fit_and_dynamic_ones_need_not():
    small = IXP.with_(scheme="fcb_tb", threads=64, scratch_bytes=4096)
    with pytest.raises(ModelError, match="scheme fcb_tb needs 8192 bytes of scratchpad for 64 threads, got 4096 bytes"):
        small.machine()
    load = workload(packet_bytes=300)
    pooled = small.with_(segments="dynamic").simulate(load, packets=1600)
    assert pooled.utilization["segments"].busy == pytest.approx(1, abs=0.05)  # 32 packets at a time
    assert 0 < pooled.rate_pps <= small.with_(segments="dynamic", scratch_bytes=16384).bounds(load).rate_pps


def test_back_pressure_lets_throughput_fall():
    """Up to 8 threads the queue is never full; beyond, it drains. Opened once one has left it would do nothing."""
    load, held = workload(mix="dos"), IXP.with_(back_pressure="on")

    def rate(made, threads):
        return made.with_(threads=threads).simulate(load, packets=1600).rate_pps

    assert rate(held, 8) == rate(IXP, 8)
    assert rate(held, 16) < 0.96 * rate(held, 8)
    assert rate(held, 32) < 0.96 * rate(held, 8)
    assert rate(held.with_(back_pressure_resume=9), 16) == rate(IXP, 16)
    assert held.simulate(load, packets=1600).utilization["dram.queue"].busy < 0.8
    with pytest.raises(RefusedError, match=r"queueing: 'dram.queue' admits no access while it drains"):
        held.queueing(load)


@pytest.mark.parametrize("name", design_names())
def test_listed_means_usable(name):
    made = design(name)
    assert isinstance(made, Design)
    assert made.name == name
    load = None if made.own else workload(mix="dos")
    rates = [made.bounds(load).rate_pps, made.simulate(load, packets=800).rate_pps]
    with suppress(RefusedError):
        rates.append(made.queueing(load).rate_pps)
    assert len(rates) == 3 or name == "raw"
    assert all(0 < rate <= rates[0] * 1.02 for rate in rates)
    assert made.depends_on(load) <= set(made.parameters.file.parameter)
    assert name in repr(made)
    assert all(f"<td>{parameter}</td>" in made._repr_html_() for parameter in made.parameters)


@pytest.mark.parametrize("name", design_names())
def test_every_alternative_can_be_built(name):
    made = design(name)
    load = None if made.own else workload(mix="dos")
    for alternative in made.parameters.file.alternative:
        known = {k: v for k, v in alternative.set.items() if k in made.parameters}
        assert made.with_(**known).bounds(load).rate_pps > 0


def test_every_knob_is_read_somewhere():
    """A parameter that nothing reads would be a fact without effect."""
    on = IXP.with_(back_pressure="on", segments="dynamic", scheme="fcb_tb")
    read = IXP.depends_on(workload(mix="dos")) | on.depends_on(workload(mix="amp"))
    assert read == set(IXP.parameters)
    window = design("ixp2400_dram")
    assert {"narrow_share", "narrow_bytes", "access_bytes", "read_share", "pattern", "window"} <= window.depends_on()


def test_designs_bring_a_workload_or_need_one():
    with pytest.raises(InputError, match="design ixp2400 needs a workload: a capture, a mix, or a packet length"):
        IXP.bounds()
    own = replace(design("ixp2400_dram"), dress=None)
    with pytest.raises(InputError, match="design ixp2400_dram brings its own workload"):
        own.bounds(workload(mix="dos"))
    with pytest.raises(InputError, match="design ixp2400 has no packets of its own"):
        IXP.arriving("poisson", "1Mpps")


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_share_of_narrow_accesses(share):
    load = design("ixp2400_dram").with_(narrow_share=share).workload()
    assert np.mean(load.packet_bytes == 32) == pytest.approx(share)
    assert set(load.packet_bytes.tolist()) <= {32, 64}


# ---- designs by name or file


def test_unknown_design():
    with pytest.raises(UnknownNameError, match=r"design 'ixp240' is unknown \(nearest: ixp2400"):
        design("ixp240")


def test_a_machine_file_of_the_user(tmp_path):
    path = tmp_path / "mine.toml"
    text = 'name = "mine"\ntitle = "t"\npaper = "p"\nextends = "ixp2400"\n'
    entry = '[parameter.threads]\nkind = "knob"\nvalue = 8\nmin = 1\nmax = 64\nabout = "fewer"\nsource = "mine"\n'
    path.write_text(text + entry)
    made = design(path)
    assert (made.name, made.parameters.threads, made.parameters.banks) == ("mine", 8, 4)
    assert made.machine().threads == 8
    path.write_text(text.replace('"ixp2400"', '"ixp2400_dram"') + entry)
    assert design(path).own is not None


def test_a_machine_file_that_no_program_belongs_to(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ntitle = "t"\npaper = "p"\n[parameter]\n')
    with pytest.raises(UnknownNameError, match=r"mine.toml: design 'mine' is unknown"):
        design(path)


PYTHON = """
from npexplore.designs import Design, design as listed
def design():
    return {}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PYTHON.format("listed('ixp2400').with_(threads=4)"), None),
        (PYTHON.format("4"), "design must be a function that returns a Design or a Machine, got int"),
        ("x = 1", "design must be a function that returns a Design or a Machine, got nothing of that name"),
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("def design(:", "SyntaxError"),
    ],
)
def test_a_python_file_of_the_user(tmp_path, text, message):
    path = tmp_path / "mine.py"
    path.write_text(text)
    if message is None:
        assert design(path).parameters.threads == 4
        return
    with pytest.raises(InputError) as error:
        design(path)
    assert message in str(error.value)
    assert "mine.py" in str(error.value)


def test_a_python_file_that_is_not_there():
    with pytest.raises(InputError, match=r"nowhere\.py: no such Python file"):
        design("nowhere.py")


def test_designs_are_values():
    assert IXP.with_(threads=8).parameters.threads == 8
    assert IXP.parameters.threads == 16
    assert DESIGNS["ixp2400"]().parameters.changed() == {}
    load = workload(packet_bytes=64)
    assert simulate(IXP.machine(), load, packets=400).rate_pps == IXP.simulate(load, packets=400).rate_pps
    runs = IXP.simulate(load, seed=4, seeds=2, packets=400), IXP.simulate(load, seeds=[4, 5], packets=400)
    assert runs[0].rate_pps == runs[1].rate_pps
