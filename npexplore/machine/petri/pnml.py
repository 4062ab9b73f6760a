"""Place/transition nets as PNML, in and out (ISO/IEC 15909-2); inhibitor and test arcs by the arc's `type`.

What PNML has no words for stands in `toolspecific` of this tool: timing, delay, rate, priority, weight, servers,
capacity. Other tools' annotations are left alone; a net without ours takes no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast, get_args
from xml.etree import ElementTree

from npexplore.errors import InputError, RefusedError, one_of, positive, told_at
from npexplore.machine.petri.delays import read_delay
from npexplore.machine.petri.unfolded import Arc, Formula, Net, Place, Timing, Transition
from npexplore.machine.petri.values import number, whole
from npexplore.rows.distributions import Deterministic, Distribution, Exponential

Element = ElementTree.Element
GRAMMAR = "http://www.pnml.org/version-2009/grammar/"
KINDS = (GRAMMAR + "ptnet", GRAMMAR + "pnmlcoremodel")
TOOL = {"tool": "npexplore", "version": "1"}
TAKES = {"normal": "arcs", "inhibitor": "inhibit", "test": "test", "read": "test"}
SHAPES = ("place", "transition", "arc", "page", "referencePlace", "referenceTransition")


def read_pnml(path: str | Path) -> Net:
    """Return a place/transition net of a PNML file; raises InputError with file, element, rule and value."""
    path = Path(path)
    try:
        text = path.read_bytes()
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            raise InputError(f"{path.name}: a PNML file has no document type of its own, got one")
        root = ElementTree.fromstring(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ElementTree.ParseError as error:
        raise InputError(f"{path.name}: not valid XML: {error}") from None
    with told_at(path.name):
        nets = _all(root, "net")
        if _tag(root) != "pnml" or len(nets) != 1:
            raise InputError(f"a PNML file has one net, got <{_tag(root)}> with {len(nets)}")
        kind = nets[0].get("type", "")
        if kind not in KINDS:
            raise InputError(f"a net must be a place/transition net ({KINDS[0]}), got {kind!r}")
        return _Reader(nets[0], path.stem).net()


def write_pnml(net: Net) -> str:
    """Return a net as PNML; raises RefusedError for what a place/transition net cannot say (formulas, data)."""
    if net.types:
        raise RefusedError(f"PNML: tokens of net {net.name!r} carry data, which no place/transition net has")
    root = ElementTree.Element("pnml", xmlns=GRAMMAR.removesuffix("grammar/") + "grammar/pnml")
    top = ElementTree.SubElement(root, "net", id="net", type=KINDS[0])
    _text(top, "name", net.name)
    _own(top, timing=net.timing)
    page = ElementTree.SubElement(top, "page", id="page")
    for p, place in enumerate(net.places):
        made = ElementTree.SubElement(page, "place", id=f"p{p}")
        _text(made, "name", place.name)
        if place.tokens:
            _text(made, "initialMarking", place.tokens)
        _own(made, capacity=place.capacity, resource=place.resource or None)
    arcs: list[tuple[str, str, Arc, str]] = []
    for t, one in enumerate(net.transitions):
        said = (*one.formulas, one.weight, one.rate, one.delay)
        if one.by_data or any(isinstance(formula, Formula) for formula in said):
            raise RefusedError(f"PNML: transition {one.name!r} has a formula, which no place/transition net has")
        made = ElementTree.SubElement(page, "transition", id=f"t{t}")
        _text(made, "name", one.name)
        rate = one.rate if isinstance(one.delay, Exponential) else None
        servers = "all" if one.servers is None else one.servers
        _own(
            made,
            rate=rate,
            delay=_said(one) if one.delay is not None and rate is None else None,
            priority=one.priority or None,
            weight=None if one.weight == 1 else one.weight,
            servers=servers if one.timed and net.timing == "race" and one.servers != 1 else None,
        )
        for arcs_of, kind in ((one.take, "normal"), (one.test, "test"), (one.inhibit, "inhibitor")):
            arcs += [(f"p{arc.place}", f"t{t}", arc, kind) for arc in arcs_of]
        arcs += [(f"t{t}", f"p{arc.place}", arc, "normal") for arc in one.give]
    for k, (source, target, arc, kind) in enumerate(arcs):
        made = ElementTree.SubElement(page, "arc", id=f"a{k}", source=source, target=target)
        if arc.weight != 1:
            _text(made, "inscription", arc.weight)
        if kind != "normal":
            ElementTree.SubElement(made, "type", value=kind)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


class _Reader:
    """Reads one net: elements of all its pages, references followed."""

    def __init__(self, top: Element, name: str) -> None:
        self.top, self.name = top, _label(top, "name") or name
        own = _annotation(top)
        self.timing = cast(Timing, one_of("timing", own.get("timing", "race"), get_args(Timing)))
        self.shapes: dict[str, dict[str, Element]] = {shape: {} for shape in SHAPES}
        self.collect(top)

    def collect(self, element: Element) -> None:
        for child in element:
            shape = _tag(child)
            if shape in self.shapes:
                name = child.get("id", "")
                if not name or any(name in known for known in self.shapes.values()):
                    raise InputError(f"<{shape}> needs an id of its own, got {name!r}")
                self.shapes[shape][name] = child
                if shape == "page":
                    self.collect(child)

    def meant(self, name: str) -> str:
        """Return the place or transition that an id means, references followed."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            found = self.shapes["referencePlace"].get(name, self.shapes["referenceTransition"].get(name))
            if found is None:
                return name
            name = found.get("ref", "")
        raise InputError(f"reference {name!r} leads around to itself")

    def net(self) -> Net:
        places, transitions = self.shapes["place"], self.shapes["transition"]
        if not places:
            raise InputError("a net needs at least one place, got none")
        numbers = {key: k for k, key in enumerate(places)}
        arcs: dict[str, dict[str, dict[int, int]]] = {
            key: {"take": {}, "give": {}, "test": {}, "inhibit": {}} for key in transitions
        }
        for key, arc in self.shapes["arc"].items():
            with told_at(f"arc {key}"):
                self.arc(arc, numbers, arcs)
        names = _names(places), _names(transitions)
        made = []
        for key, element in transitions.items():
            with told_at(f"transition {names[1][key]}"):
                made.append(self.transition(names[1][key], element, arcs[key]))
        found = []
        for key, element in places.items():
            with told_at(f"place {names[0][key]}"):
                found.append(_place(names[0][key], element))
        return Net(self.name, self.timing, tuple(found), tuple(made))

    def arc(self, arc: Element, numbers: Mapping[str, int], arcs: Mapping[str, dict[str, dict[int, int]]]) -> None:
        source, target = (self.meant(arc.get(end, "")) for end in ("source", "target"))
        weight = whole("its inscription", number(_label(arc, "inscription") or "1", {}), least=1)
        kind = _child(arc, "type")
        said = "normal" if kind is None else kind.get("value") or (kind.findtext("{*}text") or "").strip()
        takes = TAKES[one_of("type of arc", said, TAKES)]
        if source in numbers and target in arcs:
            into = arcs[target]["take" if takes == "arcs" else takes]
            into[numbers[source]] = into.get(numbers[source], 0) + weight
        elif source in arcs and target in numbers and takes == "arcs":
            into = arcs[source]["give"]
            into[numbers[target]] = into.get(numbers[target], 0) + weight
        else:
            raise InputError(f"must lead from a place to a transition or back, got {source!r} to {target!r}")

    def transition(self, name: str, element: Element, arcs: Mapping[str, Mapping[int, int]]) -> Transition:
        own = _annotation(element)
        delay: Distribution | None = None
        if "rate" in own and "delay" in own:
            raise InputError("has a delay or a rate, got both")
        if "rate" in own:
            delay = Exponential(1.0 / positive("rate", number(own["rate"], {})))
        elif "delay" in own:
            delay = read_delay(own["delay"], {})
        rate = 1.0 / delay.mean if isinstance(delay, Exponential) else None
        servers: int | None = 1 if self.timing == "race" else None
        if "servers" in own:
            servers = None if own["servers"] == "all" else whole("servers", number(own["servers"], {}), least=1)
        kept = {key: tuple(Arc(place, many) for place, many in one.items()) for key, one in arcs.items()}
        return Transition(
            name, kept["take"], kept["give"], kept["test"], kept["inhibit"], delay=delay, rate=rate,
            priority=whole("priority", number(own.get("priority", "0"), {})),
            weight=positive("weight", number(own.get("weight", "1"), {})), servers=servers,
        )  # fmt: skip


def _place(name: str, element: Element) -> Place:
    own = _annotation(element)
    tokens = whole("its initial marking", number(_label(element, "initialMarking") or "0", {}))
    capacity = whole("capacity", number(own["capacity"], {})) if "capacity" in own else None
    if capacity is not None and tokens > capacity:
        raise InputError(f"tokens must be at most the capacity ({capacity}), got {tokens}")
    return Place(name, tokens, capacity, resource="resource" in own)


def _names(elements: Mapping[str, Element]) -> dict[str, str]:
    """Return what each is called: its name where no other has it, else its id."""
    said = {key: _label(element, "name") or key for key, element in elements.items()}
    every = list(said.values())
    return said if len(set(every)) == len(every) else {key: key for key in said}


def _annotation(element: Element) -> dict[str, str]:
    """Return what this tool wrote on an element."""
    return {
        _tag(entry): (entry.text or "").strip()
        for child in element
        if _tag(child) == "toolspecific" and child.get("tool") == TOOL["tool"]
        for entry in child
    }


def _said(one: Transition) -> str:
    """Return a delay as the language says it."""
    delay = one.delay
    assert isinstance(delay, Distribution)
    if isinstance(delay, Deterministic):
        return repr(delay.mean)
    values = [getattr(delay, field) for field in delay.__struct_fields__]
    return f"{type(delay).__name__.lower()}({', '.join(map(repr, values))})"


def _own(element: Element, **said: object) -> None:
    told = {key: value for key, value in said.items() if value is not None}
    if told:
        tool = ElementTree.SubElement(element, "toolspecific", TOOL)
        for key, value in told.items():
            ElementTree.SubElement(tool, key).text = value if isinstance(value, str) else repr(value)


def _text(element: Element, tag: str, value: object) -> None:
    ElementTree.SubElement(ElementTree.SubElement(element, tag), "text").text = str(value)


def _label(element: Element, tag: str) -> str:
    found = _child(element, tag)
    return "" if found is None else (found.findtext("{*}text") or found.findtext("{*}value") or "").strip()


def _child(element: Element, tag: str) -> Element | None:
    return next(iter(_all(element, tag)), None)


def _all(element: Element, tag: str) -> list[Element]:
    return [child for child in element if _tag(child) == tag]


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]
