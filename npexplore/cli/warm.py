"""`npexplore warm` (hidden): compile every kernel into its cache, so that the first question is answered at once."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from time import monotonic

import click

from npexplore.cli.output import note, progress

OFF_PAGES = ("network_chain",)  # half of the time; only users' own networks ask for it


@click.command("warm")
@click.option("--pages", is_flag=True, help="Only what the pages of the report use.")
def command(pages: bool) -> None:
    """Compile the kernels into their cache, on all cores; about a minute the first time, then a few seconds."""
    import npexplore._kernels as kernels

    began = monotonic()
    note("warming the kernels: the first time compiles them, which takes up to a minute")
    # Using each storey once compiles what it calls; importing compiles the rest, which has an explicit signature.
    # Long ones first. Packets come before the router, which reads captures as they do, so that nothing is made twice.
    modules = [module.name for module in iter_modules(kernels.__path__) if module.name not in OFF_PAGES]
    jobs = [*(OFF_PAGES if not pages else ()), "solvers", "petri", "packets", "golden", "diffserv"]
    jobs += [name for name in modules if name not in jobs]
    for _ in progress(_done(jobs), total=len(jobs), unit="step", label="warm"):
        pass
    note(f"kernels are warm ({monotonic() - began:.1f} s)")


def _done(jobs: Sequence[str]) -> Iterator[str]:
    """Yield each job when it is done: side by side on the cores there are, begun in their order.

    Python's collector of cycles rests there: the compiler's many small objects would be gone through again and again.
    """
    import gc
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from npexplore.study.sweeping.executors import usable_cores

    with ProcessPoolExecutor(min(usable_cores(), len(jobs)), get_context("spawn"), gc.disable) as pool:
        for future in as_completed([pool.submit(_warm, job) for job in jobs]):
            yield future.result()


def _warm(job: str) -> str:
    """Use a storey once, or import a module of kernels."""
    if job in USES:
        USES[job]()
    else:
        import_module(f"npexplore._kernels.{job}")
    return job


def _use_packets() -> None:
    """Write, read, count and look into captures as the trace commands do (but for what few ask for: anonymising)."""
    from tempfile import TemporaryDirectory

    import numpy as np

    from npexplore.packets import read_capture
    from npexplore.packets.statistics import CaptureCounts, count_capture, destination_locality, train_lengths
    from npexplore.packets.synthetic import Traffic, fixed, periodic
    from npexplore.paths import share

    rng = np.random.default_rng(1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        plain, blocks = folder / "a.pcap", folder / "a.pcapng"
        for path, form in ((plain, "pcap-ns"), (blocks, "pcapng")):
            Traffic.made(periodic(4000, 1e6), fixed(64), rng).write(path, form=form)  # flows enough to outgrow a table
        for path in (plain, blocks, share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")):
            counted, _ = count_capture(path)
            CaptureCounts().merge(counted)
        table = read_capture(blocks).columns
        records = folder / "a.erf"
        records.write_bytes(bytes(8) + bytes([22, 4, 0, 36, 0, 0, 0, 20]) + bytes(20))
        count_capture(records)
    train_lengths(table, 1.0)
    destination_locality(table)


def _use_golden() -> None:
    """Build every lookup table, change it, look up in it, take packets through the batch functions and the router."""
    from tempfile import TemporaryDirectory

    import numpy as np

    from npexplore.golden import checksum, forward_captures, load_router
    from npexplore.golden.classify import CLASSIFIERS
    from npexplore.golden.classify.rules import Rule
    from npexplore.golden.columns import Packets
    from npexplore.golden.ipv4 import delivery, header, martians, ttl, validate
    from npexplore.golden.ipv4.five_tuple import read_five_tuples
    from npexplore.golden.ipv4.options import option_faults
    from npexplore.golden.lookup import LPMS
    from npexplore.packets.writing import write_packets
    from npexplore.paths import share

    for kind in LPMS.values():
        table = kind.from_routes([("10.0.0.0/8", 1), ("10.0.0.1/32", 2)])
        table.insert("10.0.0.2/32", 3)
        table.remove("10.0.0.1/32")
        table.lookup_many([0x0A000001])
        table.reads_many([0x0A000001])
    packets = Packets.of([header.write_packet(0x0A000001, 0x0B000001)])
    headers = read_five_tuples(packets)
    for classifier in CLASSIFIERS.values():
        classifier([Rule()]).match_many(headers)
        classifier([Rule()]).work_many(headers)
    columns = header.read_headers(packets)
    checksum.header_checksums_are_right(packets)
    checksum.internet_checksums(packets)
    checksum.update_checksums(columns.checksum, np.array([1]), np.array([2]))
    validate.validate_many(packets)
    option_faults(packets)
    ttl.decrement_ttls(packets)
    martians.martian_many(columns.source, columns.destination, martians.martian_list())
    delivery.destination_kinds(columns.destination, delivery.Links((0x0A0000FE,), (24,)))
    _use_golden6()
    capture = share("data", "captures", "zeek_wikipedia.pcap")
    with TemporaryDirectory() as out:
        raw, size = Path(out) / "raw.pcap", np.array([20])
        write_packets(raw, np.zeros(1, np.int64), np.zeros((1, 20), np.uint8), size, size, link_type=101)
        forward_captures(load_router("office"), {"office": capture, "campus": raw}, out=out, any_station=True)


def _use_golden6() -> None:
    """The same for IPv6, labels and flow counters."""
    import numpy as np

    from npexplore.golden import BatchForwarder, Frames, load_router
    from npexplore.golden.columns import Packets
    from npexplore.golden.flow_counters import FlowCounters
    from npexplore.golden.ipv6 import extensions, header, hop_limit, scope, validate
    from npexplore.golden.lookup import SixLevelTrie
    from npexplore.golden.mpls import label_cache, stack, switch

    table = SixLevelTrie.from_routes([("2001:db8::/32", 1), ("2001:db8::1/128", 2)])
    table.insert("2001:db8::2/128", 3)
    table.remove("2001:db8::1/128")
    table.lookup_many([1])
    table.reads_many([1])
    six = Packets.of([header.write_packet(1 << 96, 2 << 96)])
    columns = header.read_headers(six)
    validate.validate_many(six)
    extensions.read_chains(six)
    hop_limit.decrement_hop_limits(six)
    scope.address_kinds(columns.source)
    labelled = Packets.of([stack.write_stack([stack.Label(16)]) + six[0]])
    stack.read_stacks(labelled)
    stack.labels_of(labelled, 4)
    switch.switch_many(labelled, switch.LabelMap.of({16: switch.LabelEntry()}))
    label_cache.LabelCache(label_cache.LabelTable()).look_up_many([16])
    FlowCounters().count_many(np.zeros(1, np.int64), np.zeros(1, np.int64))
    router = load_router("multiservice")
    head = router.ports[0].mac + router.ports[0].peer_mac
    BatchForwarder(router).forward(
        Frames.of([(0, head + b"\x86\xdd" + six[0], 0), (0, head + b"\x88\x47" + labelled[0], 0)])
    )


def _use_diffserv() -> None:
    """Mark and police packets in columns, and send some through finite receivers, policer, queues and scheduler."""
    from npexplore.golden.columns import Packets
    from npexplore.golden.diffserv import Receiver
    from npexplore.golden.diffserv.experiments import Bench, many_flows
    from npexplore.golden.diffserv.mark import mark_dscps
    from npexplore.golden.police import LeakyBucket, police_many
    from npexplore.golden.token_rate import TokenRate

    mark_dscps(Packets.of([bytes(20)]), [0])
    police_many([LeakyBucket(TokenRate(1, 1), 100)], [0], [0], [64])
    many_flows(Bench("1Gb/s", 64, 20, 64, receiver=Receiver(100, 4), duration_s=1e-5), 1.0, 2, 1000.0)


def _use_solvers() -> None:
    from npexplore.designs import design, design_names
    from npexplore.machine.workload import workload

    machine, load = design(design_names()[0]), workload(packet_bytes=64)  # one design does: no kernel is made for one
    machine.queueing(load)
    machine.simulate(load)


USES: dict[str, Callable[[], None]] = {
    "packets": _use_packets, "golden": _use_golden, "diffserv": _use_diffserv, "solvers": _use_solvers,
}  # fmt: skip
