"""The table of all resource kinds for the documents: class, arguments, visits and servers of each.

python -m npexplore.machine.described.kinds     prints it
"""

import inspect

from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.parts import Parts
from npexplore.machine.described.resources import ResourceTables, operands
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import OwnFaces, Resource, Server


def shown(name: str) -> Resource:
    """Return the example of a kind with all its servers."""
    example = KINDS[name].EXAMPLE
    table = {"type": name, **example.parameters, **example.more}
    return ResourceTables({name: table}, Formulas({}), Parts()).one(name)


def table() -> str:
    """Return the table as Markdown."""
    heads = ["kind", "class", "what its file holds", "made from", "visits", "servers, members x units", "one face"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, kind in KINDS.items():
        face = f"no: {kind.WHY}" if issubclass(kind, OwnFaces) else "yes"
        needs = operands(kind, without={"name": None})
        from_ = ", ".join(key if must else f"[{key}]" for key, (_, must) in needs.items())
        resource = shown(name)
        servers = ", ".join(_server(server, name) for server in resource.servers()) or "none"
        first_line = (inspect.getdoc(inspect.getmodule(kind)) or "").partition("\n")[0]
        cells = [f"`{name}`", f"`{kind.__name__}`", first_line, from_, _visits(resource), servers, face]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _visits(resource: Resource) -> str:
    visits = []
    for visit, names in resource.VISITS.items():
        shown = ", ".join(f"[{name}]" if name in resource.OPTIONAL else name for name in names)
        visits.append(f"{visit}({shown})" + (" gives a number" if visit in resource.RESULTS else ""))
    return "; ".join(visits)


def _server(server: Server, name: str) -> str:
    word = server.name.removeprefix(f"{name}.")
    size = f" {server.members} x {server.units}" if (server.members, server.units) != (1, 1) else ""
    return f"{word}{size}" + (f" ({server.role})" if server.role != "queue" else "")


if __name__ == "__main__":
    print(table())
