"""`npexplore warm` (hidden): compile every kernel into its cache, so that the first question is answered at once."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from time import monotonic

import click

from npexplore.cli.output import note, progress


@click.command("warm")
def command() -> None:
    """Compile the kernels into their cache; takes up to half a minute the first time, a few seconds afterwards."""
    import npexplore._kernels as kernels

    began = monotonic()
    note("warming the kernels: the first time compiles them, which takes up to 30 s")
    # Importing compiles what has an explicit signature; using each storey once compiles the rest.
    jobs: list[Callable[[], object]] = [
        partial(import_module, f"{kernels.__name__}.{module.name}") for module in iter_modules(kernels.__path__)
    ]
    for job in progress([*jobs, _use_packets, _use_solvers], unit="step", label="warm"):
        job()
    note(f"kernels are warm ({monotonic() - began:.1f} s)")


def _use_packets() -> None:
    from npexplore.packets import read_capture
    from npexplore.paths import share

    read_capture(share("data", "captures", "zeek_mixed-vlan-mpls.pcap")).length_cdf()


def _use_solvers() -> None:
    from npexplore.designs import design, design_names
    from npexplore.machine.workload import workload

    machine, load = design(design_names()[0]), workload(packet_bytes=64)  # one design does: no kernel is made for one
    machine.queueing(load)
    machine.simulate(load)
