"""Several units around a switch matrix, locks apart, interconnects: each knob of the two levels does what it says."""

import pytest

from npexplore.designs import design
from npexplore.designs.soclib.design import bits_per_cycle
from npexplore.designs.soclib.router import matrix_words, short_bursts
from npexplore.designs.soclib.unit import Unit, alone_cycles, levels, ports, section_cycles
from npexplore.errors import RefusedError

NPU = design("soclib").with_(memory="distributed")
FOUR = NPU.with_(units=4, processors=4)


def rate(at, seed=1):
    return bits_per_cycle(at.parameters, at.simulate(seed=seed))


# ---- the router


def test_units_that_send_nothing_to_each_other_are_four_units():
    one = NPU.with_(processors=4, from_switch=0)
    assert rate(FOUR.with_(remote_share=0)) == pytest.approx(4 * rate(one), rel=0.02)


def test_a_packet_through_two_units_costs_the_short_way_more():
    """Everything crosses the matrix: a task does the long way once, the short way once, and puts words out twice."""
    at = FOUR.with_(remote_share=1, processors=1, units=2, window_cycles=20_000_000)
    p = at.parameters
    share = short_bursts(p) / p.bursts
    work = p.compute_cycles + p.memory_accesses * (p.bank_cycles + p.latency_cycles)
    words = (14 + matrix_words(p)) * p.egress_word_cycles
    matrix = 2 * matrix_words(p) * p.matrix_word_cycles + p.matrix_hop_cycles
    cycles = work * (1 + share) + 4 * section_cycles(p) + words + matrix
    assert rate(at) == pytest.approx(2 * 448 / cycles * 19_984_000 / 20_000_000, rel=0.03)
    assert (short_bursts(p), matrix_words(p)) == (12, 16)


def test_nothing_is_lost_between_units():
    answer = FOUR.with_(processors=8).simulate()
    assert answer.drops == {f"inside{k}": 0 for k in range(1, 5)}
    words = bits_per_cycle(FOUR.parameters, answer) * 2_000_000 / 32
    assert words == pytest.approx(14 * answer.about["packets"], rel=0.03)


def test_links_are_used_alike_where_traffic_is_even():
    answer = FOUR.with_(processors=8).simulate()
    busy = [answer.utilization[f"{way}{k}"].busy for way in ("uplink", "egress") for k in range(1, 5)]
    assert max(busy[:4]) < 1.2 * min(busy[:4])
    assert sum(busy[:4]) / sum(busy[4:]) == pytest.approx(0.75 * 16 / 14, rel=0.1)


def test_a_slow_thin_tree_is_full_at_its_top():
    """Two of three remote packets cross the top, where a thin tree has one link a switch and a full one two."""
    cycles = 1200
    slow = FOUR.with_(processors=8, matrix_word_cycles=cycles)
    full, thin = (slow.with_(matrix="fat_tree", matrix_thinning=thinning) for thinning in (1, 2))
    busy = [at.simulate().utilization["matrix.up1"].busy for at in (full, thin)]
    assert busy[0] < 0.7 < 0.9 < busy[1] <= 1
    most = 2 * 448 / (16 * cycles * 0.75 * 2 / 3)  # two switches below the top, one link each
    assert rate(thin) <= 1.05 * most
    assert rate(thin) < 0.95 * rate(full)
    assert rate(full) == pytest.approx(rate(slow), rel=0.1)


def test_more_work_at_the_lock_brings_the_fall_forward():
    """Packets of other units take the lock too: the more of them cross over, the fewer processors a unit bears."""
    none, all_cross = (FOUR.with_(processors=30, remote_share=share) for share in (0, 1))
    assert rate(none) > rate(none.with_(processors=26))
    assert rate(all_cross) < 0.5 * rate(all_cross.with_(processors=26))


def test_bounds_of_a_router_are_refused_by_name():
    with pytest.raises(RefusedError, match="ethernet2 and ethernet3 and ethernet4 take packets from one place"):
        FOUR.bounds()


# ---- locks apart


def test_locks_by_kind():
    names = {kind: Unit(NPU.with_(locks=kind).parameters) for kind in ("one", "side", "engine")}
    found = {kind: [unit.lock_names("in"), unit.lock_names("out")] for kind, unit in names.items()}
    assert found == {
        "one": [["lock"], ["lock"]], "side": [["lock_in"], ["lock_out"]],
        "engine": [["lock_in0", "lock_in1"], ["lock_out0", "lock_out1"]],
    }  # fmt: skip


@pytest.mark.parametrize("lock", ["mutex", "spin"])
def test_one_processor_does_not_care_how_many_locks_there_are(lock):
    alone = [rate(NPU.with_(lock=lock, locks=kind)) for kind in ("one", "side", "engine")]
    assert alone[1:] == pytest.approx([alone[0]] * 2, rel=1e-6)


def test_more_locks_bear_more_processors():
    """34 are too many for one lock, 40 for two, 60 for four."""
    sides = {n: [rate(NPU.with_(processors=n, locks=kind)) for kind in ("one", "side", "engine")] for n in (30, 40)}
    assert sides[30][0] < 0.5 * sides[30][1]
    assert sides[40][1] < 0.5 * sides[40][2]


def test_sections_at_four_locks_are_shared_out_evenly():
    at = NPU.with_(processors=20, locks="engine")
    busy = [at.simulate().utilization[name].busy for name in ("lock_in0", "lock_in1", "lock_out0", "lock_out1")]
    assert max(busy) < 1.15 * min(busy)
    assert sum(busy) == pytest.approx(
        20 * 2 * section_cycles(at.parameters) / alone_cycles(at.parameters, 0.75), rel=0.05
    )


# ---- the interconnect of a unit


@pytest.mark.parametrize(("processors", "expected"), [(1, 2), (4, 2), (5, 2), (6, 3), (29, 3), (30, 4)])
def test_levels_of_a_fat_tree_grow_with_its_ports(processors, expected):
    """A processor and its segment, two shared segments and four engines: 2 n + 6 ports, four branches a switch."""
    p = NPU.with_(interconnect="fat_tree", processors=processors).parameters
    assert ports(p) == 2 * processors + 6
    assert levels(p) == expected
    assert levels(NPU.with_(processors=processors).parameters) == 1


def test_a_fat_tree_costs_shared_memory_its_latency_and_spares_a_near_segment():
    """One processor: every access to the bank takes three switches instead of one, and so do global variables."""
    far, near = (
        {"interconnect": "fat_tree", "memory": memory, "from_switch": 0} for memory in ("shared", "distributed")
    )
    p = NPU.with_(**far).parameters
    crossbar, misses, words = alone_cycles(NPU.parameters), 24, 14
    assert alone_cycles(p) - crossbar == 8 * (24 * round(p.memory_accesses / 24) + 2 * (40 + 10) + misses + words)
    assert alone_cycles(NPU.with_(**near).parameters) - crossbar == 8 * (2 * 40 + misses)
    for knobs in (far, near):
        at = NPU.with_(**knobs)
        cycles = alone_cycles(at.parameters) + 2 * p.global_cycles  # each section begins with a look
        assert at.simulate().latency_s.mean * 1e8 == pytest.approx(cycles, abs=1)
