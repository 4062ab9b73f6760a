"""DRAM parts of models/parts: every time with its source, as the data sheets print them; address maps by hand."""

import msgspec
import numpy as np
import pytest
from reference.ddr_commands import commands
from reference.small_machines import NS, ddr, machine, packets

from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.machine.resources import AddressMap, DramTiming
from npexplore.machine.resources import dram_timing as timing_module
from npexplore.machine.resources.dram_timing import DramPart, dram_parts, dram_parts_schema
from npexplore.machine.workload import Workload
from npexplore.paths import share
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate

PARTS = list(dram_parts().items())


@pytest.mark.parametrize(("name", "part"), PARTS, ids=[name for name, _ in PARTS])
def test_a_part_keeps_the_rules_of_its_standard(name, part):
    assert part.source.strip()
    DramTiming.of(part)
    rate = float(name.split("_")[1].rstrip("a"))
    assert 2e3 / part.t_ck == pytest.approx(rate, rel=0.01)  # two transfers a clock
    assert (part.t_faw > 0) == (part.t_rtp > 0) == (not name.startswith("ddr_"))  # what a DDR data sheet does not have
    assert part.t_faw == 0 or part.t_faw >= 4 * part.t_rrd
    assert part.note or (part.t_faw and part.t_rtp)
    clocks = [part.t_wtr / part.t_ck, part.t_ccd / part.t_ck, 2 * part.t_cl / part.t_ck, part.t_wl / part.t_ck]
    assert clocks == pytest.approx([round(c) for c in clocks])


def test_the_schema_is_json_and_names_every_time():
    schema = msgspec.json.decode(msgspec.json.encode(dram_parts_schema()))
    properties = schema["$defs"]["DramPart"]["properties"]
    assert set(properties) == {field.name for field in msgspec.structs.fields(DramPart)}
    assert set(schema["$defs"]["DramPart"]["required"]) == set(properties) - {"note"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("t_rc = 70.0\n", ""), "key `t_rc` is missing"),
        (("t_rc = 70.0", "t_rc = 60.0"), "ddr_200: DRAM timing: t_rc must be at least t_ras + t_rp"),
        (("t_rc = 70.0", "t_cr = 70.0"), "key 't_cr' is unknown (nearest: "),
        (("t_rc = 70.0", "t_rc = '70'"), "expected a number, got a text"),
        (('source = "JEDEC', 'source = " "\n# "JEDEC'), "part 'ddr_200' has no source"),
    ],
)
def test_a_faulty_part_is_named(tmp_path, monkeypatch, change, message):
    text = share("models", "parts", "ddr_sdram.toml").read_text().split("[ddr_266]")[0]
    assert change[0] in text
    (tmp_path / "mine.toml").write_text(text.replace(*change, 1))
    monkeypatch.setattr(timing_module, "share", lambda *parts: tmp_path / parts[-1])
    with pytest.raises(InputError) as error:
        dram_parts.__wrapped__("mine")
    assert message in str(error.value)
    assert "mine.toml" in str(error.value)


# ---- addresses


def places(found, banks, channels, addresses):
    """(channel, bank in it, row) of addresses by the map's fields and permutation."""
    bank = found.bank_of(np.array(addresses, dtype=np.float64), banks, channels)
    rows = found.fields(np.array(addresses), banks, channels)["row"]
    return [
        (int(b) // banks, int(b) % banks, int(r)) for b, r in zip(bank, np.broadcast_to(rows, bank.shape), strict=True)
    ]


@pytest.mark.parametrize(
    ("order", "banks", "channels", "expected"),
    [  # units of 64 bytes, rows of 128: addresses 0, 64, 128, 192, 512, 1024
        ("row bank column", 4, 1, [(0, 0, 0), (0, 0, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2)]),
        ("row column bank", 4, 1, [(0, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 0, 1), (0, 0, 2)]),
        ("bank row column", 4, 1, [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 1), (0, 0, 4), (0, 1, 0)]),
        ("row bank column channel", 2, 2, [(0, 0, 0), (1, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 0, 2)]),
        ("channel row bank column", 4, 2, [(0, 0, 0), (0, 0, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 2)]),
    ],
)
def test_fields_of_an_address(order, banks, channels, expected):
    mapped = AddressMap(order, row_bytes=128, rows=8)
    assert places(mapped, banks, channels, [0, 64, 128, 192, 512, 1024]) == expected


def test_a_permutation_spreads_rows_of_one_bank():
    plain, mixed = (AddressMap(row_bytes=128, rows=8, permutation=p) for p in (False, True))
    addresses = [row * 512 for row in range(8)]
    assert [bank for _, bank, _ in places(plain, 4, 1, addresses)] == [0] * 8
    assert [bank for _, bank, _ in places(mixed, 4, 1, addresses)] == [0, 1, 2, 3, 0, 1, 2, 3]
    everywhere = places(mixed, 4, 1, range(0, 128 * 32, 128))
    assert len(set(everywhere)) == 32  # nothing falls on something else


def test_addresses_begin_again_after_the_last_row():
    mapped = AddressMap(row_bytes=128, rows=8)
    size = 128 * 8 * 4
    assert places(mapped, 4, 1, [size + 192]) == places(mapped, 4, 1, [192])


@pytest.mark.parametrize("permutation", [False, True])
@pytest.mark.parametrize("order", ["row bank column", "row column bank"])
def test_the_engine_finds_the_same_place(order, permutation):
    mapped = AddressMap(order, row_bytes=128, rows=8, permutation=permutation)
    addresses = list(range(0, 128 * 8 * 4, 64 * 5))
    resource = ddr(page="open", address_map=mapped)
    made = machine([resource], lambda m, packet: m.ddr.read(bytes=8, address=packet.address))
    stream, _ = commands(made, packets(*[64] * len(addresses), address=addresses), packets=len(addresses) + 1)
    seen = [(c.channel, c.bank % 4, c.row) for c in stream if c.name == "RD"]
    assert seen[: len(addresses)] == places(mapped, 4, 1, addresses)
    assert bounds(made, packets(*[64] * len(addresses), address=addresses)).rate_pps > 0


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: AddressMap("row bank colum"),
            UnknownNameError,
            "address map: field 'colum' is unknown (nearest: column)",
        ),
        (lambda: AddressMap("row bank bank column"), ModelError, "address map: each field must appear exactly once"),
        (
            lambda: AddressMap("row column"),
            ModelError,
            "address map: the order needs the field 'bank', got 'row column'",
        ),
        (lambda: AddressMap(row_bytes=100), ModelError, "row_bytes must be a multiple of unit_bytes = 64, got 100"),
        (lambda: AddressMap(rows=0), ModelError, "address map: rows must be an integer of at least 1, got 0"),
        (lambda: ddr(channels=2, address_map=AddressMap()), ModelError, "the address map needs a field channel"),
        (lambda: ddr(address_map=AddressMap("channel row bank column")), ModelError, "must not have a field channel"),
        (lambda: ddr(banks=6, address_map=AddressMap(permutation=True)), ModelError, "a power of two of banks, got 6"),
    ],
)
def test_impossible_maps_are_refused(make, kind, message):
    with pytest.raises(kind) as error:
        make()
    assert message in str(error.value)


def test_a_permutation_saves_a_stride_that_meets_one_bank():
    rates = []
    for permutation in (False, True):
        mapped = AddressMap(row_bytes=1024, rows=64, permutation=permutation)
        resource = ddr(address_map=mapped, timing=DramTiming.of(dram_parts()["ddr_400"]))
        made = machine([resource], lambda m, packet: m.ddr.read(bytes=32, address=packet.address), threads=8)
        load = Workload("stride", {"packet_bytes": np.full(64, 64), "address": np.arange(64) * 4096})
        rates.append(simulate(made, load, packets=3200).rate_pps)
    assert rates[0] == pytest.approx(1 / (55 * NS), rel=0.02)  # tRC, refresh
    assert rates[1] > 3.5 * rates[0]
