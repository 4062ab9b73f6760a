"""`npexplore warm` (hidden): compile every kernel into its cache, so that the first command does not compile.

With --generic the kernels are for any processor of this kind and stored in the package, as `make` does in a checkout.
With --wheel the command also writes a platform wheel of the package with these kernels.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from time import monotonic

import click

from npexplore.cli.output import note, progress, say
from npexplore.jit import Kernel, files
from npexplore.signals import begin_worker

OFF_PAGES = ("network_chain", "anonymising", "ebpf")  # half of the time; only users' own files need them


@click.command("warm")
@click.option("--pages", is_flag=True, help="Only what the pages of the report use.")
@click.option("--generic", is_flag=True, help="For any processor of this kind, into the package (npexplore/_kernels).")
@click.option(
    "--wheel", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="PURE.whl",
    help="Write the platform wheel beside this pure one: the same package with compiled kernels (--generic).",
)  # fmt: skip
def command(pages: bool, generic: bool, wheel: Path | None) -> None:
    """Compile the kernels into their cache, on all cores; about a minute the first time, then a few seconds."""
    import npexplore._kernels as kernels

    began = monotonic()
    # Long jobs first. Packets come before the router, which uses the same kernels, so that none is compiled twice.
    modules = [module.name for module in iter_modules(kernels.__path__) if module.name not in OFF_PAGES]
    jobs = [*(OFF_PAGES if not pages else ()), *LONG, *(name for name in [*USES, *modules] if name not in OFF_PAGES)]
    jobs = list(dict.fromkeys(jobs))
    entries: set[Path] = set()
    for used in progress(_done(jobs, generic or wheel is not None), total=len(jobs), unit="step", label=LABEL):
        entries |= used
    if wheel is not None:
        from npexplore.jit.wheel import add_kernels

        say(str(add_kernels(wheel, entries)))
    note(f"kernels are warm ({monotonic() - began:.1f} s)")


LABEL = "compiling kernels, once"
LONG = ("controller", "petri", "packets", "solvers", "queueing_multiclass", "queueing_approximate")  # started first


def _done(jobs: Sequence[str], generic: bool) -> Iterator[set[Path]]:
    """Yield the entries that each job used when it ends; jobs start in order and run in parallel on all cores."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_context

    from npexplore.study.sweeping.executors import usable_cores

    workers = min(usable_cores(), len(jobs))
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (generic,)) as pool:
        try:
            for future in as_completed([pool.submit(_warm, job) for job in jobs]):
                yield future.result()
        except BaseException:  # stopped: do not wait for running compilations
            for worker in active_children():
                worker.terminate()
            raise


def _begin(generic: bool) -> None:
    """Set up a worker before numba is imported; only the main process reports progress.

    Python's cycle collector is off, because it would scan the compiler's many small objects again and again.
    """
    import gc
    import os

    begin_worker()
    gc.disable()
    os.environ["TQDM_DISABLE"] = "1"
    if generic:
        os.environ |= {files.ONLY: str(files.SHIPPED), "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
        import_module("npexplore.jit.dispatch").forget_folders()


def _warm(job: str) -> set[Path]:
    """Run a function of USES, or compile the kernels of a module that declare their types; return the entries used."""
    if job in USES:
        USES[job]()
    else:
        for kernel in vars(import_module(f"npexplore._kernels.{job}")).values():
            if isinstance(kernel, Kernel) and kernel.declared is not None and not kernel.is_part:
                kernel.dispatcher.compile(None)
    return set(files.used)


def _use_packets() -> None:
    """Write, read, count and analyse captures as the trace commands do (except anonymising, which few users need)."""
    from tempfile import TemporaryDirectory

    import numpy as np

    from npexplore.packets import read_capture
    from npexplore.packets.statistics import CaptureCounts, count_capture, destination_locality, train_lengths
    from npexplore.packets.statistics.flow_set import FlowSet
    from npexplore.packets.synthetic import Traffic, fixed_length, periodic_arrivals
    from npexplore.paths import share

    rng = np.random.default_rng(1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        plain, blocks = folder / "a.pcap", folder / "a.pcapng"
        for path, form in ((plain, "pcap-ns"), (blocks, "pcapng")):
            Traffic.made(periodic_arrivals(4000, 1e6), fixed_length(64), rng).write(
                path, form=form
            )  # flows enough to grow the table
        for path in (plain, blocks, share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")):
            counted, _ = count_capture(path)
            CaptureCounts().merge(counted)
        capture = read_capture(blocks)
        table, _, _ = capture.columns, capture.packets, capture.flows()
        records = folder / "a.erf"
        records.write_bytes(bytes(8) + bytes([22, 4, 0, 36, 0, 0, 0, 20]) + bytes(20))
        count_capture(records)
    train_lengths(table, 1.0)
    destination_locality(table)
    destination_locality(table, prefixes=(np.zeros(1, np.uint32), np.zeros(1, np.uint8)))
    FlowSet(most_rows=1024).add(table)  # more flows than the set counts exactly


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
    validate.validate_ipv4_many(packets)
    option_faults(packets)
    ttl.decrement_ttls(packets)
    martians.martian_many(columns.source, columns.destination, martians.martian_list())
    delivery.destination_kinds(columns.destination, delivery.Links((0x0A0000FE,), (24,)))
    _use_golden6()
    _use_several_next_hops()
    capture = share("data", "captures", "zeek_wikipedia.pcap")
    with TemporaryDirectory() as out:
        raw, size = Path(out) / "raw.pcap", np.array([20])
        write_packets(raw, np.zeros(1, np.int64), np.zeros((1, 20), np.uint8), size, size, link_type=101)
        forward_captures(load_router("office"), {"office": capture, "campus": raw}, out=out, any_station=True)


def _use_several_next_hops() -> None:
    """Send two packets to a Linux router whose route has two next hops: one is forwarded, one is answered."""
    from npexplore.golden import BatchForwarder, Frames, resolve_router
    from npexplore.golden.ipv4 import header
    from npexplore.golden.router.records import NextHopRecord, PortRecord, RouteRecord, RouterFile

    ports = [
        PortRecord(name=f"p{k}", address=f"10.0.{k}.1/24", mac=f"02:00:00:00:00:0{k}", peer_mac=f"02:00:00:00:01:0{k}")
        for k in range(2)
    ]
    several = [NextHopRecord(via=f"10.0.{k}.2") for k in range(2)]
    route = RouteRecord(prefix="11.0.0.0/8", next_hops=several)
    router = resolve_router(RouterFile(port=ports, route=[route], profile="linux"))
    head = router.ports[0].mac + router.ports[0].peer_mac + b"\x08\x00"
    packets = [header.write_packet(0x0A000002, 0x0B000001, ttl=ttl) for ttl in (1, 64)]
    BatchForwarder(router).forward(Frames.of([(0, head + packet, 0) for packet in packets]))


def _use_golden6() -> None:
    """Use the functions for IPv6, labels and flow counters, as `_use_golden` does for IPv4."""
    import numpy as np

    from npexplore.golden import BatchForwarder, Frames, load_router
    from npexplore.golden.columns import Packets
    from npexplore.golden.flow_counters import FlowCounters
    from npexplore.golden.ipv6 import extensions, header, hop_limit, scope, validate
    from npexplore.golden.linux import messages6
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
    messages6.about_errors(six)
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
    from npexplore.golden.diffserv.experiments import DiffServBench, many_flows
    from npexplore.golden.diffserv.mark import mark_dscps
    from npexplore.golden.police import LeakyBucket, police_many
    from npexplore.golden.token_rate import TokenRate

    mark_dscps(Packets.of([bytes(20)]), [0])
    police_many([LeakyBucket(TokenRate(1, 1), 100)], [0], [0], [64])
    many_flows(DiffServBench("1Gb/s", 64, 20, 64, receiver=Receiver(100, 4), duration_s=1e-5), 1.0, 2, 1000.0)


def _use_solvers() -> None:
    import numpy as np

    from npexplore.designs import design
    from npexplore.golden.touches import Touches
    from npexplore.machine.caches import Caches, Level
    from npexplore.machine.workload_sources import workload

    zero = np.zeros(1, np.int64)
    caches = Caches((Level("l1", 4096, 4),), cores=1)
    caches.levels_of(Touches(zero, zero, zero, np.zeros(1, np.bool_), zero))
    design("ixp2400").simulate(workload(packet_bytes=64))  # one design is enough: all designs use the same kernels


def _use_controller() -> None:
    """Simulate a machine that has a DRAM controller, and run accesses through one alone."""
    from npexplore.designs import design
    from npexplore.machine.resources.dram_device import dram_device
    from npexplore.machine.resources.dram_run import run_accesses
    from npexplore.machine.workload_sources import workload

    design("smartnic").simulate(workload(packet_bytes=64), packets=500)
    run_accesses(dram_device("ddr4_3200"), bank=[0], row=[0])


def _use_anonymising() -> None:
    """Write a capture with packets of both families, their addresses replaced."""
    from tempfile import TemporaryDirectory

    from npexplore.packets.writing import rewrite
    from npexplore.paths import share

    with TemporaryDirectory() as folder:
        rewrite(share("data", "captures", "zeek_wikipedia.pcap"), Path(folder) / "a.pcap", key=bytes(32))


USES: dict[str, Callable[[], None]] = {
    "controller": _use_controller, "packets": _use_packets, "solvers": _use_solvers,
    "golden": _use_golden, "diffserv": _use_diffserv, "anonymising": _use_anonymising,
}  # fmt: skip
