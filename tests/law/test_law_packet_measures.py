"""Measures of groups of packets against the RFCs' own words, group by group; flows are those of the capture."""

import math
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npexplore as npx
from npexplore._kernels import engine
from npexplore.errors import InputError
from npexplore.solve.packet_measures import measures

CAPTURE = npx.bundled_path("data/captures/zeek_workshop_2011_browse.pcap")
PACKET = st.tuples(st.integers(0, 3), st.one_of(st.none(), st.just("lost"), st.integers(0, 12)))


def rank(values, q):
    """The nearest rank of q."""
    return sorted(values)[max(math.ceil(q * len(values)), 1) - 1] if values else math.nan


def told(packets):
    """The measures of one group; packets: (number of arrival, latency, "lost" or None) in order of arrival."""
    fates = [fate for _, fate in packets]
    sent = [(k, fate) for k, fate in packets if isinstance(fate, int)]
    latency = [fate for _, fate in sent]
    periods = [len([*run]) for lost, run in groupby(fates, lambda fate: fate == "lost") if lost]
    changes = [abs(b - a) for a, b in pairwise(fates) if isinstance(a, int) and isinstance(b, int)]
    left = [k for k, _ in sorted(sent, key=lambda one: (one[0] + one[1], one[0]))]
    expected, extents = -1, []  # RFC 4737, 3.3: NextExp
    for i, s in enumerate(left):
        if s >= expected:
            expected = s + 1
        else:
            extents.append(i - next(j for j, other in enumerate(left[:i]) if other > s))  # 4.2.1
    return {
        "packets": len(fates), "sent": len(sent), "lost": fates.count("lost"),
        "loss": fates.count("lost") / len(fates) if fates else math.nan,
        "loss_periods": len(periods), "longest_loss_period": max(periods, default=0),
        "latency_mean_s": sum(latency) / len(latency) if latency else math.nan,
        "latency_p50_s": rank(latency, 0.5), "latency_p99_s": rank(latency, 0.99), "latency_max_s": rank(latency, 1),
        "pdv_p99_s": rank(latency, 0.99) - min(latency) if latency else math.nan,
        "ipdv_mean_s": sum(changes) / len(changes) if changes else math.nan,
        "reordered": len(extents), "longest_extent": max(extents, default=0),
    }  # fmt: skip


@given(st.lists(PACKET, max_size=40))
def test_measures_are_what_the_rfcs_say(packets):
    group = np.array([number for number, _ in packets], dtype=np.int64)
    latency = np.array([fate if isinstance(fate, int) else np.nan for _, fate in packets], dtype=float)
    lost = np.array([fate == "lost" for _, fate in packets], dtype=bool)
    found = measures(group, 4, latency, lost, np.arange(len(packets)) + latency)
    for number in range(4):
        expected = told([(k, fate) for k, (mine, fate) in enumerate(packets) if mine == number])
        assert {name: column[number] for name, column in found.items()} == pytest.approx(expected, nan_ok=True)


def test_flows_windows_and_all_packets_add_up_and_join():
    result = npx.design("ixp2400").run(CAPTURE, rate="12Gb/s", by_resource=True)
    flows, windows, whole = result.flows(), result.over_time(20e-9), result.measures()
    for name in ("packets", "sent", "lost"):
        assert flows[name].sum() == windows[name].sum() == whole[name].sum()
    assert whole.lost[0] == sum(result.drops.values()) > 0
    assert whole.latency_mean_s[0] == pytest.approx(result.prediction.latency_s.mean, rel=1e-9)
    own = npx.read_capture(CAPTURE).flows()
    assert flows.groupby("flow").packets.sum().to_dict() == (own.packets + own.packets_back).to_dict()
    mine = flows.merge(own, left_on="flow", right_index=True, suffixes=("", "_own"))
    assert all({row.src, row.dst} == {row.src_own, row.dst_own} for row in mine.itertuples())
    waits = result.packets.filter(regex=r"\.(waiting|held)_s$")
    most = waits.T.groupby(lambda name: name.rpartition(".")[0]).sum().sum(axis=1)
    assert (whole.waits_most_at[0], whole.waits_there_s[0]) == (most.idxmax(), pytest.approx(most.max()))
    worst = result.packets.latency_s.idxmax()
    assert whole.worst_at_s[0] == result.packets.arrival_s[worst]
    with pytest.raises(InputError, match="no classes"):
        result.by_class()


def test_packets_that_stay_inside_are_neither_sent_nor_lost():
    result = npx.design("smartnic").run(CAPTURE)
    result.fates.rows[[3, 9], engine.F_ENDS] = 0
    packets = len(result.number)
    assert result.measures()[["packets", "sent", "lost"]].values.tolist() == [[packets, packets - 2, 0]]
