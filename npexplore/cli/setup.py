"""`npexplore setup`: make a fresh installation ready and list what is missing; for machines without `make`.

Compiles the kernels into their cache, as `make` does, and looks for the package's optional libraries (its extras) and
for the programs that some commands and tests call. Nothing is installed.
"""

import platform
import re
import shutil
from importlib.metadata import PackageNotFoundError, distribution, requires
from typing import Any

import click

from npexplore.cli.output import emit, json_option, note, table

EXTRAS = {
    "lab": "notebooks in JupyterLab, and their sliders",
    "report": "npexplore report: notebooks as pages",
    "test": "npexplore.testing: random packets that test your router",
    "png": "figures as PNG from Python",
    "cluster": "trace stats, run --each and sweep with --cluster: workers of Dask",
    "xarray": "results as labelled arrays: to_xarray()",
}
PROGRAMS = {
    "make": "the targets of the Makefile, in a checkout",
    "tshark": "tests that compare captures with Wireshark's",
    "capinfos": "tests that compare captures with Wireshark's",
    "chromium": "tests that look at pages",
}


@click.command("setup")
@click.option("--no-warm", is_flag=True, help="Only look; do not compile the kernels.")
@json_option
@click.pass_context
def command(context: click.Context, no_warm: bool, as_json: bool) -> None:
    """Compile the kernels (about a minute, once), and list what is not installed and what would need it."""
    if not no_warm:
        from npexplore.cli.warm import command as warm

        context.invoke(warm)
    rows = [*_extras(), *_programs()]
    document = {
        "python": platform.python_version(),
        "system": platform.system(),
        "kernels": "not looked at" if no_warm else "compiled",
        "optional": rows,
    }
    emit(document, lambda: table(rows), as_json=as_json)
    if not as_json:
        missing = [row["what"] for row in rows if row["missing"]]
        note(f"not installed, and needed only for the above: {', '.join(missing)}" if missing else "nothing is missing")


def _extras() -> list[dict[str, Any]]:
    """Return a row for each extra of the package: how to install it, its purpose, and its missing libraries."""
    libraries: dict[str, list[str]] = {extra: [] for extra in EXTRAS}
    try:
        lines = requires("npexplore") or []
    except PackageNotFoundError:  # a checkout that is not installed has no list of extras
        return []
    for line in lines:
        extra = re.search(r"""extra == ["']([\w-]+)["']""", line)
        name = re.match(r"[\w.-]+", line)
        if extra and name:
            libraries.setdefault(extra[1], []).append(name[0])
    return [
        {
            "what": f"npexplore[{extra}]",
            "for": EXTRAS.get(extra, ""),
            "missing": ", ".join(name for name in names if not _installed(name)),
        }
        for extra, names in libraries.items()
    ]


def _programs() -> list[dict[str, Any]]:
    return [
        {"what": name, "for": purpose, "missing": "" if shutil.which(name) else name}
        for name, purpose in PROGRAMS.items()
    ]


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
