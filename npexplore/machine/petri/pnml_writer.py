"""Writes place/transition nets as PNML (ISO/IEC 15909-2); inhibitor and test arcs have a `type`.

A `toolspecific` annotation of this tool holds what PNML cannot express: timing, delay, rate, priority, weight, servers,
capacity.
"""

from __future__ import annotations

from xml.etree import ElementTree

from npexplore.errors import RefusedError
from npexplore.machine.petri.pnml import GRAMMAR, KINDS, TOOL
from npexplore.machine.petri.unfolded import Arc, Formula, Net, Transition
from npexplore.rows.distributions import Deterministic, Distribution, Exponential

Element = ElementTree.Element


def write_pnml(net: Net) -> str:
    """Return a net as PNML; raises RefusedError for formulas and data, which place/transition nets do not have."""
    if net.types:
        raise RefusedError(f"PNML: tokens of net {net.name!r} carry data, which no place/transition net has")
    root = ElementTree.Element("pnml", xmlns=GRAMMAR.removesuffix("grammar/") + "grammar/pnml")
    top = ElementTree.SubElement(root, "net", id="net", type=KINDS[0])
    _text(top, "name", net.name)
    _own(top, timing=net.timing)
    page = ElementTree.SubElement(top, "page", id="page")
    for p, place in enumerate(net.places):
        element = ElementTree.SubElement(page, "place", id=f"p{p}")
        _text(element, "name", place.name)
        if place.tokens:
            _text(element, "initialMarking", place.tokens)
        _own(element, capacity=place.capacity, resource=place.resource or None)
    arcs: list[tuple[str, str, Arc, str]] = []
    for t, transition in enumerate(net.transitions):
        values = (*transition.formulas, transition.weight, transition.rate, transition.delay)
        if transition.by_data or any(isinstance(formula, Formula) for formula in values):
            raise RefusedError(f"PNML: transition {transition.name!r} has a formula, which no place/transition net has")
        element = ElementTree.SubElement(page, "transition", id=f"t{t}")
        _text(element, "name", transition.name)
        rate = transition.rate if isinstance(transition.delay, Exponential) else None
        servers = "all" if transition.servers is None else transition.servers
        _own(
            element,
            rate=rate,
            delay=_said(transition) if transition.delay is not None and rate is None else None,
            priority=transition.priority or None,
            weight=None if transition.weight == 1 else transition.weight,
            servers=servers if transition.timed and net.timing == "race" and transition.servers != 1 else None,
        )
        for arcs_of, kind in (
            (transition.take, "normal"),
            (transition.test, "test"),
            (transition.inhibit, "inhibitor"),
        ):
            arcs += [(f"p{arc.place}", f"t{t}", arc, kind) for arc in arcs_of]
        arcs += [(f"t{t}", f"p{arc.place}", arc, "normal") for arc in transition.give]
    for k, (source, target, arc, kind) in enumerate(arcs):
        element = ElementTree.SubElement(page, "arc", id=f"a{k}", source=source, target=target)
        if arc.weight != 1:
            _text(element, "inscription", arc.weight)
        if kind != "normal":
            ElementTree.SubElement(element, "type", value=kind)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _said(one: Transition) -> str:
    """Return a delay in the syntax of net files."""
    delay = one.delay
    assert isinstance(delay, Distribution)
    if isinstance(delay, Deterministic):
        return repr(delay.mean)
    values = [getattr(delay, field) for field in delay.__struct_fields__]
    return f"{type(delay).__name__.lower()}({', '.join(map(repr, values))})"


def _own(element: Element, **said: object) -> None:
    values = {key: value for key, value in said.items() if value is not None}
    if values:
        tool = ElementTree.SubElement(element, "toolspecific", TOOL)
        for key, value in values.items():
            ElementTree.SubElement(tool, key).text = value if isinstance(value, str) else repr(value)


def _text(element: Element, tag: str, value: object) -> None:
    ElementTree.SubElement(ElementTree.SubElement(element, tag), "text").text = str(value)
