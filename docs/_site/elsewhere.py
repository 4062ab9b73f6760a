"""Links from signatures to the pages of NumPy, pandas and SciPy, by small stored inventories, without a network."""

import zlib
from pathlib import Path

SITES = {
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
}
STORED = Path(__file__).parent / "inventories"


def mapping(folder: Path) -> dict[str, tuple[str, str]]:
    """Write the inventories in Sphinx's form into a folder; return what `intersphinx_mapping` needs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SITES:
        lines = (STORED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        entries = [line.split() for line in lines if line and not line.startswith("#")]
        (folder / f"{name}.inv").write_bytes(inventory(name, entries))
    return {name: (address, str(folder / f"{name}.inv")) for name, address in SITES.items()}


def inventory(project: str, entries: list[list[str]]) -> bytes:
    """Return Sphinx's inventory, version 2. entries: a class's name, its short name in our modules, its page."""
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    body = "".join(
        f"{alias} py:class 1 {page}#{name} -\n" for name, *aliases, page in entries for alias in (name, *aliases)
    )
    return head.encode() + zlib.compress(body.encode())
