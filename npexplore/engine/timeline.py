"""Time lines of servers: a table of the intervals in which tokens held them, for diagrams of banks and buses.

The event engine can log every take (+units) and give (-units) of a resource. A give closes a hold of the same token. If
the token has none, because a forked token gives back what its parent took (a bank's precharge), the give closes the
oldest open hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npexplore.engine.model import EngineModel, build
from npexplore.engine.run import run
from npexplore.engine.state import Integers
from npexplore.errors import InputError, positive
from npexplore.machine.machine import Machine
from npexplore.machine.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("server", "member", "start_s", "end_s", "token")
Held = tuple[str, int, int, int, int]  # server, member, first and last tick, token


def timeline(
    machine: Machine, workload: Workload, *, start_s: float = 0.0, length_s: float, seed: int = 1,
    log_rows: int = 1_000_000,
) -> pd.DataFrame:  # fmt: skip
    """Return the holds of every server that overlap start_s .. start_s + length_s, in order of their start.

    Columns: server, member (index of the bank, engine, ...), start_s, end_s, token (number of the holder in the engine;
    a thread or requester keeps its number). A hold that is still open ends at the end of the interval. Raises
    InputError if the run until then has more takes and gives than `log_rows`.
    """
    import pandas as pd

    positive("length of a time line", length_s)
    model = build(machine, workload)
    begin = round(positive("start of a time line", start_s, zero=True) / model.tick)
    end = begin + round(length_s / model.tick)
    log = run(model, seed, 1, 1, until_s=end * model.tick, log_rows=log_rows).log
    if len(log) == log_rows:
        raise InputError(f"a time line until {end * model.tick:g} s needs more than {log_rows} log rows; shorten it")
    rows = [
        (server, member, first * model.tick, last * model.tick, token)
        for server, member, first, last, token in holds(model, log, end)
        if last > begin
    ]
    return pd.DataFrame(sorted(rows, key=lambda row: row[2:4]), columns=list(COLUMNS))


def holds(model: EngineModel, log: Integers, end: int) -> Iterator[Held]:
    """Yield (server, member, first tick, last tick, token) of each hold; a hold that is still open ends at tick `end`.

    Leaves out servers that only the engine uses (buffers, semaphores): their units are given before they are taken.
    """
    names = {
        number + member: (server.name, member)
        for server, number in model.servers.values()
        if server.role not in ("hidden", "pool")
        for member in range(server.members)
    }
    open_by_resource: dict[int, list[tuple[int, int]]] = {number: [] for number in names}
    for now, number, change, token in log.tolist():
        if number not in names:
            continue
        open_holds = open_by_resource[number]
        if change > 0:
            open_holds.append((now, token))
        else:
            place = next((k for k, (_, holder) in enumerate(open_holds) if holder == token), 0)
            first, holder = open_holds.pop(place)
            yield (*names[number], first, now, holder)
    for number, still_open in open_by_resource.items():
        for first, holder in still_open:
            yield (*names[number], first, end, holder)
