"""Makes workloads from a capture, synthetic traffic, a named mix, or one length of packets or frames.

The IP packets of a capture keep their order and time stamps; other packets are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from npexplore._kernels.capture_records import NO_TIME
from npexplore.errors import InputError, positive, shown
from npexplore.machine.mixes import load_mix, mix_names
from npexplore.machine.workload import FRAME_BYTES, LAST_NS, SHORTEST_FRAME, Arrival, Integers, Workload, parse_arrivals
from npexplore.mapped_arrays import chosen, computed, cycled, empty, extremes, is_ascending, parts
from npexplore.units import quantity, split

if TYPE_CHECKING:
    from npexplore.packets import Capture
    from npexplore.packets.synthetic import Traffic

Trace: TypeAlias = "str | Path | Sequence[str | Path] | Capture | Traffic"
WorkloadLike: TypeAlias = "Workload | int | float | Trace"
LONGEST_PACKET = 2**32 + 39  # bytes: an IPv6 header and the largest jumbo payload (RFC 2675 section 2)


def workload(
    source: WorkloadLike | None = None,
    /,
    *,
    trace: Trace | None = None,
    mix: str | None = None,
    packet_bytes: int | str | None = None,
    frame_bytes: int | str | None = None,
    arrivals: Arrival | str = "saturated",
    rate: str | float | None = None,
) -> Workload:
    """Return the workload of a capture, of a named mix, or of packets of one length: give exactly one of them.

    The IP packets of a capture keep their order. Other orders and times: `workload(trace).shuffled()`,
    `workload(trace, arrivals="timestamps")`, and `.scaled(0.5)` of the latter.

    Args:
        source: a capture, the name of a mix, or a packet length, without a keyword.
        trace: a capture file, several read as one (a list, a folder, a pattern), a capture already read, or synthetic
            traffic.
        mix: the name of a mix in models/mixes, or the path of a TOML file in the same form (docs/machine_files.md).
        packet_bytes: the length of all packets: bytes, or text with a unit such as "64 B".
        frame_bytes: the length of all Ethernet frames, at least 64 bytes: the packet's and 18 more.
        arrivals: "saturated" (a packet is always waiting), "poisson", or another process of docs/machine_files.md;
            "timestamps" for the times of a capture.
        rate: the offered load unless arrivals are saturated: packets per second, or text with a unit such as "4 Gb/s".

    Raises:
        InputError: a combination without meaning, an unknown mix, or a capture without an IP packet.

    Example:
        >>> import npexplore as npx
        >>> load = npx.workload(packet_bytes=125, arrivals="poisson", rate="2 Gb/s")
        >>> load.rate_pps
        2000000.0
    """
    sources = {
        "source": source, "trace": trace, "mix": mix, "packet_bytes": packet_bytes, "frame_bytes": frame_bytes,
    }  # fmt: skip
    present = [name for name, value in sources.items() if value is not None]
    if len(present) != 1:
        known = "trace, mix, packet_bytes, frame_bytes"
        raise InputError(f"a workload needs one of {known}; got {' and '.join(present) or 'none'}")
    parse_arrivals(arrivals, rate)  # check them before a long capture is read
    if source is not None:
        packets = as_workload(source)
    elif trace is not None:
        packets = _of_trace(trace)
    elif mix is not None:
        packets = load_mix(mix).workload()
    elif frame_bytes is not None:
        packets = _of_frames(frame_bytes)
    else:
        packets = _of_length(packet_bytes)
    return packets.with_arrivals(arrivals, rate)


def as_workload(source: WorkloadLike | Any) -> Workload:
    """Return a description of packets as a workload, with saturated arrivals unless it is a workload already.

    source: a workload; a length in bytes, or as text with its unit ("64 B"); the name of a mix; a capture, or the path
    of its file (or several paths); synthetic traffic. Raises InputError for anything else.
    """
    if isinstance(source, Workload):
        return source
    if isinstance(source, int | float | np.number) and source is not True:
        return _of_length(source)
    if isinstance(source, str):
        if split(source) is not None:
            return _of_length(source)
        if source in mix_names() or source.endswith(".toml"):
            return load_mix(source).workload()
        if not _may_be_a_file(source):
            accepted = f"a packet length (64, '64 B'), a capture file, or a mix ({', '.join(mix_names())})"
            raise InputError(f"a workload must be {accepted}; got {source!r}")
    try:
        return _of_trace(source)  # type: ignore[arg-type]  # anything else is refused below
    except (TypeError, AttributeError):
        kinds = "a packet length, the name of a mix, a capture or the path of one, or a Workload"
        raise InputError(f"a workload must be {kinds}; got {type(source).__name__} {source!r:.60}") from None


def _may_be_a_file(text: str) -> bool:
    """Return whether a text may name a file: an existing file, a path, a pattern, or the name of a sample."""
    path, marks = Path(text), set("*?[:~")
    return text == "-" or bool(path.suffix) or len(path.parts) > 1 or not marks.isdisjoint(text) or path.exists()


def _of_length(packet_bytes: Any) -> Workload:
    size = _whole("packet_bytes", packet_bytes)
    return Workload(f"{size} bytes", {"packet_bytes": np.full(1, size, dtype=np.int64)})


def _of_frames(frame_bytes: Any) -> Workload:
    """Return the packets of Ethernet frames of one length."""
    size = _whole("frame_bytes", frame_bytes)
    if size < SHORTEST_FRAME:
        raise InputError(f"frame_bytes must be at least {SHORTEST_FRAME}, the shortest Ethernet frame, got {size}")
    return replace(_of_length(size - FRAME_BYTES), name=f"frames of {size} bytes")


def _whole(name: str, value: Any) -> int:
    """Return a length as a whole number of bytes; raises InputError."""
    length = quantity(name, value, "bytes") if isinstance(value, str) else value
    if positive(name, length) > LONGEST_PACKET:
        raise InputError(f"{name} must be at most {LONGEST_PACKET}, got {value!r}")
    if int(length) != length:
        raise InputError(f"{name} must be a whole number, got {value!r}")
    return int(length)


def _of_trace(trace: Trace) -> Workload:
    from npexplore.packets import Capture, read_capture
    from npexplore.packets.synthetic import Traffic

    if isinstance(trace, str | Path):
        return of_columns(shown(Path(trace).name), read_capture(trace))
    if isinstance(trace, Capture):
        return of_columns(Path(trace.path).name, trace)
    if not isinstance(trace, Traffic):
        return of_columns(", ".join(shown(Path(file).name) for file in trace), read_capture(trace))
    if not len(trace):
        raise InputError("synthetic traffic must have at least one packet to be a workload, got none")
    lengths = np.asarray(trace.packet_bytes, dtype=np.int64)
    return Workload("synthetic traffic", {"packet_bytes": lengths}, t_ns=trace.t_ns - trace.t_ns.min())


def timed(capture: Any) -> tuple[Workload, Integers]:
    """Return the IP packets of a capture in the order of their time stamps, and the row of each in the capture (n,).

    Packets with equal time stamps keep the order of the file. Raises InputError if a packet has no time stamp.
    """
    rows, packets = ip_rows(capture), as_workload(capture)
    if (unstamped := untimed(capture, rows)) > 0:
        raise InputError(
            f"{packets.name}: {unstamped:,} of {len(rows):,} packets have no time stamp, and a run needs them"
        )
    assert packets.t_ns is not None
    ordered = rows if is_ascending(packets.t_ns) else chosen(rows, np.argsort(packets.t_ns, kind="stable"))
    return packets.with_arrivals("timestamps"), ordered


def ip_rows(capture: Any) -> Integers:
    """Return the rows of a capture's IP packets."""
    lengths, count = np.asarray(capture.columns["l3_length"]), 0
    rows = empty(sum(int(np.count_nonzero(lengths[part])) for part in parts(len(lengths))))
    for part in parts(len(lengths)):
        places = part.start + np.flatnonzero(lengths[part])
        rows[count : count + len(places)] = places
        count += len(places)
    return rows


def untimed(capture: Any, rows: Integers) -> int:
    """Return how many of the packets in these rows have no time stamp."""
    t_ns = np.asarray(capture.columns["t_ns"])
    return sum(int(np.count_nonzero(t_ns[rows[part]] == NO_TIME)) for part in parts(len(rows)))


def looped(workload: Workload, rows: Integers, loops: int) -> tuple[Workload, Integers]:
    """Return time-stamped packets and their rows repeated `loops` times, with a mean gap between loops.

    Raises InputError for loops below 1, for packets that all have one time stamp, and for times out of range.
    """
    if loops < 1:
        raise InputError(f"loops must be at least 1, got {loops}")
    if loops == 1:
        return workload, rows
    assert workload.t_ns is not None, "packets that come by time stamps"
    packets, last_ns = len(workload.t_ns), extremes(workload.t_ns)[1]
    if last_ns == 0:
        raise InputError(f"{workload.name}: its packets all come at once, so that a loop of them has no duration")
    period_ns = last_ns + max(1, round(last_ns / (packets - 1)))
    if period_ns * loops > LAST_NS:
        raise InputError(
            f"{loops} loops must end within {LAST_NS / 1e9:.3g} s, end after {period_ns * loops / 1e9:.3g} s"
        )
    times_ns, total = workload.t_ns, packets * loops

    def time_ns(part: slice) -> Integers:
        loop, place = np.divmod(np.arange(part.start, part.stop), packets)
        return np.asarray(times_ns[place] + period_ns * loop)

    columns = {name: cycled(column, total) for name, column in workload.columns.items()}
    return replace(workload, columns=columns, t_ns=computed(total, time_ns)), cycled(rows, total)


def first_packet(workload: Workload) -> Workload:
    """Return a workload of the first time-stamped packet."""
    assert workload.t_ns is not None, "packets that come by time stamps"
    return replace(
        workload, columns={name: column[:1] for name, column in workload.columns.items()}, t_ns=workload.t_ns[:1]
    )


def speed_ratio(before: Workload, after: Workload) -> float:
    """Return the ratio of the rates of time-stamped packets after and before their times were scaled."""
    assert before.t_ns is not None and after.t_ns is not None, "packets that come by time stamps"  # noqa: PT018
    last_ns = extremes(after.t_ns)[1]
    return extremes(before.t_ns)[1] / last_ns if last_ns else 1.0


def of_columns(name: str, capture: Any) -> Workload:
    """Return the workload of a capture that is already read: its IP packets, in order, with their time stamps."""
    lengths, times = (np.asarray(capture.columns[column]) for column in ("l3_length", "t_ns"))
    rows = ip_rows(capture)
    if not len(rows):
        from npexplore.packets.links import unread_links

        unread = unread_links(interface.link_type for interface in capture.interfaces)
        reasons = [f"of link type {link} only lengths and times are read" for link in unread]
        reasons += [f"damaged: {capture.damage}"] * bool(capture.damage)
        explanation = f" ({'; '.join(reasons)})" if reasons else ""
        raise InputError(f"capture {name!r} has no IPv4 or IPv6 packet among its {len(lengths)}{explanation}")
    skipped = len(lengths) - len(rows)
    t_ns = None
    if not untimed(capture, rows):
        first_ns = min(int(times[rows[part]].min()) for part in parts(len(rows)))
        t_ns = computed(len(rows), lambda part: times[rows[part]].astype(np.int64) - first_ns)
    return Workload(
        name,
        {"packet_bytes": computed(len(rows), lambda part: lengths[rows[part]])},
        t_ns=t_ns,
        note=f"{skipped:,} of {len(lengths):,} packets are not IP and left out" if skipped else "",
        damage=str(capture.damage) if capture.damage else None,
    )
