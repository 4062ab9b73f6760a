"""The server of XDP's measurements: which limit binds where, caches by formula, programs of one's own, refusals."""

import re

import pytest
from reference.caches import cyclic_miss, uniform_miss

import npexplore as npx
from npexplore.cli import main
from npexplore.designs.server.caches import caches, lookup_miss
from npexplore.designs.server.cycles import cycles
from npexplore.designs.server.design import packet_miss
from npexplore.errors import ModelError, NpexploreError
from npexplore.ledger import load
from npexplore.machine.steering import hashed, taken
from npexplore.study.checking.quantities.base import knobs_of
from npexplore.study.checking.quantities.server import QUANTITIES, offered

FRAMES = npx.workload(packet_bytes=64)
SERVER = npx.design("server")


@pytest.mark.parametrize("cores", [3, 4, 5, 6])
def test_rings_miss_as_the_closed_form_says(cores):
    """15 MB hold 3,840 pages' first lines; what the card's two ways may newly take does not matter in the long run."""
    p = SERVER.parameters.with_(program="tx", cores=cores, ring=1024)
    assert packet_miss(p) == pytest.approx(cyclic_miss(cores * 1024, 3840), abs=0.01)
    assert packet_miss(p.with_(device_ways=20)) == pytest.approx(packet_miss(p), abs=0.01)


@pytest.mark.parametrize("flows", [100, 500, 2000])
def test_flows_that_are_all_alike_miss_what_does_not_fit(flows):
    first, second = lookup_miss(flows, 14, 91857 * 1024, caches(SERVER.parameters.with_(replacement="lru")))
    assert first == pytest.approx(uniform_miss(flows, 512 / 14), abs=0.02)
    assert second == pytest.approx(uniform_miss(flows, 4096 / 14), abs=0.03)


@pytest.mark.parametrize(("ways", "rule"), [
    ({"l1_ways": 1000}, "l1: ways must be 1 to its 512 lines of 64 bytes, got 1000"),
    ({"device_ways": 21}, "l3: ways of devices must be 0 to its 20 ways, got 21"),
    ({"l3_ways": 7}, "l3: 245760 lines must be whole sets of 7 ways"),
    ({"l1_kb": 512}, "l1: its bytes must be at most the 262144 of l2, which holds all its lines, got 524288"),
    ({"line_bytes": 48}, "caches must have lines of a power of two bytes, got 48"),
    ({"kernel": 4.185}, "kernel must be one that was measured, 4.18 or 4.19, got 4.185"),
    ({"program": "own", "own_lookup": "flow_table", "own_entries": 10},
     "flow_table: entries must be at least 1000, buckets of 4 for 4000 flows, got 10"),
])  # fmt: skip
def test_caches_that_cannot_be_are_refused(ways, rule):
    with pytest.raises(NpexploreError, match=rule):
        SERVER.with_(**ways).machine()  # whether or not this program fills rings or looks anything up


@pytest.mark.parametrize(("knobs", "length", "rule"), [
    ({"check_bytes": 64}, 64, "check_bytes must leave a byte of a frame of 64, got 64"),
    ({}, 9000, "buffer_bytes must hold a frame's 8996 without check bytes, got 4096"),
    ({"mini_bytes": 65}, 64, "mini_bytes must be at most cqe_bytes = 64, got 65"),
    ({"cqe_bytes": 512}, 64, "bytes of a completion must be in 0..256, got 512"),
])  # fmt: skip
def test_frames_and_completions_that_do_not_fit_are_refused(knobs, length, rule):
    SERVER.simulate(npx.workload(packet_bytes=64), packets=100)  # whose machine is kept: it serves none that cannot be
    with pytest.raises(ModelError, match=re.escape(rule)):
        SERVER.with_(**knobs).bounds(npx.workload(packet_bytes=length))
    assert SERVER.with_(striding="on").bounds(npx.workload(packet_bytes=9000)).rate_pps > 0  # several buffers hold it


def test_what_is_only_checked_is_no_assumption():
    assert "l1_ways" not in SERVER.depends_on(FRAMES)
    assert "l1_ways" in SERVER.with_(program="tx").depends_on(FRAMES)


def test_a_lookup_of_ones_own_costs_its_lines():
    """DIR-24-8 reads two words at most: nothing from the caches behind the first for one flow, more for more flows."""
    own = SERVER.parameters.with_(program="own", own_lookup="dir24_8", own_cycles=300.0)
    found = [cycles(own.with_(flows=n)) for n in (1, 2000, 20_000)]
    assert found[0] == 300
    assert found[0] < found[1] < found[2] < 300 + 2 * 300


@pytest.mark.parametrize(("key", "rate"), [
    ("xdp.ddos.bare.m1", 1 / (0.5 + 0.5 / (1 - 1 / 2.8698)) * 34016),
    ("xdp.ddos.filter.m10", 1 / (1 / 34524.68 + 10 * 32 / 20.68**2 * 1e-6)),
])  # fmt: skip
def test_an_attack_stretches_the_part_of_a_transaction_that_its_core_serves(key, rate):
    """Half of it where the server shares the core; elsewhere a packet waits for half a poll's others."""
    row = load()[key]
    assert QUANTITIES["transaction rate"].value(row, None) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize(
    ("knobs", "binds"),
    [
        ({"program": "drop", "ring": 512, "cores": 2}, "core"),
        ({"program": "drop", "ring": 512, "cores": 6}, "rx.up"),
        ({"program": "drop", "ring": 512, "cores": 6, "cqe_compress": "on", "generated_mpps": 138.7}, "ethernet"),
        ({"program": "tx", "ring": 256, "cores": 6, "egress": "same_port"}, "rx.up"),
        ({"stack": "linux", "program": "route", "cores": 6, "egress": "other_port"}, "core"),
    ],
)
def test_what_binds(knobs, binds):
    design = SERVER.with_(**knobs)
    limit, seen = design.bounds(FRAMES), design.simulate(FRAMES, packets=8000)
    assert limit.bottleneck == binds
    assert seen.rate_pps == pytest.approx(limit.rate_pps, rel=0.02)


@pytest.mark.parametrize(("knobs", "binds", "thrown_out"), [
    ({}, "core", (0.2, 0.25)),  # rings of 1,024: packets are thrown out of the cache before they are read
    ({"ring": 256}, "core", (0.0, 0.0)),  # smaller rings cure it
    ({"program": "drop", "ring": 512, "egress": "none"}, "rx.up", (0.0, 0.0)),
])  # fmt: skip
def test_what_binds_is_named_as_the_measurers_did(knobs, binds, thrown_out):
    """Hoeiland-Joergensen et al. 2018: cores; packet data out of the cache before it is read; PCI Express."""
    asked = {"stack": "xdp", "program": "route", "cores": 6, "egress": "other_port", **knobs}
    seen = SERVER.with_(**asked).simulate(FRAMES, packets=6000)
    parts = {part.resource: part for part in seen.breakdown.parts}
    missed = parts["ring_misses"].service_s if "ring_misses" in parts else 0.0
    low, high = thrown_out
    assert seen.bottleneck == binds
    assert low <= missed / (missed + parts["core"].service_s) <= high


def test_explain_names_the_core_and_the_rings_beside_it(capsys):
    asked = ["stack=xdp", "program=route", "cores=6", "egress=other_port"]
    options = [word for one in asked for word in ("--set", one)]
    assert main(["explain", "server", "--packet-bytes", "64", "--no-sensitivity", *options]) == 0
    said = capsys.readouterr().out
    assert "What binds is core" in said
    assert "ring_misses" in said


def test_a_packet_and_its_completion_fill_the_link():
    """60 and 64 bytes with 24 around each, two requests for 64 descriptors, of 16 lanes less their toll."""
    found = SERVER.with_(program="drop", ring=512, cores=6).bounds(FRAMES)
    room = 16 * 8e9 * 128 / 130 / 8 * (1 - 2 * 8 / 203 - 4 / 1538)
    assert found.rate_pps == pytest.approx(room / (60 + 24 + 64 + 24 + 2 * 24 / 64))


def test_rings_beyond_the_pages_of_the_cache_miss():
    shares = [packet_miss(SERVER.parameters.with_(program="tx", cores=n, ring=1024).with_()) for n in (3, 4, 5, 6)]
    assert shares[0] == 0.0
    assert shares[1:] == sorted(shares[1:])
    assert [packet_miss(SERVER.parameters.with_(program=name, cores=6)) for name in ("drop",)] == [0.0]
    assert packet_miss(SERVER.parameters.with_(program="tx", cores=6, ring=512)) == 0.0


def test_linux_shares_lines_and_the_driver_does_not():
    def per_core(stack, program, n):
        return cycles(SERVER.parameters.with_(stack=stack, program=program, cores=n))

    assert per_core("linux", "drop_raw", 5) == pytest.approx(1.1 * per_core("linux", "drop_raw", 1))
    assert per_core("xdp", "drop", 5) == per_core("xdp", "drop", 1)


def test_flows_lie_between_one_and_twenty_thousand():
    p = SERVER.parameters.with_(program="route", table="full", ring=512, striding="on")
    found = [cycles(p.with_(flows=n)) for n in (1, 2, 10, 200, 1000, 20_000)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(p["cycles_xdp_route_striding"])
    assert found[1] - found[0] == pytest.approx(p.branch_cycles / 2, abs=2)  # one branch, wrong every other time
    assert cycles(p.with_(flows=10_000_000)) == found[-1]  # there is no more to lose


def test_lines_that_pass_leave_flows_less_room():
    """A line stays T packets, 14 x 100 (1 - exp(-T/100)) + 40 T = 4096 lines (Che): T = 82.8, and exp(-T/100) miss."""
    made = caches(SERVER.parameters.with_(replacement="lru"))
    alone, beside = (lookup_miss(100, 14, 91857 * 1024, made, n) for n in (0, 40))
    assert alone[1] == pytest.approx(0.0, abs=0.01)
    assert beside[1] == pytest.approx(0.437, abs=0.03)


@pytest.mark.parametrize(("knobs", "packet"), [
    ({"program": "drop", "ring": 512, "cqe_compress": "on"}, 156.13),
    ({"program": "drop", "kernel": 4.19, "calls": 6}, 156.13 - 4 * 1.251 * 3.8045),
    ({"program": "drop_read"}, 156.13 + 12),
    ({"program": "ddos_filter"}, 156.13 + 12 + (60 * 0.04 + 5 * 0.4 + 0.45) * 3.27),
    ({"program": "redirect", "ring": 64}, 439.71),
    ({"program": "redirect", "ring": 128}, 502.08),
    ({"program": "route", "striding": "on"}, 659.68),
    ({"stack": "linux", "program": "drop_raw", "xdp_pass": "on", "cores": 3}, (753.1 + 83.94) * 1.05),
    ({"stack": "linux", "program": "ipvs"}, 2186.91 + 2091.06 - 1146.03),
    ({"program": "drop", "nic": "xl710"}, 3804.5 / 37),
])  # fmt: skip
def test_a_program_takes_its_own_cycles_or_those_of_others_and_what_differs(knobs, packet):
    assert cycles(SERVER.parameters.with_(**knobs)) == pytest.approx(packet)


@pytest.mark.parametrize(("knobs", "rule"), [
    ({"program": "tx", "kernel": 4.19}, "for program 'tx' with kernel 4.19 and connectx5"),
    ({"program": "tx", "nic": "xl710"}, "for program 'tx' with kernel 4.18 and xl710"),
    ({"program": "tx", "xdp_pass": "on"}, "for program 'tx' and passes every packet on"),
    ({"stack": "linux", "program": "ipvs", "cycles_linux_drop_conntrack": 1000.0}, "drop_filter = 1146.03, got 1000"),
    ({"program": "route", "table": "full", "l2_cycles": 3}, "l1_cycles must be at most l2_cycles, and those at most"),
])  # fmt: skip
def test_what_nobody_measured_is_refused(knobs, rule):
    with pytest.raises(ModelError, match=re.escape(rule)):
        cycles(SERVER.parameters.with_(**knobs))


def test_full_tables_cost_wrong_branches_and_pairs_of_lines_and_linux_looks_up_twice():
    """3.75 branches of 16 cycles, seven waits of 8 and 33 cycles once other flows have pushed all lines out."""
    p = SERVER.parameters.with_(program="route", flows=20_000)
    added = {
        stack: cycles(p.with_(stack=stack, table="full")) - cycles(p.with_(stack=stack)) for stack in ("xdp", "linux")
    }
    assert added["xdp"] == pytest.approx(3.75 * 16 + 7 * (8 + 33), rel=0.02)
    assert added["linux"] == pytest.approx(2 * added["xdp"])


def test_a_program_of_ones_own_takes_its_cycles():
    mine = SERVER.with_(program="own", own_cycles=300.0, clock_mhz=3000.0, cores=2)
    assert mine.bounds(FRAMES).rate_pps == pytest.approx(2 * 10e6)


def test_a_program_that_nobody_measured_is_refused():
    with pytest.raises(ModelError, match="nobody measured what dpdk takes for program 'katran'"):
        SERVER.with_(stack="dpdk", program="katran").machine()


def test_hashed_flows_make_the_fullest_queue_bind():
    """One flow keeps one core busy, many flows nearly all; bounds, queueing and simulation see the same queues."""
    one = SERVER.with_(program="redirect", ring=256, egress="other_port")
    alone = one.bounds(FRAMES).rate_pps
    speedups = []
    for flows in (1, 2, 10, 100, 20_000):
        design = one.with_(steering="hash", cores=6, flows=flows)
        limit, queued, seen = design.bounds(FRAMES), design.queueing(FRAMES), design.simulate(FRAMES, packets=6000)
        assert {one.bottleneck for one in (limit, queued, seen)} == {"core"}
        assert queued.rate_pps == pytest.approx(limit.rate_pps, rel=0.02)
        assert seen.rate_pps == pytest.approx(limit.rate_pps, rel=0.02)
        speedups.append(limit.rate_pps / alone)
    assert speedups == sorted(speedups)
    assert speedups[0] == pytest.approx(1, rel=1e-6)
    assert 5.7 < speedups[-1] < 6 * 128 / 132  # 22 of 128 entries name the fullest


def test_hashed_flows_on_one_core_are_as_steered_ones():
    steered = SERVER.with_(program="route", table="full", ring=512, striding="on", egress="other_port", flows=1)
    assert steered.with_(steering="hash").bounds(FRAMES).rate_pps == steered.bounds(FRAMES).rate_pps


@pytest.mark.parametrize(("knobs", "rule"), [
    ({"flows": 0}, "knob flows must be in 1..1e+07, got 0"),
    ({"hash_entries": 4, "cores": 6}, "a table of 4 entries must name 1 to 4 queues, got 6"),
    ({"flow_skew": -1.0}, "knob flow_skew must be in 0..10, got -1"),
])  # fmt: skip
def test_flows_that_cannot_be_hashed_are_refused(knobs, rule):
    with pytest.raises(NpexploreError, match=re.escape(rule)):
        SERVER.with_(steering="hash", **knobs).bounds(FRAMES)


def test_no_measured_row_of_hashed_flows_tells_how_uneven_they_were():
    """Where several cores share flows the generators send so much that even the emptiest queue is never empty."""
    rows = [row for row in load().select(design="server") if row.quantity == "forwarding rate"]
    rows = [row for row in rows if "flows" in row.conditions and int(row.conditions["cores"]) > 1]
    assert len(rows) > 15
    for row in rows:
        p = SERVER.parameters.with_(**knobs_of(row))
        one = float(p.clock_mhz) / cycles(p)
        shares = hashed(int(p.flows), int(p.cores), 0.0, 0)
        assert taken(one, offered(row), shares) == pytest.approx(one * int(p.cores)), row.key


def test_latencies_lie_between_a_packet_right_before_an_interrupt_and_one_right_behind_it():
    """Counted packet by packet: one each microsecond, all served one after another at the next interrupt."""
    names = [f"xdp.latency.linux.{name}" for name in ("loaded", "loaded.share10", "idle.share10")]
    mean, share, idle = (QUANTITIES[row.quantity].value(row, None) for row in map(load().__getitem__, names))
    p = SERVER.parameters.with_(stack="linux", program="route")
    gap, service_s, n = p.moderation_us * 1e-6, cycles(p) / (p.clock_mhz * 1e6), 1000  # n: sampled arrivals in a gap
    came = [gap * (k + 0.5) / n for k in range(n)]
    latencies = [2e-6 + gap - at + 1e6 * at * service_s + service_s for at in came]
    assert mean == pytest.approx(sum(latencies) / n, rel=1e-6)
    assert share == pytest.approx(sum(one < 10e-6 for one in latencies) / n, abs=2 / n)
    assert idle == 0
