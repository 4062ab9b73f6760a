"""Schedulers, reorder queues, arbiters and scratchpads in LUTs and block RAM, against counts by hand."""

import pandas as pd
import pytest

from npexplore.designs import design
from npexplore.designs.gorilla.steps import PROTOCOLS, engine_program
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.errors import InputError, UnknownNameError
from npexplore.machine.step_programs.layout import scratchpad
from npexplore.study.papers.gorilla import area, performance, structures

NP = design("gorilla")
P = NP.parameters


@pytest.mark.parametrize(("inputs", "bits", "luts"), [(1, 9, 0), (2, 1, 0.5), (4, 1, 1), (8, 3, 6), (16, 128, 512)])
def test_multiplexers(inputs, bits, luts):
    assert structures.multiplexer(inputs, bits) == luts


def test_arbiters_and_comparators():
    assert [structures.fixed_priority(n) for n in (1, 2, 6, 7)] == [0, 2, 6, 14]
    assert structures.round_robin(6) == 12 + 12
    assert [structures.comparator(w) for w in (1, 3, 4)] == [1, 1, 2]
    assert [structures.number_bits(n) for n in (1, 2, 4, 6)] == [0, 1, 2, 3]


def test_a_request_is_its_argument_and_who_asks():
    """Three bits for six engines, two for four threads."""
    assert structures.request_bits(P) == {
        "lookup41": 37, "lookup42": 37, "lookup61": 133, "lookup62": 133, "label_table": 25, "flow_counter": 23,
    }  # fmt: skip


def test_overheads_by_hand():
    """16-6-4: 512 LUTs for sixteen words of 128 bits, 6 x 388 held bits a cluster, of 3735 LUTs an engine."""
    ready = 512 + (8 + 8) + (2 * 4 / 4 + 4)
    assert sum(structures.scheduler_luts(P).values()) == pytest.approx(ready)
    fair = 6 * 18 + 6 * 388 / 2
    assert sum(structures.fair_luts(P).values()) == pytest.approx(fair)
    own = (0.60417 + 4 * 0.23958) / 100 * 239040
    assert structures.overheads(P)["ready"] == pytest.approx(ready / own)
    assert structures.overheads(P)["fair"] == pytest.approx(fair / own / 6)


def test_a_reorder_queue_in_luts_as_memory():
    """Sixteen words of 128 bits: 22 times four LUTs of six bits."""
    memory = structures.scheduler_luts(P.with_(lut_structures="lut_ram"))
    assert memory["places of the reorder queue"] == 88


def test_one_thread_or_engine_needs_neither():
    assert set(structures.scheduler_luts(P.with_(threads=1)).values()) == {0.0}
    assert set(structures.fair_luts(P.with_(engines=1)).values()) == {0.0}


def test_area_with_what_a_configuration_has():
    plain = P.with_(scheduler="round_robin")
    assert structures.lut_share(plain) == pytest.approx(area.lut_share(P, "v6hx380t", 96, 4))
    more = structures.overheads(P)
    assert structures.lut_share(P) == pytest.approx((1 + more["ready"]) * structures.lut_share(plain))
    both = structures.lut_share(P.with_(local_arbiter="fair"))
    assert both == pytest.approx((1 + sum(more.values())) * structures.lut_share(plain))


def test_rate_per_area_of_schedulers():
    rates = pd.DataFrame({"scheduler": ["ready", "round_robin"], "threads": 2, "mpps": [40.0, 30.0]})
    table = performance.per_area(NP, rates).set_index("scheduler")
    assert (table["mpps_per_area"] == table["mpps"] / (100 * table["lut"])).all()
    more = structures.overheads(P.with_(threads=2))["ready"]
    assert table.loc["ready", "lut"] == pytest.approx((1 + more) * table.loc["round_robin", "lut"])
    assert table.loc["round_robin", "lut"] == pytest.approx(area.lut_share(P, "v6hx380t", 16, 2))


# ---- scratchpads


def layouts():
    return [
        scratchpad(engine_program(router_tables(), names, width_bits=w))
        for names in (PROTOCOLS, ("ipv4",))
        for w in (64, 128)
    ]


def test_fields_are_read_as_often_as_their_bits_ask_for_and_overlap_nowhere():
    for layout in layouts():
        taken = set()
        for name, place in layout.places.items():
            assert len(layout.addresses(0, name)) == -(-place.bits // layout.width_bits)
            begin = place.word * layout.width_bits + place.first_bit
            bits = set(range(begin, begin + place.bits))
            assert not bits & taken
            taken |= bits
        assert max(taken) < layout.words * layout.width_bits


def test_threads_have_their_own_words():
    for layout in layouts():
        words = [{a for name in layout.places for a in layout.addresses(t, name)} for t in range(4)]
        assert len(set.union(*words)) == sum(map(len, words))
        assert max(set.union(*words)) < layout.bits(4) // layout.width_bits
    with pytest.raises(UnknownNameError):
        layouts()[0].addresses(0, "ipv5_header")
    with pytest.raises(InputError, match="0 or more, got -1"):
        layouts()[0].addresses(-1, "metadata")


def test_scratchpads_in_block_ram():
    """Words of 128 bits lie across four blocks of 36; 512 of them fit."""
    found = structures.block_ram(P)
    assert found["bits"] == 96 * 4 * found["words of a thread"] * 128
    assert found["blocks"] == 96 * 4
    assert structures.block_ram(P.with_(protocols="ipv4"))["words of a thread"] < found["words of a thread"]
