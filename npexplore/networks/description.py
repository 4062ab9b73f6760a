"""Reads a user's queueing network: a file of models/networks, an own file, or one of JMT; and its JSON Schema."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from npexplore.errors import told_at
from npexplore.networks.amounts import plain, spelled
from npexplore.networks.checks import check_network
from npexplore.networks.records import Network
from npexplore.paths import input_content, named_file
from npexplore.strict_input import ignore_keys
from npexplore.toml import convert, parsed


def load_network(path: str | Path, left_out: Collection[str] = ()) -> Network:
    """Return a network by name (models/networks) or path; raises InputError with file, place, rule and value.

    A path that ends in .jsimg, .jsim or .jmva is a model of JMT. left_out: names of parts of the file that the user
    wants to ignore.
    """
    file = Path(path)
    if file.suffix in (".jsimg", ".jsim", ".jmva"):
        from npexplore.networks.jmt import read_jsimg
        from npexplore.networks.jmva import read_jmva

        return read_jmva(file, left_out) if file.suffix == ".jmva" else read_jsimg(file, left_out)
    file = named_file("network", path, "models", "networks")
    tables = ignore_keys(parsed(input_content(file), file), left_out, file.name)
    network: Network = convert(plain(tables, file.name), Network, file)
    with told_at(file.name):
        check_network(network)
    return network


def network_schema() -> dict[str, Any]:
    """Return the JSON Schema of a network file."""
    return spelled(msgspec.json.schema(Network))
