"""The IXP1200 design: threads by role, control store, demands that golden code counted, remedies, errors."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.designs.ixp1200.load import classifier, constant_work, packet_rate, receivers_of
from npexplore.errors import InputError, ModelError
from npexplore.golden.classify.rule_generator import headers_within

IXP1200 = design("ixp1200")
ONE = {"receivers": 1, "receiver_engines": 1}


def servers(**knobs):
    """Demands of a design point by server, in seconds a packet."""
    return {name: d.seconds for name, d in IXP1200.with_(**knobs).demands().demands.servers.items()}


# ---- threads and roles


@pytest.mark.parametrize(
    ("receivers", "engines", "ports", "gigabit"),
    [
        (1, 1, [0], 0),
        (2, 2, [0, 4], 0),
        (4, 1, [0, 1, 2, 3], 0),
        (8, 2, list(range(8)), 0),
        (16, 4, list(range(8)), 8),
        (6, 3, [0, 1, 4, 5], 2),
    ],
)
def test_receivers_are_bound_to_ports(receivers, engines, ports, gigabit):
    p = IXP1200.with_(receivers=receivers, receiver_engines=engines).parameters
    assert receivers_of(p) == (ports, gigabit, max(engines - 2, 0))


def test_idle_threads_of_an_engine_at_work_are_there():
    pools = {pool.name: pool for pool in IXP1200.with_(**ONE).machine().pools}
    assert [name for name in pools if name.startswith("rx")] == ["rx0", "rx1", "rx2", "rx3"]
    assert pools["rx3"].idle == "poll"
    assert IXP1200.machine().threads == 24 + 1  # and the ready bus


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ("receiver+transmitter", r"receiver \(1012\) and transmitter \(552\) need 1564 instructions .* holds 1024"),
        ("receiver+scheduler", r"receiver \(1012\) and scheduler \(144\) need 1156 instructions"),
    ],
)
def test_programs_that_do_not_fit_into_one_control_store_are_refused(roles, said):
    with pytest.raises(ModelError, match=said):
        IXP1200.with_(engine_roles=roles).machine()


def test_transmitter_and_scheduler_fit():
    p = IXP1200.parameters
    assert p.code_transmitter + p.code_scheduler <= p.control_store
    IXP1200.machine()


@pytest.mark.parametrize("knobs", [{"receivers": 5, "receiver_engines": 1}, {"receivers": 1, "receiver_engines": 2}])
def test_receivers_must_fit_their_engines(knobs):
    with pytest.raises(ModelError, match=r"receiver engines need \d to \d receivers, got \d"):
        IXP1200.with_(**knobs).bounds()


@pytest.mark.parametrize("knobs", [{"rules": 513}, {"rules": 0}, {"classifier": "bv"}, {"load": 1.5}, {"phb": "cs1"}])
def test_knobs_out_of_range_are_refused(knobs):
    with pytest.raises(InputError, match=f"knob {next(iter(knobs))} must be"):
        IXP1200.with_(**knobs)


# ---- demands


@pytest.mark.parametrize("name", ["rm", "ls"])
@pytest.mark.parametrize("rules", [1, 7, 500])
def test_columns_are_what_the_golden_classifier_counts(name, rules):
    """Words of the columns are those that the reference reads, packet by packet."""
    load = IXP1200.with_(classifier=name, rules=rules, match="uniform", **ONE).workload()
    chosen = classifier(name, rules, "bursts")
    works = [
        chosen.work(tuple(int(column[0]) for column in headers_within(chosen.rules, 1, seed=1, row=np.array([row]))))
        for row in range(rules)
    ]
    column = {name: values.astype(int) for name, values in load.columns.items()}
    tables = {key.removesuffix("_long") for key in column if key.endswith("_long")}
    words = sum(
        column[f"{t}_reads"] * column[f"{t}_words"] + column[f"{t}_long"] * (column[f"{t}_words"] + 1) for t in tables
    )
    assert set(words) <= {work.words() for work in works}
    assert len(words) < rules or set(words) == {work.words() for work in works}


def test_linear_search_reads_a_record_a_rule():
    few, many = (servers(classifier="ls", rules=n, sram_efficiency=1.0, **ONE)["sram"] for n in (10, 110))
    assert (many - few) / 100 == pytest.approx(7 * 10e-9)  # two bounds of five fields and the action: 7 words


def test_range_matching_reads_five_vectors_and_probes_that_grow_with_the_logarithm():
    whole = {"vector_reading": "whole", "sram_efficiency": 1.0, **ONE}
    demand = {n: servers(rules=n, **whole)["sram"] for n in (1, 2, 16, 128, 512)}
    assert np.all(np.diff(list(demand.values())) > 0)
    assert demand[512] - demand[1] < 2 * 9 * 5 * 2 * 10e-9
    assert demand[1] > 80 * 10e-9


def test_reading_until_a_bit_is_set_spares_words_where_an_early_rule_matches():
    reads = {how: servers(rules=512, match="first", vector_reading=how, sram_efficiency=1.0)["sram"]
             for how in ("first_set", "bursts", "whole")}  # fmt: skip
    assert reads["first_set"] < reads["bursts"] < reads["whole"]
    assert reads["whole"] - reads["bursts"] == pytest.approx(5 * 8 * 10e-9)  # the second half of five vectors


def test_the_worst_case_costs_more_than_the_average_one_where_vectors_are_read_in_bursts():
    for how, dearer in (("bursts", True), ("whole", False)):
        mean, worst = (servers(rules=500, match=m, vector_reading=how, **ONE)["sram"] for m in ("uniform", "last"))
        assert (worst - mean > 100e-9) == dearer  # searches differ too, by less


def test_instructions_are_scaled_by_module():
    twice = 2 * IXP1200.parameters.scale_diffserv
    base, slow_base, slow = (
        servers(**ONE, **scales)["me0"] for scales in ({}, {"scale_base": 2.0}, {"scale_diffserv": twice})
    )
    clock = IXP1200.parameters.me_clock_mhz * 1e6
    p = IXP1200.parameters
    more = p.receive_mp_instructions + p.header_instructions
    route = constant_work(p)["route"]
    more += len(route.accesses) + sum(route.instructions[n] * p[f"{n}_cycles"] for n in route.instructions)
    assert slow_base - base == pytest.approx(more / clock)
    assert slow - base == pytest.approx(base - more / clock, rel=1e-4)


def test_plain_forwarding_classifies_nothing():
    plain, full = servers(service="ip_forwarding"), servers()
    assert plain["sram"] < 0.3 * full["sram"]
    p = IXP1200.parameters
    header = (p.sdram_command_ns + p.header_write_bytes / 8 * p.sdram_word_ns) * 1e-9  # written as it was marked
    assert full["sdram"] - plain["sdram"] == pytest.approx(header)
    assert "intervals_reads" not in IXP1200.with_(service="ip_forwarding").workload().columns


# ---- traffic


def test_every_port_gets_its_share_of_its_line():
    load = IXP1200.with_(load=0.5, gbe_load=1.0).workload()
    number, count = np.unique(load.columns["port"], return_counts=True)
    p = IXP1200.parameters
    rate = dict(zip(number.tolist(), (count / count.sum() * load.rate_pps).tolist(), strict=True))
    assert rate[0] == pytest.approx(0.5 * packet_rate(p, 100.0, 64))
    assert rate[8] == pytest.approx(packet_rate(p, 1000.0, 64), rel=0.01)
    assert packet_rate(p, 100.0, 64) == pytest.approx(148_810, abs=1)


def test_a_port_without_overload_loses_nothing():
    answer = IXP1200.with_(load=0.1, **ONE).simulate(packets=500)
    assert sum(answer.drops.values()) == 0
    assert answer.bottleneck == "arrivals"


def test_an_overloaded_port_drops_at_its_own_mac():
    answer = IXP1200.with_(**ONE).simulate(packets=500)
    assert answer.drops["mac0"] > 0
    assert sum(answer.drops.values()) == answer.drops["mac0"]
    assert answer.bottleneck == "threads.rx0"  # polling keeps the engine busy, but not with packets


def test_packets_of_the_slow_path_go_through_the_strongarm():
    answer = IXP1200.with_(slow_share=0.1, load=0.1, **ONE).simulate(packets=500)
    assert 0 < answer.utilization["strongarm"].busy < 0.5
    assert "strongarm" not in IXP1200.simulate(packets=100).utilization


def test_long_packets_take_more_mps():
    short, long = servers(service="ip_forwarding"), servers(service="ip_forwarding", packet_bytes=1518)
    assert long["sdram"] == pytest.approx(24 * short["sdram"])


@pytest.mark.parametrize("size", [64, 1518])
def test_elements_of_the_fifos_are_never_short(size):
    """A thread keeps an element for one MP at a time: 16 receivers and 6 transmitters share 16 of each."""
    answer = IXP1200.with_(packet_bytes=size, rules=1).simulate()
    assert 0 < answer.utilization["rfifo"].busy < 1
    assert answer.queue["rfifo"].longest == answer.queue["tfifo"].longest == 0
    fewer = IXP1200.with_(packet_bytes=size, rules=1, fifo_elements=1).simulate()
    assert fewer.rate_pps < 0.9 * answer.rate_pps


# ---- remedies


@pytest.mark.parametrize(
    ("remedy", "least"),
    [({"sram_banks": 2}, 1.2), ({"sram_copies": 2}, 1.2), ({"sram_type": "qdr"}, 1.2), ({"cache_hit": 0.5}, 1.2),
     ({"routing_table": "sdram"}, 1.0)],
)  # fmt: skip
def test_remedies_raise_the_ceiling_of_the_sram(remedy, least):
    few = IXP1200.with_(rules=1)
    now, then = few.demands().ceilings(), few.with_(**remedy).demands().ceilings()
    memory = min(rate for name, rate in then.items() if name.startswith(("sram", "tables")))
    assert memory >= least * now["sram"]


def test_a_cache_of_routes_spares_the_route_and_nothing_else():
    route = constant_work(IXP1200.parameters)["route"].words() * 10e-9
    with_cache, without = (servers(sram_efficiency=1.0, route_cache_hit=hit)["sram"] for hit in (1.0, 0.0))
    assert without - with_cache == pytest.approx(route)
    both = servers(sram_efficiency=1.0, route_cache_hit=0.5, cache_hit=0.5)["sram"]
    rules_alone = servers(sram_efficiency=1.0, cache_hit=0.5)["sram"]
    assert rules_alone - both == pytest.approx(0.25 * route)
