"""Clusters and processors made of templates, in Icarus, with stalls at every valve: verdicts, loss, order; faults."""

from functools import cache
from itertools import pairwise

import pytest
from click.testing import CliRunner
from reference.hardware_faults import differs, impatient
from reference.router_cases import named_cases

from npexplore.cli.hardware import command
from npexplore.designs import design
from npexplore.designs.gorilla.hardware import BENCH
from npexplore.designs.gorilla.hardware_cases import rated
from npexplore.designs.gorilla.processor import ACCELERATORS, PROCESSOR, ProcessorFiles
from npexplore.designs.gorilla.steps import Box
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.errors import InputError, ModelError, UnknownNameError
from npexplore.golden.router.forward import Forwarder
from npexplore.hardware.templates.group import Face, Group, group_text

ROUTER, CASES = named_cases()
PACKETS = [case[1:] for case in CASES]
SMALL = {"clusters": 2, "lanes": 1, "engines": 2, "threads": 2, "fifo_packets": 2, "reorder_places": 8, "channels": 2}
FAULTS = {  # text of the design -> what it is made
    "in_ready[chosen] = found & room": "in_ready[chosen] = found",  # a lost grant
    "out_data <= {chosen, in_data": "out_data <= {turn, in_data",  # the winner's number
    "in_data[chosen*WIDTH +: WIDTH]": "in_data[turn*WIDTH +: WIDTH]",  # another one's data
    "places[in_ticket] <= in_data": "places[in_ticket ^ 1'b1] <= in_data",  # a swapped ticket
    "here[in_ticket] <= 1'b1": "here[head] <= 1'b1",  # who is next, whether it is there or not
    "here[head] <= 1'b0": "here[head] <= here[head]",  # a place that is never released
    "enter_ready = ~held[AT]": "enter_ready = 1'b1",  # more tickets than places
    "assign in_ready = found;": "assign in_ready = 1'b1;",  # a packet that nobody takes
    "(found | (STRICT != 0))": "(turn == 0)",  # a member that gets nothing
    "assign in_ready = held != PLACES;": "assign in_ready = 1'b1;",  # a queue that overflows
    "if (in_valid & in_ready) tail <=": "if (in_valid) tail <=",  # a hole in a queue
    "assign channel0_take = ": "assign channel0_take = 1'b1 | ",  # an answer lost while the merge is busy
    "assign channel1_take = ": "assign channel1_take = channel1_done | ",
    "assign s2_ready[0] = ": "assign s2_ready[0] = 1'b1 | ",  # a call lost on its way to a channel
    "b0_valid[0] = channel0_done & (of0 == 2'd0)": "b0_valid[0] = channel0_done & (of0 == 2'd1)",
    "busy[leaving] <= 1'b0;": "",  # a thread that is never released
}
FULL_QUEUES = ("assign in_ready = held != PLACES;", "if (in_valid & in_ready) tail <=")


@cache
def tables(source_lookup):
    return Box(Forwarder(ROUTER, profile="rfc1812", lookup="trie20_4_8"), source_lookup)


@cache
def files(lookups="ideal", **knobs):
    p = design("gorilla").with_(scheduler="ready", **knobs).parameters
    return ProcessorFiles(p, tables(p.flow_counting == "on"), lookups=lookups)


def verified(made, folder, cases, rated=None):
    made.write(folder)
    return made.verify(folder, cases, rated, "iverilog")


def test_a_cluster_keeps_the_order(tmp_path):
    found = verified(files(clusters=1, engines=2, threads=2, reorder_places=16), tmp_path, PACKETS[:12])
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheduler", "engines", "threads"),
    [("ready_on_stall", 1, 4), ("round_robin", 6, 4), ("packet_end", 6, 1), ("packet_end", 6, 4)],
)
def test_clusters_of_engines_and_threads(scheduler, engines, threads, tmp_path):
    """Packets of every kind with some cycles stalled, a quarter of them with most and with none."""
    knobs = {"clusters": 1, "engines": engines, "threads": threads, "reorder_places": 32, "scheduler": scheduler}
    p = design("gorilla").with_(local_arbiter="fair", lut_structures="lut_ram", **knobs).parameters
    made = ProcessorFiles(p, tables(False))
    found = verified(made, tmp_path, PACKETS, PACKETS[::4])
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)


@pytest.mark.slow
def test_a_packet_that_others_pass_for_thousands_of_cycles_is_not_lost(tmp_path):
    """Arbiters by priority and most cycles stalled: the last engine waits while packets enter, but none leaves."""
    p = design("gorilla").with_(clusters=1, engines=6, threads=4).parameters
    made, count = ProcessorFiles(p, router_tables("deep")), 1200
    made.write(tmp_path)
    ran, _ = made.run(tmp_path, made.build(tmp_path, "iverilog"), rated(made.box, ["ipv4"], count), stalls=11)
    assert [one.number for one in ran] == list(range(count))
    assert max(b.left - a.left for a, b in pairwise(ran)) > 3000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "counting", "balancing", "reorder"),
    [(0, "on", "in_turn", "on"), (1, "on", "ideal", "off"), (2, "off", "in_turn", "off"), (3, "off", "ideal", "on")],
)
def test_lanes_of_clusters_over_channels(part, counting, balancing, reorder, tmp_path):
    """Any two switches meet in all ways; each takes a quarter of the packets: an eighth misses a call that is lost."""
    knobs = {**SMALL, "clusters": 4, "lanes": 2, "threads": 1, "balancing": balancing, "reorder": reorder}
    made = files(**knobs, flow_counting=counting, global_arbiter="unfair")
    found = verified(made, tmp_path, PACKETS[part::4])
    assert (found.differences, found.first) == (0, "")
    assert (found.overtaken == 0) == (reorder == "on")


@pytest.mark.slow
@pytest.mark.parametrize("knobs", [{"clusters": 1, "engines": 2, "threads": 2, "reorder_places": 16}, SMALL])
def test_lookups_by_walks_through_tries(knobs, tmp_path):
    """Behind the ports of a cluster, and behind the channels of a processor; a wrong place of a level is seen."""
    made, cases = files("trie", **knobs), PACKETS[::12]
    found = verified(made, tmp_path, cases)
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)
    text = (tmp_path / ACCELERATORS).read_text()
    assert "at_memory2_0 = 21'd1048576 +" in text
    (tmp_path / ACCELERATORS).write_text(text.replace("at_memory2_0 = 21'd1048576 +", "at_memory2_0 = 21'd1048592 +"))
    assert made.verify(tmp_path, cases, None, "iverilog", brief=True).differences > 0


@pytest.mark.parametrize("knobs", [{"clusters": 1, "engines": 2, "threads": 2, "reorder_places": 16}, SMALL])
def test_flows_are_counted_behind_clusters_and_channels(knobs, tmp_path):
    """As often as by the step program; a counter that is asked for another flow is seen, though verdicts are right."""
    made, cases = files(**knobs, flow_counting="on"), PACKETS[::8]
    found = verified(made, tmp_path, cases)
    assert (found.differences, found.first) == (0, "")
    text, asks = (tmp_path / PROCESSOR).read_text(), "flow_counter_0_ask <= ask_flow_counter_0;"
    assert asks in text
    (tmp_path / PROCESSOR).write_text(text.replace(asks, asks.replace(";", " ^ 1'b1;")))
    found = made.verify(tmp_path, cases, None, "iverilog", brief=True)
    assert found.differences > 0
    assert "is counted" in found.first


@pytest.mark.parametrize("knobs", [{"clusters": 1, "engines": 2, "threads": 2, "reorder_places": 16}, SMALL])
def test_source_lookups_of_two_threads_are_not_mixed_up(knobs, tmp_path):
    """An engine that gives a thread the other one's answer where both wait; sources of many routes, or nobody sees."""
    p, deep = (
        design("gorilla").with_(scheduler="ready", flow_counting="on", **knobs).parameters,
        router_tables("deep", True),
    )
    made, cases = ProcessorFiles(p, deep), rated(deep, ["ipv4"], 24)
    found = verified(made, tmp_path, cases)
    assert (found.differences, found.first) == (0, "")
    stored, other = "reply_lookup4_1[lookup4_1_for] <= ", "reply_lookup4_1[~lookup4_1_for]"
    fault = f"{stored}(owed[0][1] & owed[1][1] & (^{other} !== 1'bx)) ? {other} : "
    text = (tmp_path / PROCESSOR).read_text()
    assert stored in text
    (tmp_path / PROCESSOR).write_text(text.replace(stored, fault))
    found = made.verify(tmp_path, cases, None, "iverilog", brief=True)
    assert "is counted" in found.first


@pytest.mark.slow
def test_planted_faults_of_templates_are_seen(tmp_path):
    cases = PACKETS[::9]
    for places in (8, 32):  # few, that tickets run out; many, that queues are full
        made = files(**{**SMALL, "reorder_places": places})
        (tmp_path / BENCH).write_text(impatient(made.bench()))
        text = made.engine()
        assert not differs(made, tmp_path, PROCESSOR, text, cases)
        for what, instead in FAULTS.items():
            assert what in text, what
            if (places == 32) == (what in FULL_QUEUES):
                assert differs(made, tmp_path, PROCESSOR, text.replace(what, instead), cases), what


def test_what_has_no_template_is_refused(tmp_path):
    gorilla = design("gorilla")
    for knobs, error, what in [
        ({"when_full": "drop", "reorder": "off"}, InputError, "when_full must be stall, got 'drop'"),
        ({"balancing": "random"}, UnknownNameError, "balancing that hardware has"),
        ({"local_arbiter": "first_come"}, UnknownNameError, "local_arbiter that hardware has"),
    ]:
        with pytest.raises(error, match=what):
            ProcessorFiles(gorilla.with_(**knobs).parameters, files(**SMALL).box)
    with pytest.raises(ModelError, match="power of two, got 3"):
        Group("g", 2, places=3)
    with pytest.raises(ModelError, match="tags of 18 bits, got 16"):
        group_text(Group("g", 2, places=4), Face("m", 16, 1, 1, 1, {}), 16)
    done = CliRunner().invoke(command, ["gorilla", "--set", "arrivals=poisson", "--out", str(tmp_path / "none")])
    assert "arrivals is not a knob of hardware" in str(done.exception)
    done = CliRunner().invoke(command, ["gorilla", "--lookups", "trie", "--out", str(tmp_path / "none")])
    assert "--lookups trie is of clusters" in str(done.exception)


def test_the_same_bytes_each_time(tmp_path):
    texts = []
    for name in ("a", "b"):
        folder = tmp_path / name
        done = CliRunner().invoke(
            command, ["gorilla", "--set", "clusters=4", "--set", "engines=2", "--out", str(folder)]
        )
        assert done.exit_code == 0
        texts.append([(folder / file.name).read_text() for file in sorted(folder.iterdir())])
    assert texts[0] == texts[1]
    assert "`processor` | 4 lanes, 4 channels, global arbiters in turn" in texts[0][0]
