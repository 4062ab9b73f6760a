"""Resources, tables and visits made of the EXAMPLE of each kind: a kind that is listed is in the common tests.

Files of tests may have something sharper for a kind (worked by hand, or with what a program needs around a visit).
"""

import json

from npexplore.machine.described.defaults import choices
from npexplore.machine.described.formula import Formulas
from npexplore.machine.described.parts import Parts
from npexplore.machine.described.resources import ResourceTables
from npexplore.machine.resources import KINDS
from npexplore.machine.resources.base import LENGTH

NS = 1e-9


def table_of(kind):
    """Return the table of a kind with all its servers, as a machine file has it."""
    return {"type": kind, **KINDS[kind].EXAMPLE.parameters, **KINDS[kind].EXAMPLE.more}


def toml_of(value):
    """Return a value of a table as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_of(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def varied(kind, r, name):
    """Return a resource of a kind whose times, counts and rates differ from its example's: whole nanoseconds."""

    def vary(key, value):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if key.endswith("_s"):
            return r.randint(0, round(2 * value / NS)) * NS
        return value * r.choice([0.5, 1, 2]) if isinstance(value, float) else r.randint(1, 2 * value)

    table = {key: vary(key, value) for key, value in table_of(kind).items()}
    return ResourceTables({name: table}, Formulas({}), Parts()).one(name)


def operands_of(resource, values=None):
    """Return numbers for the operands of an example. values: gives one below a limit (None: 1, or 0 of 1)."""
    given = values or (lambda limit: min(1, limit - 1))

    def number(key, value):
        if isinstance(value, str):
            return 64 if value == LENGTH else given(choices(resource, key))
        return given(value + 1) if isinstance(value, int) else value

    return {key: number(key, value) for key, value in type(resource).EXAMPLE.operands.items()}


def visits_of(resource, values=None):
    """Return the visits that take the operands of the example, each with numbers for them."""
    operands = operands_of(resource, values)
    return {visit: operands for visit, names in resource.VISITS.items() if {*operands} <= {*names}}
