"""A run in parts, with its arrays in files, is the run of a whole in memory: the same rows, totals and captures."""

import _thread
import signal
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import npexplore as npx
from npexplore import mapped_arrays
from npexplore._kernels import engine
from npexplore.designs.prepared import prepared
from npexplore.engine import fates
from npexplore.machine import workload
from npexplore.machine.workload import Workload
from npexplore.packets.frames import read_frames, write_frames
from npexplore.solve import packet_flows, packet_groups
from npexplore.solve.packet_files import departing, write_run
from npexplore.solve.packet_timeline import timeline
from npexplore.solve.row_files import RowFile, write_rows

CAPTURE = npx.bundled_path("data/captures/zeek_wikipedia.pcap")


def in_parts(rows):
    """Let all arrays be worked on in parts of so many rows."""
    patches = ExitStack()
    patches.enter_context(patch.object(mapped_arrays, "MIN_FILE_BYTES", 1))
    for module in (mapped_arrays, fates, workload):
        patches.enter_context(patch.object(module, "PART_ROWS", rows))
    return patches


def capture(path, seed):
    """Write frames of which some come at once, some out of order, some are not IP, and of which machines lose some."""
    r, known = np.random.default_rng(seed), [bytes(frame) for _, frame in read_frames(CAPTURE)]
    gaps = np.concatenate([r.choice([0, 3000], 150), r.exponential(15, 500), r.exponential(2000, 150)])
    times = np.cumsum(gaps).astype(np.int64)
    late = r.random(800) < 0.02
    times[late] -= np.minimum(times[late], 2000)
    write_frames(path, [known[k] for k in r.integers(len(known), size=800)], (10**18 + times).tolist())
    return path


@pytest.mark.parametrize(
    ("name", "options"), [("ixp2400", {}), ("soclib", {"loops": 2, "speed": 3, "by_resource": True})]
)
def test_a_run_in_parts_is_the_run_of_a_whole(name, options, tmp_path):
    """Parts of random sizes."""
    r, trace = np.random.default_rng([*name.encode()]), capture(tmp_path / "in.pcap", 1)
    whole = npx.design(name).run(trace, **options)
    files = write_run(whole, trace, tmp_path / "whole")
    assert whole.counts["dropped"] > 0
    for rows in r.integers(30, 300, size=2).tolist():
        folder = tmp_path / f"parts of {rows}"
        with in_parts(rows):
            parts = npx.design(name).run(trace, **options, folder=folder)
            written = write_run(parts, trace, folder)
        assert parts.prediction == whole.prediction
        assert parts.to_dict() == whole.to_dict()
        table, expected = (pd.read_parquet(paths["packets"]) for paths in (written, files))
        pd.testing.assert_frame_equal(table, expected, check_exact=True)
        pd.testing.assert_frame_equal(table, whole.packets, check_exact=True)
        assert table.attrs == whole.packets.attrs
        for name_of_file in ("sent", "dropped"):
            assert written[name_of_file].read_bytes() == files[name_of_file].read_bytes()


def test_measures_of_rows_in_files_are_those_of_a_whole(tmp_path):
    """Flows of a capture that is read again, in batches; windows, the worst packets, the backlog."""
    trace = capture(tmp_path / "in.pcap", 2)
    whole = npx.design("ixp2400").run(trace, by_resource=True)
    flows, windows, worst = whole.flows(), whole.over_time(1e-6), whole.packets.nlargest(60, "latency_s", keep="first")
    largest = int(max(flows.packets.max(), windows.packets.max()))
    assert flows.lost.sum() > 20
    with in_parts(70), patch.object(packet_groups, "MEASURED_PACKETS", largest):
        result = npx.design("ixp2400").run(trace, by_resource=True, folder=tmp_path)
        pd.testing.assert_frame_equal(result.flows(), flows, check_exact=True)
        pd.testing.assert_frame_equal(result.over_time(1e-6), windows, check_exact=True)
        pd.testing.assert_frame_equal(result.worst(60), worst, check_exact=True)
        windows = timeline(result, 90)
    rows, lost = whole.fates.rows, whole.fates.lost
    arrival, end = rows[:, engine.F_ARRIVAL], rows[:, engine.F_END]
    times = np.concatenate([arrival, end])
    steps = np.repeat([1, -1], len(rows))
    order = np.lexsort((-steps, times))
    starts = arrival[0] + np.round(windows.start_s.to_numpy() / whole.fates.model.tick).astype(np.int64)
    place = np.searchsorted(starts, times[order], side="right") - 1
    inside = np.append(0, np.cumsum(steps[order]))
    backlog = [inside[[*(np.flatnonzero(place == k) + 1), np.searchsorted(place, k)]].max() for k in range(len(starts))]
    assert windows.backlog.tolist() == backlog
    at = np.searchsorted(starts, end[lost], side="right") - 1
    assert windows.losses.tolist() == np.bincount(at, minlength=len(starts)).tolist()
    assert windows[["arrivals", "departures", "losses"]].sum().tolist() == [len(rows), (~lost).sum(), lost.sum()]


def test_what_is_left_out_of_a_table_of_flows_is_counted(tmp_path):
    """Of a flow's packets behind the first 40, and of directions behind the first 5."""
    trace = capture(tmp_path / "in.pcap", 2)
    run = npx.design("smartnic").run(trace)
    whole = run.flows()
    measured, known = (
        patch.object(packet_groups, "MEASURED_PACKETS", 40),
        patch.object(packet_flows, "MAX_DIRECTIONS", 5),
    )
    with in_parts(70), measured, known:
        result = npx.design("smartnic").run(trace, folder=tmp_path)
        flows = result.flows()
    assert not run.drops  # columns of drops have no value, and are categories all the same
    assert isinstance(pd.read_parquet(tmp_path / "packets.parquet").dropped_at.dtype, pd.CategoricalDtype)
    assert len(flows) == 5
    assert flows.packets.max() > 40
    assert flows.measured.tolist() == flows.packets.clip(upper=40).tolist()
    assert (flows.sent + flows.lost == flows.measured).all()
    assert flows.packets.sum() + result.directed.beyond == whole.packets.sum()


def test_rows_that_are_written_during_the_run_begin_anew_where_a_part_needs_more_names(tmp_path):
    result = npx.design("ixp2400").run(capture(tmp_path / "in.pcap", 3), by_resource=True)
    assert result.counts["dropped"] > 0
    with in_parts(37):
        write_rows(result.rows, [], tmp_path / "after.parquet")
        with RowFile(result.rows, tmp_path / "during.parquet", []) as file:
            for part in result.fates.parts():
                file.write(part)
    assert (tmp_path / "during.parquet").read_bytes() == (tmp_path / "after.parquet").read_bytes()


def test_an_interrupted_run_leaves_the_rows_of_packets_that_have_ended(tmp_path, request):
    """Times are as in the whole run; a pause in the middle is where Ctrl-C arrives."""
    trace = capture(tmp_path / "in.pcap", 5)
    whole, pauses = npx.design("ixp2400").run(trace).packets, []

    def interrupted(arrived, packets):
        pauses.append((arrived, packets))
        if arrived == 200:
            _thread.interrupt_main()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    stopped = r"packets\.parquet has the rows of the first \d+ of \d+ packets"
    with in_parts(64), pytest.raises(KeyboardInterrupt, match=stopped):
        npx.design("ixp2400").run(trace, folder=tmp_path, progress=interrupted)
    assert pauses == [(arrived, len(whole)) for arrived in range(4, 201, 4)]
    rows = pd.read_parquet(tmp_path / "packets.parquet")
    assert 100 < len(rows) < len(whole)
    columns = ["arrival_s", "start_s", "departure_s", "latency_s"]
    pd.testing.assert_frame_equal(rows[columns], whole[columns].iloc[: len(rows)], check_exact=True)


def test_departures_are_in_order_however_many_packets_overtake():
    r = np.random.default_rng(7)
    rows = np.zeros((500, engine.F_FIRST), dtype=np.int64)
    rows[:, engine.F_ARRIVAL] = np.cumsum(r.integers(0, 3, 500))
    rows[:, engine.F_END] = rows[:, engine.F_ARRIVAL] + r.integers(0, 90, 500)
    rows[:, engine.F_DROP] = np.where(r.random(500) < 0.1, 2, fates.NOWHERE)
    rows[:, engine.F_ENDS] = r.random(500) < 0.9
    run = fates.Fates(prepared(npx.design("ixp2400"), npx.workload(packet_bytes=64)).model(), rows, 0)
    sent = np.flatnonzero(run.finished)
    with in_parts(41):
        departures = np.concatenate([*departing(run)])
    assert departures.tolist() == sent[np.argsort(rows[sent, engine.F_END], kind="stable")].tolist()


def test_distinct_packets_and_times_in_order_are_those_of_a_whole():
    r = np.random.default_rng(8)
    columns = {name: r.integers(1, 40, 3000) for name in ("packet_bytes", "flow")}
    t_ns = r.integers(0, 900, 3000)
    whole, parts = (Workload("drawn", columns, t_ns=t_ns) for _ in range(2))
    expected, timed = whole.distinct(), whole.with_arrivals("timestamps")
    with in_parts(70):
        found, ordered = parts.distinct(), parts.with_arrivals("timestamps")
    assert all(np.array_equal(found[0][name], expected[0][name]) for name in columns)
    assert np.array_equal(found[1], expected[1])
    assert ordered.key == timed.key
