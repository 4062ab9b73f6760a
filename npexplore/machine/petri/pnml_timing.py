"""Reads the timing of transitions in PNML files, as written by this tool, pm4py (StochasticPetriNet) and PIPE.

pm4py: `property` distributionType and distributionParameters, rates of exponential times, `;` between numbers. PIPE:
`timed`, `rate` (for immediate transitions the weight), `priority`, `infiniteServer`.
"""

from typing import NamedTuple

from npexplore.errors import InputError, one_of, positive
from npexplore.machine.petri.delays import read_delay
from npexplore.machine.petri.values import number, whole
from npexplore.rows.distributions import Deterministic, Distribution, Exponential, Uniform
from npexplore.strict_input import Entry

KINDS = ("IMMEDIATE", "EXPONENTIAL", "DETERMINISTIC", "UNIFORM", "UNDEFINED")


class Timed(NamedTuple):
    """The timing of a transition. servers: concurrent clocks (None: any number; 0: the net's default)."""

    delay: Distribution | None = None
    weight: float = 1.0
    priority: int = 0
    servers: int | None = 0


def label(element: Entry, tag: str) -> str:
    """Return the text of a label such as `name`: in `text` (the standard) or `value` (PIPE), "" if it is missing."""
    child = element.optional(tag)
    if child is None:
        return ""
    child.every(*(entry.key for entry in child.of_kind("toolspecific")))
    for entry in child.of_kind("toolspecific"):
        entry.skip()
    part = child.optional("text") or child.optional("value")
    return "" if part is None else part.content()


def timing_of(element: Entry, own: Entry | None, notes: list[str]) -> Timed:
    """Return the timing of a transition; own: this tool's annotation. Adds to `notes` what was not read."""
    stochastic = element.optional("toolspecific StochasticPetriNet")
    _attributes(element, notes)
    pipe = _pipe(element)
    if own is not None:
        try:
            return _own(own)
        except InputError as error:
            raise element.refused(str(error).removeprefix(f"{element.place}: ")) from None
    if stochastic is not None:
        return _pm4py(element, stochastic, notes)
    return pipe


def _own(own: Entry) -> Timed:
    texts = {name: child.content() for name in ("rate", "delay", "servers", "priority", "weight")
             if (child := own.optional(name)) is not None}  # fmt: skip
    delay: Distribution | None = None
    if "rate" in texts and "delay" in texts:
        raise InputError("has a delay or a rate, got both")
    if "rate" in texts:
        delay = Exponential(1.0 / positive("rate", number(texts["rate"], {})))
    elif "delay" in texts:
        delay = read_delay(texts["delay"], {})
    servers: int | None = 0
    if "servers" in texts:
        servers = None if texts["servers"] == "all" else whole("servers", number(texts["servers"], {}), least=1)
    return Timed(
        delay, positive("weight", number(texts.get("weight", "1"), {})),
        whole("priority", number(texts.get("priority", "0"), {})), servers,
    )  # fmt: skip


def _attributes(element: Entry, notes: list[str]) -> None:
    """Add TAPAAL's timing attributes, which are not read, to the notes."""
    kind = element.value("@distribution", "")
    element.value("@value", "")
    if kind:
        notes.append(f"{element.title}: its distribution {kind!r} is not read: it fires in no time")
    if element.value("@urgent", "false") == "true":
        notes.append(f"{element.title}: 'urgent' is not read")
    for name in ("@priority", "@infiniteServer", "@timed"):
        element.value(name, "")


def _pipe(element: Entry) -> Timed:
    timed = label(element, "timed") or "false"
    rate, priority = label(element, "rate"), label(element, "priority")
    servers = None if element.truth(label(element, "infiniteServer") or "false", "infiniteServer") else 0
    rate_value = element.number(rate, "rate") if rate else 1.0
    if not 0 < rate_value < float("inf"):
        raise element.refused(f"rate must be greater than 0 and finite, got {rate!r}")
    priority_value = element.whole(priority, "priority") if priority else 0
    if element.truth(timed, "timed"):
        return Timed(Exponential(1.0 / rate_value), servers=servers)
    return Timed(None, rate_value, priority_value)


def _pm4py(element: Entry, entry: Entry, notes: list[str]) -> Timed:
    entry.value("@version", "")
    texts = {}
    for name in ("distributionType", "distributionParameters", "priority", "weight", "invisible"):
        child = entry.optional(f"property {name}")
        if child is not None:
            child.value("@key")
            texts[name] = child.content()
    kind = texts.get("distributionType", "UNDEFINED") or "UNDEFINED"
    numbers = [
        entry.number(text, "distributionParameters")
        for text in texts.get("distributionParameters", "").split(";")
        if text and text != "UNDEFINED"
    ]
    weight = entry.number(texts.get("weight", "1") or "1", "weight")
    priority = entry.whole(texts.get("priority", "0") or "0", "priority")
    if kind not in KINDS:
        notes.append(f"{element.title}: its distribution {kind!r} is not read: it fires in no time")
        return Timed()
    count = {"EXPONENTIAL": 1, "DETERMINISTIC": 1, "UNIFORM": 2}.get(kind, len(numbers))
    if len(numbers) != count:
        raise entry.refused(f"{kind} needs {count} distributionParameters, got {len(numbers)}")
    try:
        match one_of("distributionType", kind, KINDS):
            case "EXPONENTIAL":
                return Timed(Exponential(1.0 / positive("the rate", numbers[0])))
            case "DETERMINISTIC":
                fixed = positive("the delay", numbers[0], zero=True)
                return Timed(Deterministic(fixed) if fixed else None)
            case "UNIFORM":
                uniform = Uniform(numbers[0], numbers[0] + numbers[1])
                uniform.check("UNIFORM")
                return Timed(uniform)
            case _:
                return Timed(None, positive("weight", weight), priority)
    except InputError as error:
        raise entry.refused(str(error)) from None
