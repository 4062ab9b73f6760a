"""The listed designs: each has a machine file; designs whose program is Python also name their module.

This module reads machine files only and imports no resource kind, kernel or array library.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from npexplore.machine.machine_files import load_machine
from npexplore.machine.parameters import Parameters
from npexplore.paths import share


class Listed(NamedTuple):
    """A listed design. module: has a function of the design's name that returns the design (None: the file suffices).

    needs_workload: whether users must choose a workload; otherwise the design has its own.
    """

    module: str | None
    needs_workload: bool = True


LISTED: dict[str, Listed] = {
    "ixp2400": Listed("npexplore.designs.ixp2400.design"),
    "ixp2400_dram": Listed("npexplore.designs.ixp2400.dram", needs_workload=False),
    "ixp1200": Listed("npexplore.designs.ixp1200.design", needs_workload=False),
    "raw": Listed("npexplore.designs.raw.design"),
    "soclib": Listed("npexplore.designs.soclib.design", needs_workload=False),
    "gorilla": Listed("npexplore.designs.gorilla.design", needs_workload=False),
    "smartnic": Listed(None),
    "server": Listed("npexplore.designs.server.design"),
    "pcie": Listed("npexplore.designs.pcie.design"),
    "nfp4000": Listed("npexplore.designs.nfp4000.design"),
}
LISTED |= {
    path.stem: Listed(None) for path in sorted(share("models", "machines").glob("*.toml")) if path.stem not in LISTED
}


def parameters_of(name_or_path: str | Path) -> Parameters | None:
    """Return the parameters of a listed design, or of a TOML file that extends one; None for any other design.

    Raises InputError for a file that is not a machine file.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml":
        from npexplore.machine.petri.tables import extended, is_net_file

        if extended(path) not in LISTED or is_net_file(path):
            return None
        file = load_machine(path)
        return None if file.pool else Parameters(file)
    return Parameters(load_machine(str(name_or_path))) if str(name_or_path) in LISTED else None
