"""Accelerators inside clusters and processors, in Icarus, with stalls: verdicts, loss, order, every counter; faults."""

from functools import cache

import pytest
from reference.hardware_faults import differs, impatient
from reference.router_cases6 import MIXED, named_cases6

from npexplore.designs import design
from npexplore.designs.gorilla.hardware import BENCH
from npexplore.designs.gorilla.processor import PROCESSOR
from npexplore.designs.gorilla.steps import Box, accelerators, forward
from npexplore.designs.gorilla.system import SystemFiles
from npexplore.errors import ModelError, UnknownNameError
from npexplore.golden.flow_counters import FlowCounters
from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.forward import Forwarder

CLUSTER = {"clusters": 1, "engines": 2, "threads": 2, "reorder_places": 16}
SMALL = {"clusters": 2, "lanes": 1, "engines": 2, "threads": 1, "fifo_packets": 2, "reorder_places": 8, "channels": 2}
CASES = [(port, frame) for _, port, frame, _ in named_cases6()]
LABELLED = [case for case in CASES if case[1][12:14] == b"\x88\x47"]
TWICE = "reg again = 1'b0; always @(posedge clk) if (i_channel0_av & i_channel0_ar) again <= ~again;\n  "
FAULTS = {  # text of the design -> what it is made
    "assign i_channel0_ready = i_channel0_here ? i_channel0_ar :": TWICE
    + "assign i_channel0_ready = i_channel0_here ? i_channel0_ar & again :",  # each call counted twice
    "i_channel1_ad = {i_channel1_who,": "i_channel1_ad = {i_channel1_who ^ 1'b1,",  # another engine's answer
    "i_channel0_ask[4:0], i_channel0_ask[9:5]": "i_channel0_ask[9:5], i_channel0_ask[4:0]",  # parts of a flow swapped
    "assign channel1_valid = i_channel1_valid & ~i_channel1_here;": "assign channel1_valid = i_channel1_valid;",
    "i_channel0_av = i_channel0_valid & i_channel0_here": "i_channel0_av = i_channel0_valid",  # a lookup is counted
    "? i_channel1_ar : channel1_ready": "? channel1_ready : i_channel1_ar",  # a call taken by the other side
    ".in_data(a_data), .out_valid(b_valid)": ".in_data(a_data ^ (1 << 20)), .out_valid(b_valid)",  # the other thread
    ".answer_data(label_memory_0_reply)": ".answer_data({label_memory_0_reply[4:1] ^ 4'd1, label_memory_0_reply[0]})",
    ".answer_valid(label_memory_0_done)": ".answer_valid(1'b1)",  # an answer that is none
    ".ask_ready(label_memory_0_ready)": ".ask_ready(1'b1)",  # a miss that nobody takes
}

SIDES = {  # the same where lookups and counts meet, for forwarded packets of IPv4
    ".out_ready(i_channel0_dr)": ".out_ready(1'b1)",  # an answer lost while the arbiter is busy
    "{i_channel0_dr, channel0_take}), ": "{i_channel0_dr, channel0_unused}), ",
    "in_data({i_channel1_dd, ": "in_data({channel1_for, ",  # the other side's asker
}


@cache
def tables():
    golden = Forwarder(resolve_router(MIXED), profile="rfc1812", lookup="trie20_4_8")
    return Box(golden, source_lookup=True, counters=FlowCounters(5))


@cache
def files(protocols, counting="on", **knobs):
    p = design("gorilla").with_(scheduler="ready", flow_counting=counting, **knobs).parameters
    return SystemFiles(p, tables(), protocols)


@pytest.mark.parametrize("knobs", [CLUSTER, SMALL])
def test_labels_are_looked_up_and_counted_inside(knobs, tmp_path):
    """A label table in each cluster, which misses, and counters behind each channel, whose sums are told."""
    made = files(("labels",), **knobs)
    made.write(tmp_path)
    found = made.verify(tmp_path, LABELLED, LABELLED[::3], "iverilog")
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)
    assert "the_label_memory_0" in made.bench() or "answer_label_memory" in made.bench()
    counts = made.counts
    assert len(counts.ports) == (1 if knobs is CLUSTER else 2)
    assert all((tmp_path / f"counters_{k}.txt").read_text() for k in range(len(counts.ports)))


@pytest.mark.slow
@pytest.mark.parametrize(("knobs", "protocols"), [(SMALL, ("ipv4",)), (CLUSTER, ("ipv4", "ipv6", "mpls"))])
def test_all_protocols_with_what_they_call_inside(knobs, protocols, tmp_path):
    made = files(protocols, **knobs)
    made.write(tmp_path)
    found = made.verify(tmp_path, CASES[::3], CASES[::20], "iverilog")
    assert (found.differences, found.first, found.overtaken) == (0, "", 0)


@pytest.mark.slow
def test_labels_of_several_clusters_without_counters(tmp_path):
    made = files(("labels",), "off", **SMALL)
    made.write(tmp_path)
    assert made.counts is None
    found = made.verify(tmp_path, LABELLED, LABELLED[::3], "iverilog")
    assert (found.differences, found.first) == (0, "")


def forwarded(made):
    """Return the packets that are counted."""
    units = accelerators(made.box)
    ways = [[step.name for step in forward(made.compiled, units, *case).passed] for case in CASES]
    return [case for case, way in zip(CASES, ways, strict=True) if "flow_count" in way]


@pytest.mark.slow
def test_planted_faults_of_the_wiring_are_seen(tmp_path):
    made = files(("labels",), **SMALL)
    text = made.engine()
    (tmp_path / BENCH).write_text(impatient(made.bench()))
    for what, instead in FAULTS.items():
        assert what in text, what
        assert differs(made, tmp_path, PROCESSOR, text.replace(what, instead), LABELLED), what
    assert not differs(made, tmp_path, PROCESSOR, text, LABELLED)


@pytest.mark.slow
def test_faults_where_lookups_and_counts_meet_are_seen(tmp_path):
    made = files(("ipv4",), **{**SMALL, "threads": 2})
    text, counted = made.engine(), 4 * forwarded(made)
    (tmp_path / BENCH).write_text(impatient(made.bench()))
    for what, instead in SIDES.items():
        assert what in text, what
        wrong = text.replace(what, instead)
        if "channel0_unused" in instead:
            wrong = wrong.replace(
                "wire i_channel0_unused;", "wire i_channel0_unused, channel0_unused;\n  assign channel0_take = 1'b1;"
            )
        assert differs(made, tmp_path, PROCESSOR, wrong, counted), what
    assert not differs(made, tmp_path, PROCESSOR, text, counted)


@pytest.mark.slow
def test_swapped_ports_of_a_cluster_are_seen(tmp_path):
    """The answers of the lookups of destination and source."""
    made = files(("ipv4",), **CLUSTER)
    made.write(tmp_path)
    counted = forwarded(made)
    assert made.verify(tmp_path, counted, counted, "iverilog").differences == 0
    text = made.engine()
    whole = text.replace(".lookup4_0_reply(lookup4_0_reply)", ".lookup4_0_reply(lookup4_1_reply)")
    assert whole != text
    assert differs(made, tmp_path, PROCESSOR, whole, counted)


@pytest.mark.slow
def test_a_memory_that_counts_wrong_is_seen(tmp_path):
    """Words of another channel's memory, and a write that is lost: verdicts are right, counters are not."""
    made = files(("labels",), **SMALL)
    made.write(tmp_path)
    bench = (tmp_path / BENCH).read_text()
    for what, instead in [
        ("if (write & ~rst) begin", "if (write & ~rst & write_at[0]) begin"),
        ("words[write_at] <= write_data", "words[write_at ^ 4] <= write_data"),
    ]:
        assert what in bench
        (tmp_path / BENCH).write_text(bench.replace(what, instead))
        found = made.verify(tmp_path, LABELLED, LABELLED, "iverilog", brief=True)
        assert found.differences > 0
        assert found.first.startswith("flow (")


def test_what_is_inside_by_choice_and_what_is_refused():
    """Without counters inside, calls that count go out as before; a table must have a power of two of sets."""
    whole = files(("labels",), **CLUSTER)
    p = design("gorilla").with_(scheduler="ready", flow_counting="on", **CLUSTER).parameters
    part = SystemFiles(p, whole.box, ("labels",), inside=["label_table"])
    assert "module labelled (" in part.engine()
    assert "module counted (" not in part.engine()
    assert "`labelled` | a cluster with its label table, 64 sets of 4" in part.readme()
    assert "`counted` | with flow counters behind `flow_counter_0_*`" in whole.readme()
    assert whole.engine() == SystemFiles(p, whole.box, ("labels",)).engine()
    with pytest.raises(UnknownNameError, match="accelerator inside"):
        SystemFiles(p, whole.box, ("labels",), inside=["lookup4"])
    odd = Box(whole.box.golden, label_sets=1)
    with pytest.raises(ModelError, match="sets of a label table in hardware must be a power of two from 2 on, got 1"):
        SystemFiles(p, odd, ("labels",)).engine()
