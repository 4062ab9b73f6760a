"""`npexplore doctor`: check the installation and the stores of results, repair what is broken, and report the repairs.

A check is a function `check(places, repair) -> list[Finding]` (npexplore/findings.py), named in CHECKS as
"module:function" and imported when it runs. It must not raise an error for something broken, but return a finding.
places: files and folders on the command line, default the current folder; a check of the installation ignores them.
repair: False with --no-repair: the check changes nothing. Exit status: 0 nothing is broken (any more), 1 something is.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from npexplore.cli.output import emit, json_option, note, table
from npexplore.findings import BROKEN, Check, Finding

CHECKS = {
    "installation": "npexplore.installation:check",
    "kernels": "npexplore.kernel_entries:check",
    "stores": "npexplore.study.sweeping.recovery:check",
}


@click.command("doctor")
@click.argument("places", nargs=-1, metavar="[FILE|FOLDER]...", type=click.Path(path_type=Path))
@click.option("--no-repair", is_flag=True, help="Only look; change nothing.")
@json_option
def command(places: tuple[Path, ...], no_repair: bool, as_json: bool) -> int:
    """Check the installation and the stored results in FILE or FOLDER (default: here), and repair what is broken."""
    rows = [
        {"check": name, "subject": finding.subject, "state": finding.state, "note": finding.note}
        for name, where in CHECKS.items()
        for finding in _run(where, places or (Path(),), not no_repair)
    ]
    broken = sum(row["state"] == BROKEN for row in rows)
    emit({"findings": rows, "broken": broken}, lambda: table(rows), as_json=as_json)
    if not as_json:
        note(f"{broken} broken, see above" if broken else "nothing is broken")
    return 1 if broken else 0


def _run(where: str, places: tuple[Path, ...], repair: bool) -> list[Finding]:
    module, _, name = where.partition(":")
    check: Check = getattr(import_module(module), name)
    return check(places, repair)
