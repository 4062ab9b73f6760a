"""`npexplore designs`: list the machines that can be explored."""

import click

from npexplore.cli.output import emit, json_option, table


@click.command("designs")
@json_option
def command(as_json: bool) -> None:
    """List the machines that can be explored; `explain NAME --knobs` lists what can be set on one."""
    from npexplore.designs.listed import LISTED
    from npexplore.machine.machine_files import load_machine

    rows = []
    for name, one in LISTED.items():
        file = load_machine(name)
        knobs = sum(parameter.kind == "knob" for parameter in file.parameter.values())
        rows.append({
            "name": name, "title": file.title, "knobs": knobs, "parameters": len(file.parameter), "paper": file.paper,
            "needs_workload": one.needs_workload,
        })  # fmt: skip
    columns = {"name": "name", "knobs": "knobs", "parameters": "parameters", "paper": "paper", "title": "title"}
    emit({"designs": rows}, lambda: table(rows, columns), as_json=as_json)
