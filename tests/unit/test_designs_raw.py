"""The RAW router's versions: what is refused, what traffic gets, demands by hand, the deadlock without credits."""

import numpy as np
import pytest

from npexplore._kernels import engine
from npexplore.designs import design
from npexplore.designs.raw.chip import numbered
from npexplore.designs.raw.design import VERSIONS
from npexplore.designs.raw.traffic import published
from npexplore.engine.model import build
from npexplore.engine.run import FOREVER
from npexplore.engine.state import State
from npexplore.errors import ModelError, SimulationError
from npexplore.machine.workload_sources import workload

RAW = design("raw")
CYCLE = 1 / 425e6


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [40, 64, 65, 200])
def test_every_version_forwards_every_length(version, size):
    load = workload(packet_bytes=size)
    made = RAW.with_(version=version)
    answer = made.simulate(load, packets=320)
    bound = made.bounds(load)
    assert 0 < answer.rate_pps <= bound.rate_pps * 1.03  # the bound takes pipelines for equally loaded; cards run ahead
    assert answer.throughput_bps == pytest.approx(8 * size * answer.rate_pps)


def test_stage_1_of_the_pipelines_bounds_short_packets():
    ceiling = RAW.bounds(workload(packet_bytes=64)).about["ceiling_pps.stage1"]
    assert ceiling <= 4 / (150 * CYCLE) * (1 + 1e-12)  # four tiles, 150 cycles a lookup, and the message to stage 3
    assert ceiling > 4 / (190 * CYCLE)


def test_short_packets_are_not_stored_from_version_iii_on():
    load = workload(packet_bytes=64)
    assert RAW.demands(load).demands.servers["dram"].seconds == 0
    before = RAW.with_(version="v2").demands(load).demands.servers["dram"].seconds
    assert before == pytest.approx(2 * RAW.parameters.line_cycles * CYCLE)  # one line, written and read


@pytest.mark.parametrize(("version", "lines"), [("v1", 46), ("v2", 46), ("v3", 45), ("v3d", 45)])
def test_one_core_reads_and_writes(version, lines):
    """A line costs the same both ways; a stream opens a row once, and then takes a cycle for each word."""
    demands = RAW.with_(version=version).demands(workload(packet_bytes=1500)).demands
    line = RAW.parameters.line_cycles
    opened = line - 8 / 2  # two words a cycle: one in each direction
    written = opened + 8 * lines if version == "v3" else lines * line
    core = (lines * line + written) * CYCLE
    assert -1e-12 <= demands.servers["dram"].seconds - core <= 5 * CYCLE  # hops of the first word of a stream
    bus = demands.servers["dram_bus"].seconds / CYCLE / lines
    if version == "v1":  # half duplex: address and bit mask cross it too, and it is kept while words are under way
        assert 8 + 10 < bus < 8 + 10 + 6
    else:
        assert bus == pytest.approx(4 + 4)
    apart = RAW.with_(version=version, dram_core="apart").demands(workload(packet_bytes=1500)).demands
    assert apart.servers["dram"].seconds == pytest.approx(lines * line * CYCLE)
    assert apart.servers["dram_write"].seconds == pytest.approx(written * CYCLE, rel=0.02)


def test_the_first_tile_configures_the_controller_for_what_is_stored():
    """A transaction that takes what a miss of one word does (Table 2)."""
    p, cycles = RAW.parameters, {}
    for manager in ("answered", "posted", "free"):
        made = RAW.with_(memory_manager=manager)
        for size in (64, 65):
            cycles[manager, size] = made.demands(workload(packet_bytes=size)).demands.servers["stage1"].seconds / CYCLE
    assert cycles["answered", 64] == cycles["free", 64]
    more = cycles["answered", 65] - cycles["free", 65]
    assert more == pytest.approx(p.lookup24_miss_cycles - p.lookup24_hit_cycles)
    assert 0 < cycles["posted", 65] - cycles["free", 65] < 5


@pytest.mark.parametrize(("prefix", "cycles"), [("short", 100), ("long", 150)])
@pytest.mark.parametrize(("version", "fewer_words"), [("v1", 8), ("v2", 8), ("v3", 0), ("v4", 0)])
def test_a_stage_takes_what_table_2_says_with_its_words(version, prefix, cycles, fewer_words):
    """Words read and sent are within; Versions I and II read eight fewer. A stage's time begins 4 words early."""
    made = RAW.with_(version=version, prefix=prefix, memory_manager="free", switch_reset_cycles=0.0)
    servers = made.demands(workload(packet_bytes=32 if fewer_words else 64)).demands.servers
    assert servers["stage1"].seconds / CYCLE == pytest.approx(cycles - fewer_words, abs=6)  # and ways of words
    assert servers["stage3"].seconds / CYCLE == pytest.approx(servers["stage1"].seconds / CYCLE + 26 - 4, abs=10)


def test_header_and_payload_of_version_i_share_their_switches():
    """Ports 0 and 3 have both on network 1: 8 words of a header, and 10 of a line with address and mask."""
    made = RAW.with_(version="v1")
    names = {name for name in made.demands(workload(packet_bytes=64)).demands.servers if "cross" in name}
    assert names == {f"static1.cross{tile}" for tile in (0, 1, 2, 12, 13, 14)}
    share = made.demands(workload(packet_bytes=64)).demands.servers["static1.cross0"].seconds
    assert np.mean(share) == pytest.approx((8 + 10) / 4 * CYCLE)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"version": "v1", "linecards": 2}, "two line cards are laid out for Version III"),
        ({"version": "v4", "tiles": "8x8"}, "beyond 4 x 4 tiles only v3 and v3d"),
        ({"version": "v4", "write": "dma", "queue_full": "unasked"}, None),
        ({"version": "v3", "queue_full": "unasked"}, "Version IV without credits"),
        ({"version": "v3d", "write": "dma"}, "cannot write by dma"),
    ],
)
def test_what_cannot_be_laid_out_is_refused(knobs, message):
    if message is None:
        RAW.with_(**knobs).machine()
        return
    with pytest.raises(ModelError, match=message):
        RAW.with_(**knobs).machine()


def test_two_line_cards_are_version_v():
    load = workload(packet_bytes=64)
    assert RAW.with_(linecards=2).bounds(load) == RAW.with_(version="v5").bounds(load)


def test_traffic_is_even_over_pipelines_and_outputs():
    columns = RAW.workload(workload(mix="raw_trace")).columns
    for name in ("pipeline", "output"):
        share = [columns["packet_bytes"][columns[name] == k].sum() for k in range(4)]
        assert max(share) / min(share) < 1.05


def test_published_traffic_is_routed_by_the_golden_table():
    load = published(RAW.parameters, seed=3, packet_bytes=64)
    assert len(load.packet_bytes) == 4000
    assert set(np.unique(load.columns["output"])) <= set(range(4))
    misses = load.columns["misses"]
    assert set(np.unique(misses)) <= {0, 1, 2}
    assert np.mean(misses == 0) > 0.8  # 128 addresses fit into the cache of a tile
    none = published(RAW.with_(cache_lines=1).parameters, seed=3, packet_bytes=64)
    assert none.columns["misses"].mean() > 0.95 * 2


def test_version_iv_without_credits_stands_still_and_says_in_which_circle():
    load = workload(packet_bytes=1500)
    with pytest.raises(SimulationError, match=r"deadlock.*circle.*gdn\."):
        RAW.with_(version="v4", queue_full="unasked").simulate(load, packets=1000)
    assert RAW.with_(version="v4", queue_full="credits").simulate(load, packets=160).rate_pps > 1e6


def test_a_queue_that_discards_counts_what_it_loses():
    made = RAW.with_(queue_full="discard", queue_packets=1)
    answer = made.simulate(workload(packet_bytes=1500), packets=320)
    assert sum(answer.drops.values()) > 0


def test_regular_places():
    for values in ([3], [0, 0, 1, 1], [12, 13, 14, 15], [56, 57, 0, 1]):
        assert [numbered(values)(k) for k in range(len(values))] == values
    with pytest.raises(ModelError, match="no regular order"):
        numbered([0, 5, 1, 2])


def test_a_stalled_network_is_told_within_bounded_time():
    """Nothing moves any more soon after the last packet: the clock stands at the last event, not at a time limit."""
    made, load = RAW.with_(version="v4", queue_full="unasked"), workload(packet_bytes=1500)
    model = build(made.machine(), made.workload(load))
    state = State(model, 1)
    assert state.advance(int(FOREVER), 10**6, round(model.patience_s / model.tick)) == engine.DEADLOCK
    done = int(state.clock[engine.K_DONE])
    assert 0 < done < 10**4
    cycles = int(state.clock[engine.K_NOW]) * model.tick / CYCLE
    assert cycles < 4000 * (done + 256)  # each packet of 375 words, and those that stand still, takes less than that
    assert "circle" in state.who_waits()
