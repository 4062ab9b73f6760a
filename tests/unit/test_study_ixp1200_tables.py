"""The IXP1200's tables for figures: simulations asked twice, remedies from a capture, structures, roles, timers."""

from dataclasses import replace

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.errors import ModelError
from npexplore.ledger import load
from npexplore.packets import read_capture
from npexplore.packets.statistics import destination_locality, flow_locality, flow_table
from npexplore.paths import share
from npexplore.reads import reading
from npexplore.study.checking.quantities import quantity_of
from npexplore.study.papers.ixp1200 import accounts, diffserv, performance, remedies
from npexplore.study.sweeping import simulations
from npexplore.study.sweeping.points import Point, Predictions
from npexplore.study.sweeping.simulations import Simulations, key_of

IXP1200 = design("ixp1200")
ONE = {"receivers": 1, "receiver_engines": 1}
LEDGER = load()


# ---- simulations asked twice


def test_a_point_is_simulated_once(monkeypatch):
    asked = []

    def counted(points, *rest, **more):
        asked.extend(points)
        return answer_points(points, *rest, **more)

    answer_points = simulations.answer_points
    monkeypatch.setattr(simulations, "answer_points", counted)
    few = Simulations()
    one, two = IXP1200.with_(**ONE), IXP1200.with_(**ONE, rules=1)
    first = few([one, two, one])
    assert first[0] is first[2]
    assert few([two])[0] is first[1]
    assert len(asked) == 2
    assert first[1].rate_pps == two.simulate(seed=1).rate_pps


def test_what_a_check_simulated_is_known():
    predictions = Predictions(seeds=(3, 4), solvers=("bounds", "simulation"))
    predictions.fetch([Point.of("ixp1200", None, {**ONE, "rules": 2})])
    known = Simulations.of(predictions)
    made = IXP1200.with_(**ONE, rules=2, packet_bytes=64)  # 64 is what the file says
    assert list(known.predictions) == [key_of(made)]
    assert known([made])[0].seed == known.seed == 3
    assert Simulations.of(None).predictions == {}


# ---- remedies


def test_the_hit_ratio_of_a_cache_is_the_locality_of_flows():
    """With room for every flow only the first packet of each misses; flows in turn never hit a smaller cache."""
    table = read_capture(share("data", "captures", "zeek_wikipedia.pcap")).columns
    found = flow_locality(table)
    flows = flow_table(table)
    assert found.distinct == len(flows)
    assert found.references == flows["packets"].sum()
    assert found.hit_ratio(len(flows)) == pytest.approx(1 - len(flows) / flows["packets"].sum())
    turns = remedies.in_turn(50, rounds=10)
    assert [turns.hit_ratio(size) for size in (1, 49, 50)] == [0, 0, pytest.approx(0.9)]


def test_hit_ratios_grow_with_the_cache():
    sources = {"turn": remedies.in_turn(4, rounds=5)}
    table = remedies.hit_ratios(sources, (1, 2, 4, 8))
    assert table["hit"].tolist() == [0, 0, 0.8, 0.8]
    assert remedies.cached(sources, 4) == {"cache of 4: turn": {"cache_hit": 0.8}}
    routes = {"web": read_capture(share("data", "captures", "zeek_wikipedia.pcap")).columns}
    hit = remedies.cached({}, 16, routes)["16 routes: web"]["route_cache_hit"]
    assert hit == pytest.approx(destination_locality(routes["web"]).hit_ratio(16), abs=0.1)
    assert hit > flow_locality(routes["web"]).hit_ratio(16)  # a host is asked for by several flows


def test_every_remedy_stands_beside_the_published_machine():
    few = IXP1200.with_(**ONE)
    sources = {"turn": remedies.in_turn(4, rounds=5), "never": remedies.in_turn(40)}
    table = remedies.remedies(few, sources, rules=(512,)).set_index("remedy")
    assert set(table.index) == {*remedies.REMEDIES, "cache of 16: turn", "cache of 16: never"}
    assert table.loc["as published", "gain"] == table.loc["cache of 16: never", "gain"] == 0
    assert table.loc["cache of 16: turn", "gain"] > 1
    assert (table["gain"] > -0.02).all()
    assert set(table["binds"]) == {"waiting for memory"}


# ---- structures, roles


@pytest.mark.slow
def test_structures_stand_beside_the_numbers_that_were_printed(monkeypatch):
    monkeypatch.setattr(performance, "CASES", {name: {**case, **ONE} for name, case in performance.CASES.items()})
    monkeypatch.setattr(performance, "OTHERS", {"as fitted": {}})
    table = performance.structures(IXP1200)
    assert len(table) == 1 + len(IXP1200.parameters.file.alternative)
    both = performance.beside_published(table, LEDGER).set_index("structure")
    assert both.loc["published", "all_many"] == LEDGER["ixp1200.diffserv.throughput.min"].point
    assert both.loc["published", "ls_sram"] == pytest.approx(0.551)
    assert both.loc["scheduler looks at its ports", "ls_me2"] > both.loc["as fitted", "ls_me2"]
    assert both.loc["two MPs a packet", "one_many"] == both.loc["as fitted", "one_many"]  # Fig. 10 says 64 bytes
    assert both.loc["two MPs a packet", "ls_sdram"] > 1.5 * both.loc["as fitted", "ls_sdram"]  # and a header


def test_pairs_of_roles_that_fit_are_those_that_a_machine_takes():
    table = performance.role_pairs(IXP1200).set_index("roles")
    choices = IXP1200.parameters.file.parameter["engine_roles"].choices
    for roles in choices:
        made = IXP1200.with_(engine_roles=roles)
        if table.loc[roles.replace("+", " + "), "fits"]:
            made.machine()
        else:
            with pytest.raises(ModelError, match="control store"):
                made.machine()
    assert table["fits"].sum() == 4  # each alone, transmitter with scheduler


# ---- functional tests


def test_a_tick_longer_than_the_bucket_takes_to_fill_costs_the_limit():
    table = diffserv.over_timers(IXP1200, (10, 500))
    np.testing.assert_allclose(table["ef_pps"], table["expected_pps"], rtol=0.005)
    assert table["expected_pps"].tolist() == [62_500, pytest.approx(16_000)]
    assert table["sram_share"][0] == pytest.approx(10 / IXP1200.parameters.sram_efficiency / 10_000)


@pytest.mark.slow
def test_the_length_of_queues_moves_no_ratio():
    table = diffserv.over_queues(IXP1200, (16, 128))
    assert table["ef_pps"].tolist() == [62_500, 62_500]
    np.testing.assert_allclose(table[["share_ratio", "latency_ratio"]], 2, rtol=0.02)
    np.testing.assert_allclose(table["drop_onset"], 0.25, atol=diffserv.ONSET_STEP * 1.01)


def test_functional_rows_leave_a_trace_of_what_they_hang_on():
    """With every table that is kept, too."""
    for _ in range(2):
        reads = {}
        for name in ("fig7.ef.plateau", "fig8.equal_until"):
            row = LEDGER[f"ixp1200.{name}"]
            with reading() as seen:
                quantity_of(row).value(row, lambda point: IXP1200.with_(**dict(point.knobs)).bounds())
            reads[name] = {key.removeprefix("ixp1200/") for key in seen}
        plateau = reads["fig7.ef.plateau"]
        assert {"queue_packets", "bucket_packets", "quantum_packets", "ixp1200.fig7.ef_limit"} <= plateau
        assert reads["fig8.equal_until"] - plateau == {"alike_latency"}


# ---- accounts


def test_transfers_of_the_sdram_are_what_the_machine_does():
    """Clocks of the table are the seconds that a packet keeps banks, one after the other."""
    p = IXP1200.parameters
    table = accounts.sdram_transfers(IXP1200)
    assert table["bytes"].tolist() == [64, 32, 64]
    alone = IXP1200.with_(idle="sleep", load=0.01, rules=1, **ONE)
    seen = alone.simulate()
    bank = seen.utilization["sdram.bank"]
    clocks = p.sdram_banks * (bank.busy - bank.blocked) / seen.rate_pps * 1e9 / p.sdram_word_ns
    assert clocks == pytest.approx(table["clocks"].sum(), rel=0.02)


def test_printed_shares_ask_for_more_clocks_than_wire_speed_leaves():
    table = accounts.sdram_asked(IXP1200, {"ixp1200.table1.ls.sdram.utilization": 1e5}, LEDGER).set_index("key")
    assert table.loc["ixp1200.table1.ls.sdram.utilization", "asked"] == pytest.approx(0.093 * 1e8 / 1e5)
    line = table.loc["ixp1200.ipfwd.throughput"]
    assert line["rate_kpps"] == pytest.approx(1.8e9 / (84 * 8) / 1e3)
    assert line["asked"] == pytest.approx(1e8 / (line["rate_kpps"] * 1e3))


def test_printed_code_is_a_few_times_what_is_counted():
    table = accounts.code_paths(IXP1200).set_index("program")
    assert table.loc["receiver", "printed"] == IXP1200.parameters.code_receiver
    assert IXP1200.parameters.scale_diffserv < table.loc["receiver", "whole"]
    assert table.loc["transmitter", "whole"] > 8 * table.loc["receiver", "whole"]


def test_no_time_of_vectors_read_in_bursts_meets_both_the_worst_and_the_average_case():
    table = performance.vector_time(LEDGER).set_index("reading")
    assert table["share"].tolist() == pytest.approx([1, (256 / 2 + 244) / 500, 0.52], abs=1e-3)
    assert table.loc["bursts", "rest_us"] < 0 < table.loc["first_set", "rest_us"] < 2
    assert np.isnan(table.loc["whole", "vectors_us"])


def test_a_quantum_of_more_packets_keeps_the_shares():
    made = diffserv.bench(IXP1200)
    more = replace(made, quantum_bytes=4 * made.packet_bytes)
    assert diffserv.neighbours(more, "sent_pps") == pytest.approx(diffserv.neighbours(made, "sent_pps"), rel=0.01)
