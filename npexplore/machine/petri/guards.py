"""What formulas of a transition may name and compare: indexes of its arcs, fields of its tokens, like with like.

Colours are types: an index is compared with one of its own colour alone, and with numbers that it can be (Jensen,
Coloured Petri Nets, 1992, 2.2).
"""

import ast
from collections.abc import Collection

from npexplore import syntax
from npexplore.errors import InputError
from npexplore.machine.petri.places import Colours, Types
from npexplore.machine.petri.values import names_in


def check_guard(text: str, bound: Collection[str], carried: Collection[str], colours: Colours, types: Types) -> None:
    """Refuse a formula that names an index no arc has, or that compares colours that are not alike.

    bound: indexes of the transition's arcs. carried: fields of the tokens that it takes or sets.
    """
    for one in names_in(text):
        if one in colours.size and one not in bound:
            raise InputError(f"{text!r} names the index {one!r}, which no arc of the transition has")
        if one in types.fields and one not in carried:
            raise InputError(f"{text!r} names {one!r}, which nothing that the transition takes carries")
    try:
        tree = syntax.expression(text)
    except (SyntaxError, ValueError):
        return  # told where its value is asked for
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
        for colour, most in spans:
            if most is not None and not 0 <= side.value <= most:
                what = f"index of colour {colour!r}" if colour in coloured else colour
                raise InputError(f"{what} is in 0..{most}, got {ast.unparse(node)!r}")
