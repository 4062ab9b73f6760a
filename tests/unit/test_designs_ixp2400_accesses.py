"""Access traces of the IXP2400's packet buffer: files by hand, banks, what golden code does."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from npexplore.cli import main
from npexplore.designs import design
from npexplore.designs.ixp2400.accesses import accesses_of_capture, read_accesses
from npexplore.errors import InputError
from npexplore.golden.ethernet import IPV4_TYPE
from npexplore.golden.ipv4.header import write_packet
from npexplore.machine.workload import Workload
from npexplore.packets.frames import write_frames
from npexplore.paths import share

DRAM = design("ixp2400_dram")
WIKIPEDIA = share("data", "captures", "zeek_wikipedia.pcap")
FOUR = {"order": [3, 1, 2, 0], "address": [0, 64, 1 << 24, 3 << 24], "bytes": [64, 24, 8, 40], "write": [1, 0, 1, 0]}


def written(path, columns):
    table = pa.table(columns)
    csv.write_csv(table, path) if path.suffix == ".csv" else pq.write_table(table, path)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.CSV"])
def test_accesses_come_in_their_order_whatever_the_file(tmp_path, name):
    path = tmp_path / name
    table = pa.table(FOUR)
    pq.write_table(table, path) if name.endswith("parquet") else csv.write_csv(table, path)
    load = read_accesses(path)
    assert load.packet_bytes.tolist() == [40, 24, 8, 64]
    assert load.columns["write"].tolist() == [0, 0, 1, 1]
    assert load.columns["address"].tolist() == [3 << 24, 64, 1 << 24, 0]
    assert load.t_ns is None
    assert DRAM.workload(load).columns["bank"].tolist() == [3, 0, 1, 0]  # 64 MB: 16 MB a bank
    low = DRAM.with_(interleaving="low_order", trace_sizes="fixed").workload(load)
    assert low.columns["bank"].tolist() == [0, 1, 0, 0]
    assert set(low.packet_bytes.tolist()) == {64}


def test_times_are_arrivals_from_the_first_access_on(tmp_path):
    timed = {"time_ns": [1500, 500], "bank": [2, 1], "bytes": [64, 64], "write": [0, 1], "note": ["x", "y"]}
    load = read_accesses(written(tmp_path / "t.csv", timed))
    assert load.t_ns.tolist() == [0, 1000]
    assert DRAM.workload(load).columns["bank"].tolist() == [1, 2]
    answer = DRAM.with_(refresh="off").simulate(load.with_arrivals("timestamps"), packets=1, warm_up=0)
    assert answer.drops == {"receive": 0}


@pytest.mark.parametrize("column", ["order", "address", "bytes", "write"])
def test_a_missing_column_is_named(tmp_path, column):
    either = {"order": "time_ns or order", "address": "address or bank"}.get(column, column)
    path = written(tmp_path / "m.parquet", {name: values for name, values in FOUR.items() if name != column})
    with pytest.raises(InputError, match=f"m.parquet: an access trace needs a column {either}, got "):
        read_accesses(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"write": [0, 1, 2, 0]}, "write must be in 0..1, got 2 in row 3"),
        ({"bytes": [64, 0, 8, 8]}, "bytes must be in 1..4294967335, got 0 in row 2"),
        ({"address": [0, 1, -1, 0]}, "address must be in 0..9223372036854775807, got -1 in row 3"),
        ({"bytes": [64, None, 8, 8]}, "column bytes must hold whole numbers, got nothing in row 2"),
        ({"bytes": [64.5, 1.0, 8.0, 8.0]}, "column bytes must hold whole numbers, got double"),
        ({"write": ["read", "write", "read", "read"]}, "column write must hold whole numbers, got string"),
    ],
)
def test_what_is_no_access(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        read_accesses(written(tmp_path / "w.csv", FOUR | change))


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "x.parquet").write_text("no")
    for name in ("x.parquet", "nowhere.csv"):
        with pytest.raises(InputError, match=f"{name}: cannot be read as"):
            read_accesses(tmp_path / name)
    with pytest.raises(InputError, match="at least one access"):
        read_accesses(written(tmp_path / "e.parquet", pa.table(FOUR).slice(0, 0)))


def test_a_bank_that_is_not_there_and_packets_in_place_of_accesses():
    one = np.ones(1, dtype=np.int64)
    with pytest.raises(InputError, match="an access to bank 9; there are 4"):
        DRAM.bounds(Workload("t", {"packet_bytes": one, "write": one, "bank": 9 * one}))
    with pytest.raises(InputError, match=r"takes packets or a trace of accesses; .* address or bank"):
        DRAM.bounds(Workload("t", {"packet_bytes": one, "write": one}))


def frame(size, ttl=9, spoil=0):
    packet = bytearray(write_packet(0x0B000001, 0x0C000001, bytes(size - 20), ttl=ttl))
    packet[11] ^= spoil
    return bytes(12) + IPV4_TYPE + bytes(packet)


def test_accesses_of_golden_code_by_hand(tmp_path):
    """A packet that is sent, and one with a wrong checksum: written and looked at, nothing more."""
    path = tmp_path / "two.pcap"
    write_frames(path, [frame(100), frame(80, spoil=1)], [1000, 5000])
    p = DRAM.with_(threads=1, allocation="in_turn").parameters
    load = accesses_of_capture(path, p)
    found = zip(*(load.columns[name].tolist() for name in ("write", "packet_bytes", "address")), strict=True)
    sent = [(1, 64, 0), (1, 36, 64), (0, 24, 0), (1, 24, 0), (0, 64, 0), (0, 36, 64)]
    assert list(found) == [*sent, (1, 64, 2048), (1, 16, 2112), (0, 24, 2048)]
    assert load.t_ns.tolist() == [0] * 6 + [4000] * 3
    turns = accesses_of_capture(path, DRAM.with_(threads=2, allocation="in_turn").parameters)
    assert turns.columns["address"].tolist() == [0, 2048, 64, 2112, 0, 2048, 0, 0, 64]


def test_a_message_of_the_router_is_written_and_read(tmp_path):
    """Out of time to live: the packet stays, an ICMP error (20 + 8 + quoted bytes) goes."""
    path = tmp_path / "ttl.pcap"
    write_frames(path, [frame(40, ttl=1)], [0])
    load = accesses_of_capture(path, DRAM.with_(threads=1, allocation="in_turn").parameters)
    assert load.columns["write"].tolist() == [1, 0, 1, 1, 0, 0]
    assert load.columns["address"].tolist() == [0, 0, 2048, 2112, 2048, 2112]
    assert load.packet_bytes.tolist() == [40, 24, 64, 4, 64, 4]


def test_a_trace_of_random_accesses_is_the_mix():
    """The same sizes, banks and directions from a trace and from the design's own mix: the same bandwidth."""
    rng = np.random.default_rng(3)
    columns = {"packet_bytes": np.full(8000, 64), "write": rng.integers(0, 2, 8000), "bank": rng.integers(0, 4, 8000)}
    load = Workload("random", columns)
    assert DRAM.simulate(load).rate_pps == pytest.approx(DRAM.simulate().rate_pps, rel=0.01)
    assert DRAM.bounds(load).rate_pps == pytest.approx(DRAM.bounds().rate_pps, rel=0.02)
    alone = DRAM.with_(pattern="one_bank")
    for write in (0, 1):  # of one bank, which recovers from writes
        made = {"write": np.full(8000, write), "bank": np.zeros(8000, dtype=np.int64)}
        one, same = Workload("one bank", columns | made), alone.with_(read_share=1.0 - write)
        assert DRAM.simulate(one).rate_pps == pytest.approx(same.simulate().rate_pps, rel=0.001)
        assert DRAM.bounds(one).rate_pps == pytest.approx(same.bounds().rate_pps, rel=0.001)


@pytest.mark.parametrize("made_from", ["file", "capture"])
def test_from_the_command_line(tmp_path, capsys, made_from):
    path = written(tmp_path / "a.csv", FOUR) if made_from == "file" else WIKIPEDIA
    asked = [
        "explain",
        "ixp2400_dram",
        "--trace",
        str(path),
        "--set",
        "trace_sizes=fixed",
        "--no-sensitivity",
        "--json",
    ]
    asked += ["--packets", "400"] + (["--set", "threads=8"] if made_from == "capture" else [])
    assert main(asked) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["counted"] == "DRAM bytes"
    assert 0 < found["simulated"] <= 1.001 * found["bounds"]
    assert "no effect" not in err
    assert ("136 packets make 1,025 accesses" in err) == (made_from == "capture")


def test_a_missing_column_on_the_command_line(tmp_path, capsys):
    path = written(tmp_path / "a.csv", {"order": [1], "bank": [0], "bytes": [64]})
    assert main(["explain", "ixp2400_dram", "--trace", str(path)]) == 2
    assert capsys.readouterr().err == "npexplore: a.csv: an access trace needs a column write, got order, bank, bytes\n"
