"""Checks the names and comparisons in formulas of a transition: indexes of its arcs, fields of its tokens.

Colours are types: an index may be compared with an index of the same colour, and with numbers that it can have (Jensen,
Coloured Petri Nets, 1992, 2.2).
"""

import ast
from collections.abc import Collection

from npexplore import syntax
from npexplore.errors import InputError
from npexplore.machine.petri.places import Colours, Types
from npexplore.machine.petri.values import names_in


def check_guard(text: str, bound: Collection[str], carried: Collection[str], colours: Colours, types: Types) -> None:
    """Raise InputError for a formula that names an index of no arc, or that compares different colours.

    bound: indexes of the transition's arcs. carried: fields of the tokens that it takes or sets.
    """
    for name in names_in(text):
        if name in colours.size and name not in bound:
            raise InputError(f"{text!r} names the index {name!r}, which no arc of the transition has")
        if name in types.fields and name not in carried:
            raise InputError(f"{text!r} names {name!r}, which nothing that the transition takes carries")
    try:
        tree = syntax.expression(text)
    except (SyntaxError, ValueError):
        return  # evaluation reports the fault
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            _check_comparison(node, colours, types)


def _check_comparison(node: ast.Compare, colours: Colours, types: Types) -> None:
    spans = {
        (types.fields[name].colour or f"field {name}", types.fields[name].high)
        if name in types.fields
        else (colours.colour[name], colours.size[name] - 1)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Name) and (name := side.id) in (*colours.size, *types.fields)
    }
    coloured = {colour for colour, _ in spans if colour in colours.size}
    if len(coloured) > 1:
        raise InputError(f"a guard must compare indexes of one colour, got {ast.unparse(node)!r}")
    equal = isinstance(node.ops[0], ast.Eq | ast.NotEq)
    for side in (node.left, *node.comparators):
        if not (equal and isinstance(side, ast.Constant) and isinstance(side.value, int)):
            continue
        for colour, high in spans:
            if high is not None and not 0 <= side.value <= high:
                subject = f"index of colour {colour!r}" if colour in coloured else colour
                raise InputError(f"{subject} is in 0..{high}, got {ast.unparse(node)!r}")
