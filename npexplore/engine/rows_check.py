"""Checks the constants of rows once when a model is built; the event engine does not check them (docs/engine.md: Rows).

Constants are registers, slots, kinds, targets and members of an ALL or GRAB. Only SHARE may serve SHARED resources, all
SHARE rows of one resource must name the same speeds, and no speed may be 0 with the largest possible number of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from npexplore._kernels import engine
from npexplore.engine.arrays import EngineModel
from npexplore.errors import ModelError

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Shared = dict[int, str]  # names of SHARED resources by number

KINDS = {  # number of kinds x of an operation
    **dict.fromkeys((engine.WAIT, engine.SERVE, engine.SHARE), engine.POISSON),
    engine.DRAW: engine.POISSON + 1,  # DRAW also has numbers that are no durations
    engine.SET: engine.TO_NEXT + 1,
    engine.JUMP: engine.GT + 1,
    engine.FORK: engine.NEW_PACKET + 1,
    engine.PICK: engine.NEXT_FLAGGED + 1,
    engine.ASK: 2,
}
JUMPING = (engine.JUMP, engine.TRY, engine.FORK)
HOLDING = (engine.TAKE, engine.TRY, engine.FORK, engine.GIVE)
WRITING = (engine.SET, engine.DRAW, engine.PICK, engine.GRAB, engine.ASK)  # operations whose slot is a register
UNSHARED = (engine.TAKE, engine.TRY, engine.SERVE, engine.PUT)


def check_rows(model: EngineModel) -> EngineModel:
    """Return the model; raises ModelError naming row, operation, rule and value of the first row that is wrong."""
    shared = _shared(model)
    members = set(_members(model, shared))
    for number in np.flatnonzero(_doubtful(model, bool(shared))).tolist():
        if number not in members:
            row = model.rows[number].tolist()
            rule = _wrong_constant(model, row) or _wrong_share(model, row, shared)
            if rule:
                raise ModelError(f"{_place(model, number)}: {rule}")
    _check_speeds(model, shared)
    return model


def _doubtful(model: EngineModel, sharing: bool) -> Flags:
    """Return flags (n,) of rows to check one by one: a wrong constant, or possibly a visit of a SHARED resource."""
    rows = model.rows
    op, slot = rows[:, engine.OP], rows[:, engine.SLOT]
    known = (op >= 0) & (op < len(engine.OPERATIONS))
    kinds = np.array([KINDS.get(operation, 0) for operation in range(len(engine.OPERATIONS))])[np.where(known, op, 0)]
    registers = rows[:, [engine.RA, engine.RB, engine.RC]]
    doubtful: Flags = (
        ~known
        | ((kinds > 0) & _outside(rows[:, engine.X], kinds))
        | (np.isin(op, JUMPING) & _outside(rows[:, engine.TARGET], len(rows)))
        | (np.isin(op, WRITING) & (slot >= engine.REGISTERS))
        | (np.isin(op, HOLDING) & ((slot < -1) | (slot >= engine.SLOTS) | ((op == engine.GIVE) & (slot < 0))))
        | _outside(registers, engine.REGISTERS).any(axis=1)
        | (op == engine.SHARE)
        | (sharing & np.isin(op, UNSHARED))
    )
    return doubtful


def _outside(values: Integers, below: Integers | int) -> Flags:
    return (values < 0) | (values >= below)


def _place(model: EngineModel, number: int) -> str:
    op = int(model.rows[number, engine.OP])
    name = engine.OPERATIONS[op] if 0 <= op < len(engine.OPERATIONS) else f"operation {op}"
    visit = model.visits[number] if number < len(model.visits) and model.visits[number] else "program"
    return f"{visit} (row {number}, {name})"


def _members(model: EngineModel, shared: Shared) -> Iterator[int]:
    """Yield the number of each member row of an ALL or GRAB, after checking it."""
    for at in np.flatnonzero(np.isin(model.rows[:, engine.OP], (engine.ALL, engine.GRAB))).tolist():
        count = int(model.rows[at, engine.X])
        max_members = len(model.rows) - at - 1
        if not 1 <= count <= max_members:
            raise ModelError(f"{_place(model, at)}: the members must be 1..{max_members} rows, got {count}")
        for number in range(at + 1, at + 1 + count):
            row = model.rows[number].tolist()
            rule = _wrong_register(row) or _wrong_slot(row[engine.SLOT], -1) or _unshared(row, shared)
            if rule:
                raise ModelError(f"{_place(model, number)}: {rule}")
            yield number


def _wrong_register(row: list[int]) -> str | None:
    for column in (engine.RA, engine.RB, engine.RC):
        if not 0 <= row[column] < engine.REGISTERS:
            return f"registers must be 0..{engine.REGISTERS - 1}, got {row[column]}"
    return None


def _wrong_slot(slot: int, least: int) -> str | None:
    if not least <= slot < engine.SLOTS:
        return f"the slot must be {least}..{engine.SLOTS - 1}, got {slot}"
    return None


def _wrong_constant(model: EngineModel, row: list[int]) -> str | None:
    """Return the rule that a constant of the row violates, None if there is none."""
    op, kind = row[engine.OP], row[engine.X]
    if not 0 <= op < len(engine.OPERATIONS):
        return f"operations must be 0..{len(engine.OPERATIONS) - 1}, got {op}"
    if op in KINDS and not 0 <= kind < KINDS[op]:
        return f"the kind must be 0..{KINDS[op] - 1}, got {kind}"
    if op in JUMPING and not 0 <= row[engine.TARGET] < len(model.rows):
        return f"the target must be a row 0..{len(model.rows) - 1}, got {row[engine.TARGET]}"
    if op in WRITING and row[engine.SLOT] >= engine.REGISTERS:
        return f"the destination must be a register below {engine.REGISTERS}, got {row[engine.SLOT]}"
    if op in HOLDING and (rule := _wrong_slot(row[engine.SLOT], 0 if op == engine.GIVE else -1)):
        return rule
    return _wrong_register(row)


def _wrong_share(model: EngineModel, row: list[int], shared: Shared) -> str | None:
    """Return the rule on SHARED resources that a row violates, None if there is none."""
    if row[engine.OP] in UNSHARED:
        return _unshared(row, shared)
    if row[engine.OP] != engine.SHARE:
        return None
    z = row[engine.Z]
    if abs(z) > len(model.tables):
        return f"speeds must be one of {len(model.tables)} tables, got table {abs(z) - 1}"
    if z and (model.tables[abs(z) - 1].ndim != 2 or not model.tables[abs(z) - 1].size):
        return f"table {abs(z) - 1} of speeds must have rows and a column, got {model.tables[abs(z) - 1].shape}"
    name = shared.get(row[engine.A]) if not row[engine.RA] else ""
    return f"resource {row[engine.A]} must be shared by its discipline" if name is None else None


def _unshared(row: list[int], shared: Shared) -> str | None:
    name = None if row[engine.RA] else shared.get(row[engine.A])
    return f"{name!r} is shared and served by SHARE alone" if name else None


def _shared(model: EngineModel) -> Shared:
    """Return the names of the SHARED resources by number."""
    return {
        number + member: server.name
        for server, number in model.servers.values()
        if server.discipline == "shared"
        for member in range(server.members)
    }


def _check_speeds(model: EngineModel, names: Shared) -> None:
    """Raise ModelError if SHAREs of one resource name different speeds, or a speed is 0 for a number of tokens."""
    max_tokens = len(model.tokens) + model.spare_tokens
    speeds = dict[int, int]()
    for number in np.flatnonzero(model.rows[:, engine.OP] == engine.SHARE).tolist():
        resource, register, z = (int(model.rows[number, column]) for column in (engine.A, engine.RA, engine.Z))
        if not register and speeds.setdefault(resource, z) != z:
            raise ModelError(
                f"{_place(model, number)}: all that share {names[resource]!r} must name the same speeds, "
                f"got {z} after {speeds[resource]}"
            )
        units = next((s.units for s, first in model.servers.values() if first <= resource < first + s.members), 1)
        levels = model.tables[abs(z) - 1][:, 0] if z else np.arange(1, units + 1) << engine.SPEED
        tokens = np.arange(1, len(levels) + 1)
        tokens[-1] = max(max_tokens, len(levels))  # the last speed holds for all larger numbers
        speed_per_token = levels // (1 if z < 0 else tokens)
        if (speed_per_token < 1).any():
            index = int(np.argmax(speed_per_token < 1))
            raise ModelError(
                f"{_place(model, number)}: the speed with {tokens[index]} tokens must be at least 2^-{engine.SPEED} of "
                f"a tick's work each, got {int(levels[index])} / 2^{engine.SPEED} for all"
            )
