"""Reads place/transition nets from PNML (ISO/IEC 15909-2), as the standard, pm4py, PIPE and TAPAAL write it.

Every element is read, listed in IRRELEVANT, named in a note of the net (annotations of other tools), or raises
InputError with its line. Timing comes from the `toolspecific` annotations of this tool and of those in pnml_timing.py;
a net without them takes no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast, get_args

from npexplore.errors import InputError, UnknownNameError, one_of
from npexplore.machine.petri.pnml_timing import Timed, label, timing_of
from npexplore.machine.petri.unfolded import Arc, Net, Place, Timing, Transition
from npexplore.machine.petri.values import whole
from npexplore.strict_input import Entry, ignore, read_xml

GRAMMAR = "http://www.pnml.org/version-2009/grammar/"
KINDS = (GRAMMAR + "ptnet", GRAMMAR + "pnmlcoremodel", "P/T net")
TOOL = {"tool": "npexplore", "version": "1"}
TAKES = {
    "normal": "take", "timed": "take", "inhibitor": "inhibit", "tapnInhibitor": "inhibit", "test": "test",
    "read": "test",
}  # fmt: skip
SHAPES = ("place", "transition", "arc", "page", "referencePlace", "referenceTransition")
ALWAYS = ("[0,inf)", "[0,inf):1")  # TAPAAL's interval that allows every age
_DRAWING = "drawing"
_AT = dict.fromkeys(("@positionX", "@positionY", "@nameOffsetX", "@nameOffsetY", "@displayName"), _DRAWING)

# element -> its parts that have no effect on results, and the reason
IRRELEVANT: dict[str, dict[str, str]] = {
    "*": {"graphics": _DRAWING},
    "net": {
        "finalmarkings": "where a run may end, says pm4py; no firing depends on it",
        "labels": "prose on the drawing (PIPE, TAPAAL)",
        "token": "names and colours of tokens (PIPE)",
        "stategroup": "conditions that PIPE reports on",
        "@active": "which net a window shows (TAPAAL)",
        "@id": "a label",
        "@name": "a label",
    },
    "pnml": {"query": "what TAPAAL is to check", "k-bound": "how far TAPAAL is to search", "queries": "see query"},
    "page": {"name": "a label"},
    "place": {"tagged": "which token PIPE follows", "@markingOffsetX": _DRAWING, "@markingOffsetY": _DRAWING, **_AT},
    "transition": {
        "orientation": _DRAWING,
        "@angle": _DRAWING,
        "player": "who decides in a game (TAPAAL); any firing is possible",
        "@player": "see player",
        "placeHolder": "nothing (TAPAAL)",
        **_AT,
    },
    "arc": {"tagged": "which token PIPE follows", "arcpath": _DRAWING, "name": "a label", **_AT},
    "toolspecific ProM": {"*": "which event of a log a transition stands for"},
    "toolspecific nupn": {"*": "units of places that the net's structure implies (NUPN)"},
}  # fmt: skip


def read_pnml(path: str | Path, left_out: Iterable[str] = ()) -> Net:
    """Return the place/transition net of a PNML file.

    left_out: names of elements that the user chooses to ignore. Raises InputError with file, line, element, rule and
    value.
    """
    path = Path(path)
    root = read_xml(path, _title)
    ignore(root, left_out)
    nets = root.every("net")
    if root.kind != "pnml" or len(nets) != 1:
        raise InputError(f"{path.name}: a PNML file has one net, got <{root.kind}> with {len(nets)}")
    kind = nets[0].value("@type", "")
    if kind not in KINDS:
        raise nets[0].refused(f"a net must be a place/transition net ({KINDS[0]}), got {kind!r}")
    net = _Reader(nets[0], path.stem).net()
    root.finish(IRRELEVANT)
    return net


def _title(tag: str, attributes: Mapping[str, str]) -> tuple[str, str, bool]:
    if tag == "toolspecific":
        tool = attributes.get("tool", "")
        return f"toolspecific {tool}", f"toolspecific of {tool!r}", False
    if tag == "property":
        return f"property {attributes.get('key', '')}", f"property {attributes.get('key', '')!r}", False
    name = attributes.get("id")
    return tag, tag if name is None or tag == "net" else f"{tag} {name!r}", tag in SHAPES and tag != "page"


class _Reader:
    """Reads one net: the elements of all its pages, with references resolved."""

    def __init__(self, top: Entry, name: str) -> None:
        self.top, self.name, self.notes = top, _first_name(top) or name, list[str]()
        annotation = self.annotation(top)
        timing = label_of(annotation, "timing")
        self.timing = cast(Timing, one_of(f"{top.place}: timing", timing or "race", get_args(Timing)))
        self.shapes: dict[str, dict[str, Entry]] = {shape: {} for shape in SHAPES}
        self.collect(top)

    def collect(self, element: Entry) -> None:
        for child in element.every(*SHAPES):
            name = child.value("@id", "")
            if not name and child.kind == "arc":
                name = f"{child.values.get('@source')} to {child.values.get('@target')} in line {child.line}"
            if not name or any(name in known for known in self.shapes.values()):
                raise child.refused(f"<{child.kind}> needs an id of its own, got {name!r}")
            self.shapes[child.kind][name] = child
            if child.kind == "page":
                self.annotation(child)
                self.collect(child)

    def annotation(self, element: Entry) -> Entry | None:
        """Return this tool's annotation of an element, and note those of other tools."""
        for child in element.of_kind("toolspecific"):
            tool = child.value("@tool", "")
            if child.key not in (*IRRELEVANT, "toolspecific npexplore", "toolspecific StochasticPetriNet"):
                self.notes.append(f"{element.title}: annotation of {tool!r} is not read")
                child.skip()
        annotation = element.optional("toolspecific npexplore")
        if annotation is not None and annotation.value("@version", TOOL["version"]) != TOOL["version"]:
            raise annotation.refused(f"version must be {TOOL['version']!r}, got {annotation.value('@version')!r}")
        return annotation

    def meant(self, name: str) -> str:
        """Return the id of the place or transition to which a chain of references leads."""
        passed: set[str] = set()
        while name not in passed:
            passed.add(name)
            reference = self.shapes["referencePlace"].get(name, self.shapes["referenceTransition"].get(name))
            if reference is None:
                return name
            name = reference.value("@ref", "")
        raise InputError(f"{self.top.file}: reference {name!r} leads around to itself")

    def net(self) -> Net:
        places, transitions = self.shapes["place"], self.shapes["transition"]
        if not places:
            raise InputError(f"{self.top.file}: a net needs at least one place, got none")
        for shape, known in (("referencePlace", places), ("referenceTransition", transitions)):
            for name, entry in self.shapes[shape].items():
                label(entry, "name")
                self.annotation(entry)
                if self.meant(name) not in known:
                    raise entry.refused(str(UnknownNameError("ref", entry.value("@ref", ""), known)))
        numbers = {key: k for k, key in enumerate(places)}
        arcs: dict[str, dict[str, dict[int, int]]] = {
            key: {"take": {}, "give": {}, "test": {}, "inhibit": {}} for key in transitions
        }
        for arc in self.shapes["arc"].values():
            self.arc(arc, numbers, arcs)
        names = _names(places), _names(transitions)
        read_transitions = [self.transition(names[1][key], entry, arcs[key]) for key, entry in transitions.items()]
        read = [self.place(names[0][key], entry) for key, entry in places.items()]
        return Net(self.name, self.timing, tuple(read), tuple(read_transitions), notes=tuple(dict.fromkeys(self.notes)))

    def arc(self, arc: Entry, numbers: Mapping[str, int], arcs: Mapping[str, dict[str, dict[int, int]]]) -> None:
        source, target = (self.meant(arc.value(f"@{end}", "")) for end in ("source", "target"))
        for end, name in (("source", source), ("target", target)):
            if name not in numbers and name not in arcs:
                raise arc.refused(str(UnknownNameError(end, name, [*numbers, *arcs])))
        weight = _count(arc, "inscription", _weight(arc), least=1)
        takes = TAKES[one_of(f"{arc.place}: type of arc", _arc_kind(arc), TAKES)]
        self.annotation(arc)
        if source in numbers and target in arcs:
            into, place = arcs[target][takes], numbers[source]
        elif source in arcs and target in numbers and takes == "take":
            into, place = arcs[source]["give"], numbers[target]
        else:
            raise arc.refused(f"must lead from a place to a transition or back, got {source!r} to {target!r}")
        # of several inhibitor or test arcs between the same nodes, the strictest condition decides
        if takes == "inhibit":
            into[place] = min(into.get(place, weight), weight)
        elif takes == "test":
            into[place] = max(into.get(place, weight), weight)
        else:
            into[place] = into.get(place, 0) + weight

    def transition(self, name: str, element: Entry, arcs: Mapping[str, Mapping[int, int]]) -> Transition:
        timed: Timed = timing_of(element, self.annotation(element), self.notes)
        servers = (1 if self.timing == "race" else None) if timed.servers == 0 else timed.servers
        ends = {kind: tuple(Arc(place, weight) for place, weight in of.items()) for kind, of in arcs.items()}
        return Transition(
            name, ends["take"], ends["give"], ends["test"], ends["inhibit"], delay=timed.delay,
            priority=timed.priority, weight=timed.weight, servers=servers,
        )  # fmt: skip

    def place(self, name: str, element: Entry) -> Place:
        annotation = self.annotation(element)
        text = label(element, "initialMarking") or element.value("@initialMarking", "0")
        tokens = _count(element, "initialMarking", _plain_tokens(element, text))
        invariant = element.value("@invariant", "< inf")
        if invariant.replace(" ", "") not in ("<inf", ""):
            raise element.refused(f"an invariant of ages is not supported, got {invariant!r} (supported: < inf)")
        capacity = label_of(annotation, "capacity")
        limit = _count(element, "capacity", capacity) if capacity else None
        resource = annotation is not None and annotation.optional("resource") is not None
        label_of(annotation, "resource")
        pipe = label(element, "capacity")
        if pipe and _count(element, "capacity", pipe) > 0:  # PIPE's 0 is no limit
            limit = _count(element, "capacity", pipe)
        if limit is not None and tokens > limit:
            raise element.refused(f"tokens must be at most the capacity ({limit}), got {tokens}")
        return Place(name, tokens, limit, resource=resource)


def _first_name(top: Entry) -> str:
    texts = [child.optional("text") or child.optional("value") for child in top.every("name")]
    return next((text.content() for text in texts if text is not None), "")


def label_of(own: Entry | None, tag: str) -> str:
    """Return the text of an entry of this tool's annotation, "" if it is missing."""
    child = own.optional(tag) if own else None
    return "" if child is None else child.content()


def _count(element: Entry, what: str, text: str, least: int = 0) -> int:
    number = element.number(text, what)
    try:
        return whole(what, number, least)
    except InputError as error:
        raise element.refused(str(error)) from None


def _plain_tokens(element: Entry, text: str) -> str:
    """Return the tokens in a text such as `Default,3` (PIPE); raises InputError for several kinds of tokens."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) < 2:
        return text
    counts = dict(zip(parts[::2], parts[1::2], strict=False))
    kinds = [kind for kind, count in counts.items() if element.number(count, kind) != 0]
    if len(parts) % 2 or set(kinds) - {"Default"}:
        raise element.refused(f"tokens of several kinds are not supported, got {text!r} (supported: Default)")
    return counts.get("Default", "0")


def _weight(arc: Entry) -> str:
    """Return an arc's weight as text: its inscription, or TAPAAL's attributes."""
    inscription = arc.value("@inscription", "")
    weight = arc.value("@weight", "")
    if inscription in ALWAYS:
        inscription = ""
    elif "[" in inscription:
        raise arc.refused(f"an interval of ages is not supported, got {inscription!r} (supported: [0,inf))")
    return _plain_tokens(arc, label(arc, "inscription") or weight or inscription or "1")


def _arc_kind(arc: Entry) -> str:
    """Return an arc's type: from `type` with a value or text, pm4py's `arctype`, or an attribute."""
    kinds = [label(arc, "arctype"), arc.value("@type", "")]
    entry = arc.optional("type")
    if entry is not None:
        part = entry.optional("text")
        kinds += [entry.value("@value", ""), part.content() if part else entry.content()]
    arc_kinds = {kind for kind in kinds if kind}
    if len(arc_kinds) > 1:
        raise arc.refused(f"one type of arc is needed, got {', '.join(sorted(arc_kinds))}")
    return arc_kinds.pop() if arc_kinds else "normal"


def _names(elements: Mapping[str, Entry]) -> dict[str, str]:
    """Return the names of elements by id; their ids, if two names are equal."""
    names = {key: label(element, "name") or element.value("@name", key) for key, element in elements.items()}
    every = list(names.values())
    return names if len(set(every)) == len(every) else {key: key for key in names}
