"""Options that several commands share: the workload, the packet program and the knobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from npexplore.cli.completions import complete_knob, complete_mix, one_of_words
from npexplore.cli.output import note, warn
from npexplore.errors import InputError, NpexploreError, positive, shown
from npexplore.progress import Task
from npexplore.units import split

if TYPE_CHECKING:
    from npexplore.designs import Design
    from npexplore.machine.parameters import Parameters
    from npexplore.machine.workload import Workload
    from npexplore.programs import ProgramRun
    from npexplore.study.sweeping.grid import Span


class PacketLength(click.ParamType):  # type: ignore[type-arg]  # older releases of click have no argument
    """A whole number of bytes, alone or with its unit; --frame-bytes passes its value as `frame:64`."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return a text such as `64` as a number, and a text such as `64 B` unchanged."""
        if str(value).startswith(FRAME):
            return str(value)
        with suppress(ValueError):
            return int(value)
        if split(str(value)) is None:
            raise InputError(f"--packet-bytes must be a whole number, got {value!r} (bytes: 64, 64B)")
        return str(value)


FRAME = "frame:"  # prefix of a frame length among packet lengths
F = TypeVar("F", bound=Callable[..., Any])
Settable = TypeVar("Settable", "Design", "Parameters")
DAMAGED = 3  # exit status: the input was damaged part-way


def workload_options(function: F) -> F:
    """Give a command the options of a workload: trace, mix, packet_bytes (and frame_bytes), arrivals, rate, speed."""
    return _workload_options(function, several=False)


def several_workloads_options(function: F) -> F:
    """Give a command these options for several workloads; all except arrivals and speed are tuples of texts."""
    return _workload_options(function, several=True)


def _workload_options(function: F, several: bool) -> F:
    more: dict[str, Any] = {"multiple": True} if several else {}
    listed = "; several with commas" if several else ""
    options = (
        click.option(
            "--trace", metavar="FILE",
            help="Packets of a capture (pcap, pcapng, gzip, zstd; - is stdin); accesses of a CSV or Parquet file for "
            "ixp2400_dram.", **more
        ),
        click.option(
            "--mix", metavar="NAME", shell_complete=complete_mix,
            help=f"Packets of a published mix (explain --mixes lists them), or of a FILE.toml of yours{listed}.", **more
        ),
        click.option(
            "--packet-bytes", metavar="N", type=None if several else PacketLength(),
            help=f"Packets of one length, bytes of the network layer (64 or 64B){listed}.", **more,
        ),
        click.option(
            "--frame-bytes", metavar="N", default=() if several else None,
            help=f"Ethernet frames of one length, at least 64 bytes: the packet and 18 bytes more{listed}.", **more,
        ),
        click.option(
            "--arrivals",
            metavar="HOW",
            shell_complete=one_of_words("saturated", "timestamps", "poisson", "periodic", "batch:", "on_off:"),
            help="saturated (default), timestamps of the capture, or with --rate: poisson, periodic, batch:SIZE, "
            "batch:SIZE:geometric, on_off:ON:OFF (mean spans, as in 2ms).",
        ),
        click.option("--rate", metavar="R", help=f"Offered load, for example 2.5Mpps or 4Gb/s{listed}.", **more),
        click.option("--speed", metavar="X", type=float, help="Replay a capture's own timing X times as fast."),
    )  # fmt: skip

    @wraps(function)
    def with_frames(*arguments: Any, **options: Any) -> Any:
        frames, lengths = options.pop("frame_bytes"), options["packet_bytes"]
        if several:
            options["packet_bytes"] = (*lengths, *(f"{FRAME}{text}" for text in _listed(frames)))
        elif frames is not None:
            if lengths is not None:
                raise InputError(f"give one of --packet-bytes N, --frame-bytes N; got {lengths} and {frames}")
            options["packet_bytes"] = f"{FRAME}{frames}"
        return function(*arguments, **options)

    command: Any = with_frames
    for option in reversed(options):
        command = option(command)
    return cast(F, command)


profile_option = click.option(
    "--profile",
    metavar="NAME",
    shell_complete=one_of_words("rfc1812", "linux"),
    help="rfc1812 or linux; default: as ROUTER.toml says.",
)
any_station_option = click.option(
    "--any-station", is_flag=True, help="Accept frames addressed to other stations, for captures from elsewhere."
)
section_option = click.option("--section", metavar="NAME", help="The program or its section, where a file has several.")
map_option = click.option("--map", "maps", metavar="NAME=FILE", multiple=True, help="Initial contents of a map.")
router_option = click.option(
    "--router", metavar="ROUTER.toml", help="The router whose tables a program's fib_lookup asks, or an example's name."
)
costs_option = click.option(
    "--costs", metavar="TABLE", default=None,
    help="What a program's events cost: a table of models/processors (default: the design's usual one), or a file that "
    "`program measure` wrote.",
)  # fmt: skip


def program_options(function: F) -> F:
    """Give a command the options of a packet program: program, section, maps, costs, router."""
    program = click.option("--program", metavar="FILE.o", help="Run this eBPF program on the packets of --trace.")
    return program(section_option(map_option(costs_option(router_option(function)))))


def running(
    design: Design, file: str | None, trace: str | None, section: str | None, maps: Sequence[str], costs: str | None,
    router: str | None,
) -> Design:  # fmt: skip
    """Return a design whose cores run the program of a file on the packets of a capture; without a file, the design.

    Raises InputError for a program without packets, and for options of a program without one.
    """
    if file is None:
        for option, value in (("--section", section), ("--map", maps), ("--costs", costs), ("--router", router)):
            if value:
                raise InputError(f"{option} does not fit: there is no --program FILE.o")
        return design
    from npexplore.programs.loading import program
    from npexplore.programs.map_files import read_named_maps

    if trace is None:
        raise InputError("--program needs --trace FILE, the packets that it runs on")
    loaded = program(file, section)
    machine = design.with_program(loaded, trace, maps=read_named_maps(loaded, maps), costs=costs, router=router)
    if machine.program is not None:
        warn_of_cut(machine.program.run, trace)
    return machine


def warn_of_cut(run: ProgramRun, trace: str) -> None:
    """Warn of the number of packets that the capture's snap length cut."""
    if run.cut:
        warn(
            f"{trace}: the snap length cut {run.cut:,} of {len(run):,} packets, by {int(run.missing.sum()):,} bytes; "
            "the program saw their captured bytes alone (column missing_bytes)"
        )


def set_option(several: bool) -> Callable[[F], F]:
    """Give a command the option `--set`; it arrives as `settings`, a tuple of texts `knob=value`."""
    what = ("KNOB=V1,V2,...", "Values of a knob; repeatable.") if several else ("KNOB=VALUE", "Set a knob; repeatable.")
    return click.option("--set", "settings", metavar=what[0], multiple=True, help=what[1], shell_complete=complete_knob)


def read_workload(
    design: Design, trace: str | None, mix: str | None, packet_bytes: int | str | None, arrivals: str | None,
    rate: str | None, speed: float | None = None,
) -> tuple[Design, Workload | None]:  # fmt: skip
    """Return the design and the workload that the options describe.

    Workload None: the design has its own packets, which arrive as the options specify. Raises InputError for options
    that contradict each other or that this design does not accept.
    """
    sources = {"--trace": trace, "--mix": mix, "--packet-bytes": packet_bytes}
    present = [option for option, value in sources.items() if value is not None]
    if design.own is not None and not present:
        check_speed(rate, speed)
        return (design if (arrivals, rate, speed) == (None,) * 3 else _arriving(design, arrivals, rate, speed)), None
    if len(present) != 1:
        got = " and ".join(present) or "none"
        source_options = "--trace FILE, --mix NAME, --packet-bytes N, --frame-bytes N"
        raise InputError(f"design {design.name} needs one of {source_options}; got {got}")
    return design, plain_workload(trace, mix, packet_bytes, arrivals, rate, speed, design)


def plain_workload(
    trace: str | None, mix: str | None, packet_bytes: int | str | None, arrivals: str | None, rate: str | None,
    speed: float | None = None, design: Design | None = None,
) -> Workload:  # fmt: skip
    """Return the workload that the options describe, for a design that may read files of its own; raises InputError."""
    from npexplore.machine.workload_sources import workload

    check_speed(rate, speed)
    arrival_text = arrivals or ("saturated" if trace is None or speed is None else "timestamps")
    with Task("packets" if trace is None else f"reading {shown(trace)}"):
        if trace is not None and mix is None and packet_bytes is None and design and design.reader and trace != "-":
            load = design.reader(design.parameters, Path(trace)).with_arrivals(arrival_text, rate)
        else:
            sizes: dict[str, int | str | None] = {"packet_bytes": packet_bytes}
            if isinstance(packet_bytes, str) and packet_bytes.startswith(FRAME):
                sizes = {"frame_bytes": frame_length(packet_bytes.removeprefix(FRAME))}
            load = workload(trace=trace, mix=mix, arrivals=arrival_text, rate=rate, **sizes)
    if trace is not None and load.note:
        note(f"{trace}: {load.note}")
    return load if speed is None else load.at_speed(speed)


def frame_length(text: str) -> int | str:
    """Return the value of --frame-bytes as a number, or as text with its unit; raises InputError."""
    with suppress(ValueError):
        return int(text)
    if split(text) is None:
        raise InputError(f"--frame-bytes must be a whole number, got {text!r} (bytes: 64, 64B)")
    return text


def check_speed(rate: str | None, speed: float | None) -> None:
    """Raise InputError for a speed that is not above 0, or a speed combined with a rate."""
    if speed is not None:
        positive("--speed", speed)
        if rate is not None:
            raise InputError("--rate and --speed both say how fast packets come; leave one out")


def _arriving(design: Design, arrivals: str | None, rate: str | None, speed: float | None) -> Design:
    """Return a design whose own packets arrive as specified; raises InputError if they cannot."""
    machine = design.arriving(arrivals, rate, speed)
    machine.workload()
    return machine


def check_packets(design: Design, packets: int | None) -> None:
    """Raise InputError if --packets has no effect, because the machine measures a fixed time."""
    if packets is None:
        return
    machine = design.machine()
    if machine.window_s is not None:
        measured = f"a fixed time, {1e3 * machine.window_s:.4g} ms from {1e3 * machine.boot_s:.4g} ms on"
        raise InputError(f"design {design.name} measures {measured}, and takes no --packets")


def read_workloads(
    design: Design, traces: Sequence[str], mixes: Sequence[str], packet_bytes: Sequence[str], arrivals: str | None,
    rates: Sequence[str], speed: float | None = None,
) -> list[tuple[Design, Workload | None]]:  # fmt: skip
    """Return the design with every workload at every rate that the options describe; raises as read_workload does.

    A capture is read once for all its rates.
    """
    sources: list[dict[str, Any]] = [{"trace": trace} for trace in traces]
    sources += [{"mix": mix} for mix in _listed(mixes)]
    for text in _listed(packet_bytes):
        sources.append({"packet_bytes": PacketLength().convert(text, None, None)})
    nothing = {"trace": None, "mix": None, "packet_bytes": None}
    first_rate, other_rates = next(iter(_listed(rates)), None), _listed(rates)[1:]
    pairs: list[tuple[Design, Workload | None]] = []
    for source in sources or [nothing]:
        machine, load = read_workload(design, **{**nothing, **source}, arrivals=arrivals, rate=first_rate, speed=speed)
        pairs.append((machine, load))
        if load is None:
            pairs += [(_arriving(design, arrivals, rate, None), None) for rate in other_rates]
        else:
            pairs += [(machine, load.with_arrivals(arrivals or "saturated", rate)) for rate in other_rates]
    return pairs


def _listed(texts: Sequence[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def ending(load: Workload | None) -> int:
    """Return the exit status for a workload: 3, with a warning, if its capture is damaged, otherwise 0."""
    if load is None or load.damage is None:
        return 0
    packets = len(load.packet_bytes)
    used = "the one packet read is used" if packets == 1 else f"the {packets:,} packets read are used"
    warn(f"{load.name}: {load.damage}; {used}")
    return DAMAGED


def split_settings(settings: Sequence[str], option: str = "--set") -> dict[str, list[str]]:
    """Return `knob=v1,v2` texts as lists of values by knob; raises InputError."""
    values_by_knob: dict[str, list[str]] = {}
    for text in settings:
        name, equals, values = text.partition("=")
        listed = [value.strip() for value in values.split(",")]
        if not equals or not name.strip() or not all(listed):
            form = "knob=LOW..HIGH or knob=V1,V2" if option == "--free" else "knob=value"
            raise InputError(f"{option} needs {form}, got {text!r}")
        if name.strip() in values_by_knob:
            raise InputError(f"{option} {name.strip()} is given twice")
        values_by_knob[name.strip()] = listed
    return values_by_knob


def values_or_span(name: str, texts: list[str]) -> Span | list[str]:
    """Return the values of a knob, or its span: LOW..HIGH, LOW..HIGH:log."""
    from npexplore.study.sweeping.grid import Span

    low, dots, high = texts[0].partition("..")
    if len(texts) > 1 or not dots:
        return texts
    high, _, scale = high.partition(":")
    try:
        if scale not in ("", "log"):
            raise ValueError
        return Span(float(low), float(high), scale == "log")
    except ValueError:
        raise InputError(f"span of knob {name} must be LOW..HIGH or LOW..HIGH:log, got {texts[0]!r}") from None


def apply_settings(design: Settable, settings: Sequence[str]) -> Settable:
    """Return a design, or its parameters, with `knob=value` texts applied; raises UnknownNameError, InputError."""
    values_by_knob = split_settings(settings)
    for name, values in values_by_knob.items():
        if len(values) > 1:
            raise InputError(f"--set {name} takes one value here, got {','.join(values)} (sweep takes several)")
    return design.with_(**{name: values[0] for name, values in values_by_knob.items()})


def warn_of_idle_knobs(names: Iterable[str], points: Sequence[tuple[Any, ...]]) -> None:
    """Warn of knobs that were set and that no point reads; at most sixteen points are tried."""
    idle = set(names)
    for design, load, *_ in points[:: max(1, len(points) // 16)] if idle else []:
        try:
            idle -= design.depends_on(load) | design.parameters.read  # parameters.read: while reading packets
        except NpexploreError:
            return  # an impossible machine: the knobs it reads are not known
    if idle:
        warn(f"{', '.join(sorted(idle))} has no effect here: the machine does not read it with these settings")
