"""Read and write captures frame by frame, as bytes, for code that handles one packet at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from npexplore.packets.scan import CaptureScan
from npexplore.packets.writing import write_packets


def read_frames(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield (time in ns, captured bytes) of each packet; raises InputError for a file that is not a capture.

    A damaged file gives the packets before the damage.
    """
    scan = CaptureScan(path)
    for table in scan:
        data, base = scan.window
        starts = table["position"] - base
        ends = starts + table["captured"]
        for t_ns, start, end in zip(table["t_ns"].tolist(), starts.tolist(), ends.tolist(), strict=True):
            yield t_ns, data[start:end].tobytes()


def write_frames(path: str | Path, frames: Sequence[bytes], t_ns: Sequence[int], *, form: str = "pcap-ns") -> None:
    """Write Ethernet frames with their times in ns.

    path: the capture to write. frames: bytes of each frame. t_ns: time of each frame in nanoseconds since the
    epoch. form: "pcap", "pcap-ns" or "pcapng".
    """
    lengths = np.array([len(frame) for frame in frames], np.int64)
    rows = np.zeros((len(frames), int(lengths.max(initial=0))), np.uint8)
    for row, frame in zip(rows, frames, strict=True):
        row[: len(frame)] = np.frombuffer(frame, np.uint8)
    write_packets(path, np.array(t_ns, np.int64), rows, lengths, lengths, form=form)
