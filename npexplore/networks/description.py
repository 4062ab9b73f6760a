"""The reader of a user's own queueing network: a file of models/networks, your own, or JMT's; its JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from npexplore.errors import InputError, UnknownNameError
from npexplore.networks.amounts import plain, spelled
from npexplore.networks.checks import check_network
from npexplore.networks.records import Network
from npexplore.paths import share
from npexplore.toml import convert, parsed


def load_network(path: str | Path) -> Network:
    """Return a network by name (models/networks) or path; raises InputError with file, place, rule and value.

    A path that ends in .jsimg, .jsim or .jmva is a model of JMT.
    """
    file = Path(path)
    if file.suffix in (".jsimg", ".jsim", ".jmva"):
        from npexplore.networks.jmt import read_jmva, read_jsimg

        return read_jmva(file) if file.suffix == ".jmva" else read_jsimg(file)
    if file.suffix != ".toml" and not file.is_file():
        folder = share("models", "networks")
        file = folder / f"{path}.toml"
        if not file.exists():
            raise UnknownNameError("network", str(path), [p.stem for p in folder.glob("*.toml")])
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    network: Network = convert(plain(parsed(text, file), file.name), Network, file)
    try:
        check_network(network)
    except InputError as error:
        raise InputError(f"{file.name}: {error}") from None
    return network


def network_schema() -> dict[str, Any]:
    """Return the JSON Schema of a network file."""
    return spelled(msgspec.json.schema(Network))
