"""What rows of every packet's fate cost: the rate of the engine with them, as a share of its rate without.

Goal: 0.7 with rows, also where these are in files and a thread writes them to Parquet (on a second core); times by
resource are written for each packet and place, and cost more where a packet's work is little. Set
NPEXPLORE_BENCH_PACKETS for other than 400,000 packets.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from reference.timing import best, record

from npexplore.designs import design
from npexplore.designs.prepared import prepared
from npexplore.engine.accounts import DROP
from npexplore.engine.fates import Fates
from npexplore.engine.run import run
from npexplore.machine.workload import Workload
from npexplore.mapped_arrays import arrays_in_files
from npexplore.packets.writing import write_packets
from npexplore.solve.packet_rows import PacketRows
from npexplore.solve.row_files import RowStream

FRAME = np.zeros(60, dtype=np.uint8)  # of IPv4, 46 bytes
FRAME[12:26] = [8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]
PACKETS = int(os.environ.get("NPEXPLORE_BENCH_PACKETS", "400_000"))


@pytest.mark.parametrize(("name", "gap_ns"), [("ixp2400", 1200), ("smartnic", 40), ("gorilla", 40)])
def test_rows_of_packets(benchmark, name, gap_ns):
    r, packets = np.random.default_rng(1), max(PACKETS // 4, 100)
    times = np.cumsum(r.exponential(gap_ns, packets)).astype(np.int64)
    lengths = r.choice([64, 576, 1500], packets)
    load = Workload("drawn", {"packet_bytes": lengths}, arrivals="timestamps", t_ns=times)
    model = prepared(design(name).by_packets(), load).model()
    run(model, 1, 100, 2, fates=Fates.of(model, by_place=True))

    def measured():
        plain, _ = best(lambda: run(model, 1, packets, 16))
        rows, _ = best(lambda: run(model, 1, packets, 16, fates=Fates.of(model)))
        streamed, _ = best(lambda: streaming(model, packets))
        wide, found = best(lambda: run(model, 1, packets, 16, fates=Fates.of(model, by_place=True)))
        record(
            benchmark, thousand_packets_per_s=1e-3 * packets / plain, share_with_rows=plain / rows,
            share_streamed=plain / streamed, share_by_resource=plain / wide,
        )  # fmt: skip
        return found

    found = benchmark.pedantic(measured, rounds=1, iterations=1)
    assert found.snapshots[-1].done.sum() > 0


def streaming(model, packets):
    with TemporaryDirectory() as folder, arrays_in_files(Path(folder)):
        fates = Fates.of(model)
        reasons = {counter.removeprefix(DROP): "PROGRAM" for counter in model.counters}
        with RowStream(PacketRows(fates, reasons, np.arange(len(fates.rows))), Path(folder) / "rows.parquet") as stream:
            run(model, 1, packets, 16, fates=fates, paused=lambda arrived: stream.hand_over_ended())
            stream.finish(fates.ended(0))


@pytest.mark.parametrize("several", [1, 4])
def test_memory_of_a_run_into_files(benchmark, several, tmp_path):
    """Resident memory, mapped pages included, is the same for four times the packets (with 2,000,000 and more)."""
    packets = several * PACKETS // 4
    write_packets(
        tmp_path / "in.pcap", np.arange(packets) * 60, np.tile(FRAME, (packets, 1)), np.full(packets, len(FRAME)),
        np.full(packets, len(FRAME)),
    )  # fmt: skip
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = peak_mb()
    found = benchmark.pedantic(
        lambda: design("smartnic").run(tmp_path / "in.pcap", folder=tmp_path), rounds=1, iterations=1
    )
    more = peak_mb() - before
    record(benchmark, packets=packets, more_mb=more)
    assert sum(found.counts.values()) == packets
    assert more < 400


def peak_mb():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
