"""Who held which server when: a stretch of a simulation as a table of intervals, for time lines of banks and buses.

The event engine can log every take (+units) and give (-units) of a resource. A give closes the hold of the same token,
or, where a forked token gives back what its parent took (a bank's precharge), the oldest hold that is open.
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
    """Return the holds of every server that touch start_s .. start_s + length_s, in order of their start.

    Columns: server, member (which bank, engine), start_s, end_s, token (number of the holder in the engine; a thread
    or requester keeps its number). What is still held then ends there. Raises InputError if the run up to there has
    more takes and gives than `log_rows`.
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
    """Yield (server, member, first tick, last tick, token) of each hold; what is never given ends at tick `end`.

    Servers the engine alone uses (buffers, semaphores) are left out: there units are given before they are taken.
    """
    names = {
        number + member: (server.name, member)
        for server, number in model.servers.values()
        if server.role not in ("hidden", "pool")
        for member in range(server.members)
    }
    open_: dict[int, list[tuple[int, int]]] = {number: [] for number in names}
    for now, number, change, token in log.tolist():
        if number not in names:
            continue
        mine = open_[number]
        if change > 0:
            mine.append((now, token))
        else:
            at = next((k for k, (_, holder) in enumerate(mine) if holder == token), 0)
            first, holder = mine.pop(at)
            yield (*names[number], first, now, holder)
    for number, left in open_.items():
        for first, holder in left:
            yield (*names[number], first, end, holder)
