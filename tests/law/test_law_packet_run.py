"""Every packet's fate: rows add up to the totals of the same run, and are those of Lindley's recursion on a line."""

import gc
import struct
from collections import deque
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.random_machines import random_machine

import npexplore as npx
from npexplore._kernels import engine
from npexplore.designs import DESIGNS
from npexplore.designs.prepared import prepared
from npexplore.engine.fates import Fates
from npexplore.engine.run import run
from npexplore.engine.state import State
from npexplore.errors import InputError, RefusedError
from npexplore.machine import FifoServer, Ingress, Machine, Pool
from npexplore.machine.workload import Workload
from npexplore.packets.frames import read_frames, write_frames
from npexplore.solve.packet_run import run_packets

CAPTURE = npx.bundled_path("data/captures/zeek_wikipedia.pcap")
SERVICE_NS = 977  # of the line; arrivals are whole microseconds, so that nothing happens at once


def bursts(columns, seed, mean_s, packets=300):
    """Return packets of a workload that come in bursts, so that some machines lose some; some come at once."""
    r = np.random.default_rng(seed)
    rows = r.integers(len(next(iter(columns.values()))), size=packets)
    gaps = r.exponential(r.choice([0.0, 0.2, 3.0], packets) * mean_s * 1e9)
    chosen = {name: column[rows] for name, column in columns.items()}
    return Workload("bursts", chosen, arrivals="timestamps", t_ns=np.cumsum(gaps).astype(np.int64))


def rows_of(made, load, seed):
    """Return the packets of a run by hand and through `simulate`, both of the same packets and seed."""
    ready = prepared(made.by_packets(), load)
    found = run_packets(made.name, ready.machine, ready.workload, ready.model(), np.arange(300), seed=seed,
                        by_resource=True)  # fmt: skip
    return found, made.by_packets().simulate(load, seed=seed)


def test_arrays_of_a_run_are_freed_at_its_end(monkeypatch):
    """A function that referred to them kept all of them, 11 GB in a test suite, until garbage was collected."""
    states, begin = [], State.__init__

    def noted(self, *arguments):
        begin(self, *arguments)
        states.append(ref(self))

    monkeypatch.setattr(State, "__init__", noted)
    gc.disable()
    try:
        made = random_machine(1).design
        rows_of(made, bursts(random_machine(1).workload().columns, 1, 1e-6), 1)
        assert states
        assert not any(state() for state in states)
    finally:
        gc.enable()


def holds(found, simulated):
    rows, tick = found.fates.rows, found.fates.model.tick
    places = rows[:, engine.F_FIRST :].sum(axis=1)
    ended = found.fates.finished | found.fates.lost
    assert np.array_equal(places[ended], (rows[:, engine.F_END] - rows[:, engine.F_ARRIVAL])[ended])
    assert found.prediction == simulated
    assert sum(found.counts.values()) == 300
    assert found.counts["sent"] == simulated.about["packets"]
    assert found.drops == {place: lost for place, lost in simulated.drops.items() if lost}
    frame = found.packets
    assert frame.latency_s.mean() == pytest.approx(simulated.latency_s.mean, rel=1e-9, abs=tick)
    assert (frame.reason.notna() == (frame.outcome == "dropped")).all()
    assert (frame.departure_s.notna() == (frame.outcome == "sent")).all()
    parts = frame.filter(regex=r"\.(service|waiting|held)_s$").sum(axis=1)
    sent = frame.outcome == "sent"
    assert np.allclose(parts[sent], frame.latency_s[sent], rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", DESIGNS)
def test_rows_of_every_listed_design_add_up_to_the_totals_of_simulate(name):
    made = npx.design(name)
    load = bursts({"packet_bytes": np.array([64, 576, 1500])}, 1, 1.0 / 3e6)
    holds(*rows_of(made, load, 3))


@pytest.mark.slow
def test_rows_of_random_machines_add_up_to_the_totals_of_simulate():
    lost = 0
    for seed in range(24):
        drawn = random_machine(seed)
        rate = drawn.design.bounds(drawn.workload()).rate_pps
        load = bursts(drawn.workload().columns, seed, 1 / rate)
        found, simulated = rows_of(drawn.design, load, seed)
        holds(found, simulated)
        lost += bool(found.drops)
    assert lost > 3


def test_rows_that_lose_a_packet_are_refused():
    ready = prepared(npx.design("ixp2400").by_packets(), bursts({"packet_bytes": np.array([64])}, 1, 1e-6))
    fates = Fates.of(ready.model())
    last = run(ready.model(), 1, 300, 2, fates=fates).snapshots[-1]
    fates.check(last.done, last.counters)
    for change in ((engine.F_ENDS, 2), (engine.F_END, 0), (engine.F_DROP, 2)):
        broken = replace(fates, rows=fates.rows.copy())
        broken.rows[7, change[0]] = change[1]
        with pytest.raises(RefusedError, match="300 packets"):
            broken.check(last.done, last.counters)


# ---- a line of a fixed rate and a finite buffer: D. V. Lindley, Proc. Camb. Phil. Soc. 48 (1952), 277


def line(room):
    def forward(m, packet):
        m.wire.serve()
        m.receive.free(bytes=packet.packet_bytes)

    return Machine("line", Pool("thread", 1, forward), Ingress("receive", 64 * room, 64),
                   [FifoServer("wire", service_s=SERVICE_NS * 1e-9)], tick=1e-9)  # fmt: skip


def lindley(arrivals, lengths, room):
    """Return the departure of each packet (None: lost): service after its arrival, or after the last departure.

    room: cells of 64 bytes; a packet takes whole ones until it departs, and is lost where they are not free.
    """
    inside, used, last, departures = deque(), 0, 0, []
    for now, length in zip(arrivals, lengths, strict=True):
        while inside and inside[0][0] < now:
            used -= inside.popleft()[1]
        cells = -(-length // 64)
        if used + cells > room:
            departures.append(None)
            continue
        last, used = max(now, last) + SERVICE_NS, used + cells
        inside.append((last, cells))
        departures.append(last)
    return departures


PACKETS = st.tuples(st.sampled_from([0, 1, 1, 2, 9]), st.sampled_from([64, 64, 65, 128, 200, 320]))


@given(st.lists(PACKETS, min_size=1, max_size=120), st.integers(5, 12))
@settings(max_examples=60)
def test_a_line_with_a_finite_buffer_is_lindleys_recursion_packet_by_packet(packets, room):
    gaps, lengths = np.array(packets).T
    arrivals = 1000 * (1000 + np.cumsum(gaps))  # after the thread has begun
    load = Workload("drawn", {"packet_bytes": lengths}, arrivals="timestamps", t_ns=arrivals)
    ready = prepared(npx.design(line(room)), load)
    found = run_packets("line", ready.machine, load, ready.model(), np.arange(len(gaps)))
    rows = found.fates.rows
    departures = [end if sent else None for end, sent in
                  zip(rows[:, engine.F_END].tolist(), found.fates.finished, strict=True)]  # fmt: skip
    assert departures == lindley(arrivals.tolist(), lengths.tolist(), room)
    assert found.counts["inside"] == 0
    assert set(found.packets.reason.dropna()) <= {"BUFFER_FULL"}


@pytest.mark.parametrize("packets", [100, 3000])
def test_each_of_many_packets_that_come_at_once_has_an_account_of_its_own(packets):
    """More than the engine has to spare at the beginning of one activation, that of the arrivals."""
    load = Workload("at once", {"packet_bytes": np.full(packets, 64)}, arrivals="timestamps",
                    t_ns=np.full(packets, 10**6))  # fmt: skip
    ready = prepared(npx.design(line(packets)), load)
    found = run_packets("line", ready.machine, load, ready.model(), np.arange(packets), by_resource=True)
    served = SERVICE_NS * 1e-9
    assert found.packets.latency_s.to_numpy() == pytest.approx(served * np.arange(1, packets + 1))
    assert found.packets["wire.service_s"].to_numpy() == pytest.approx(np.full(packets, served))
    spent = npx.design(line(packets)).simulate(load).breakdown
    assert sum(part.total_s for part in spent.parts) == pytest.approx(served * (packets + 1) / 2)


# ---- of a capture


def test_packets_join_with_those_of_the_capture_whatever_their_order():
    capture = npx.read_capture(CAPTURE)
    found = npx.design("ixp2400").run(capture, speed=1e3)
    joined = capture.packets.join(found.packets, how="inner")
    assert len(joined) == len(found.packets) == int((capture.columns["l3_length"] > 0).sum())
    own = (joined.t_ns - joined.t_ns.min()) * 1e-9 / 1e3
    assert np.allclose(joined.arrival_s, own, rtol=0, atol=1e-9)
    assert found.to_dict()["sent"] == found.counts["sent"]
    with pytest.raises(InputError, match="at a speed or at a rate"):
        npx.design("ixp2400").run(capture, speed=2, rate="1Gb/s")


def test_packets_out_of_order_come_in_order_of_time_and_equal_times_as_in_the_file(tmp_path):
    frame = next(iter(read_frames(CAPTURE)))[1]
    times = [10**18 + k for k in (900_000, 500_000, 500_000, 700_000, 0)]
    write_frames(tmp_path / "in.pcap", [frame] * 5, times)
    found = npx.design("ixp2400").run(tmp_path / "in.pcap").packets
    assert found.index.tolist() == [4, 1, 2, 3, 0]
    assert found.arrival_s.tolist() == pytest.approx([0, 5e-4, 5e-4, 7e-4, 9e-4], abs=1e-12)
    assert (found.outcome == "sent").all()


def test_packets_without_time_stamps_are_refused(tmp_path):
    """A pcapng file of simple packet blocks, which have none."""
    frame = next(iter(read_frames(CAPTURE)))[1]
    pad = bytes(-len(frame) % 4)
    size = 16 + len(frame) + len(pad)
    head = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) + struct.pack(
        "<IIHHII", 1, 20, 1, 0, 0, 20
    )
    packet = struct.pack("<III", 3, size, len(frame)) + frame + pad + struct.pack("<I", size)
    (tmp_path / "in.pcapng").write_bytes(head + 3 * packet)
    with pytest.raises(InputError, match="3 of 3 packets have no time stamp"):
        npx.design("ixp2400").run(tmp_path / "in.pcapng")
