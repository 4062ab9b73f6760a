"""A run in parts, with its arrays in files, is the run of a whole in memory: the same rows, totals and captures."""

import _thread
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import npexplore as npx
from npexplore import mapped_arrays
from npexplore._kernels import engine
from npexplore.designs.prepared import prepared
from npexplore.engine import checkpoint, fates
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
    assert pauses == [(arrived, len(whole)) for arrived in range(8, 201, 8)]
    rows = pd.read_parquet(tmp_path / "packets.parquet")
    assert 100 < len(rows) < len(whole)
    columns = ["arrival_s", "start_s", "departure_s", "latency_s"]
    pd.testing.assert_frame_equal(rows[columns], whole[columns].iloc[: len(rows)], check_exact=True)


class StoppedError(Exception):
    """Ends a run at a pause."""


def test_a_run_that_was_stopped_goes_on_from_its_checkpoint(tmp_path):
    """Files are those of a run that was not, byte for byte; of another seed, the run begins anew."""
    trace, pauses = capture(tmp_path / "in.pcap", 5), []

    def fates_of(folder, stop=None, every=48, **more):
        def reached(arrived, packets):
            pauses.append(arrived)
            if stop is not None and arrived >= stop:
                raise StoppedError

        def pause(self, arrived, *others):
            if arrived % every == 0:
                save(self, arrived, *others)

        save, pauses[:] = checkpoint.Checkpoints.pause, []
        with in_parts(64), patch.object(checkpoint, "CHECKPOINT_INTERVAL_S", 0):
            with patch.object(checkpoint.Checkpoints, "pause", pause):
                result = npx.design("ixp2400").run(trace, folder=folder, by_resource=True, progress=reached, **more)
            files = write_run(result, trace, folder)
        return {key: path.read_bytes() for key, path in files.items()}, result.prediction

    whole = fates_of(tmp_path / "whole")
    for stop in (300, 500):  # the run that goes on is stopped once more
        with pytest.raises(StoppedError):
            fates_of(tmp_path / "stopped", stop, resume=True)
    assert fates_of(tmp_path / "stopped", resume=True, every=999) == whole
    assert 500 > pauses[0] > 430
    with pytest.raises(StoppedError):
        fates_of(tmp_path / "stopped", 1, resume=True, seed=2)
    assert pauses[0] < 20


KILLED = """
import sys, threading
from unittest.mock import patch
sys.path[:0] = sys.argv[5:]
from law.test_law_packet_parts import in_parts
import npexplore as npx
from npexplore.engine import checkpoint
import os, signal
design, folder = npx.design("ixp2400"), sys.argv[2]
design.run(sys.argv[1], folder=folder + "/warm")
threading.Timer(float(sys.argv[3]), os.kill, (os.getpid(), signal.SIGKILL)).start()
with in_parts(1024), patch.object(checkpoint, "CHECKPOINT_INTERVAL_S", 0):
    design.run(sys.argv[1], folder=folder, by_resource=True, loops=int(sys.argv[4]), resume=True)
print("finished")
"""


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_files(tmp_path):
    """Children that kill themselves after random times, each going on where the one before had its checkpoint."""
    trace, r, loops = capture(tmp_path / "in.pcap", 6), np.random.default_rng(6), 40
    (folder := tmp_path / "out").mkdir()
    whole = npx.design("ixp2400").run(trace, folder=tmp_path / "whole", by_resource=True, loops=loops)
    kills = 0
    for seconds in r.uniform(0.02, 0.5, 3).tolist():
        code = [sys.executable, "-c", KILLED, trace, folder, str(seconds), str(loops), str(Path(__file__).parents[1])]
        kills += "finished" not in subprocess.run(code, check=False, capture_output=True, text=True).stdout
    assert kills > 1
    result = npx.design("ixp2400").run(trace, folder=folder, by_resource=True, loops=loops, resume=True)
    expected, files = write_run(whole, trace, tmp_path / "whole"), write_run(result, trace, folder)
    assert result.prediction == whole.prediction
    for name, path in expected.items():
        if name != "packets":
            assert files[name].read_bytes() == path.read_bytes()
    pd.testing.assert_frame_equal(*(pd.read_parquet(paths["packets"]) for paths in (files, expected)), check_exact=True)


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
