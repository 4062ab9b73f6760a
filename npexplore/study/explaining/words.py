"""Writes an explanation in at most ten lines: answer, bottleneck, advice, latency by resource, useful changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from npexplore.machine.parameters import HOW_TO_ADD
from npexplore.solve.breakdown import Breakdown
from npexplore.solve.prediction import NEARLY_FULL, Prediction
from npexplore.study.explaining.findings import Findings
from npexplore.study.explaining.joint import JointChange, Setting, ties
from npexplore.study.explaining.sensitivity import Sensitivity
from npexplore.study.explaining.whatif import WhatIf

if TYPE_CHECKING:
    from npexplore.designs.running import ProgramChange
    from npexplore.machine.parameters import Value
    from npexplore.study.explaining.whatif import Change

HELPFUL = 0.02  # smaller relative gains are not mentioned
MOST_PARTS, SMALL_PART = 5, 0.01  # parts of a latency that are listed, and the smallest listed share of it
OF_ANOTHER_RUN = 0.05  # share of the mean latency: a breakdown that differs by more states its own latency
NOT_ESTIMATED = "packets or seeds of one simulation were chosen, which is then the answer"


def in_words(e: Findings) -> str:
    """Return the lines, at most ten: the answer, the bottleneck, the advice, then the rest."""
    lines = (
        _answer(e), _binding(e), _advice(e), _time(e), _tail(e), _headroom(e),
        *(() if e.no_parameters else (_help(e.sensitivity), _changes(e.what_if))),
        _program_changes(e.program_changes), _agreement(e), _basis(e),
    )  # fmt: skip
    return "\n".join(text for line in lines if (text := " ".join(line)))


def brief_in_words(e: Findings) -> str:
    """Return the lines for every reader: answer, bottleneck, advice, latency, ceiling, changes, agreement, basis."""
    changes = () if e.no_parameters else (_changes(e.what_if),)
    lines = (_answer(e), _binding(e), _advice(e), _time(e), _headroom(e), *changes,
             _program_changes(e.program_changes), _agreement(e), _basis(e))  # fmt: skip
    return "\n".join(text for line in lines if (text := " ".join(line)))


def answer_in_words(e: Findings) -> str:
    """Return the first two lines of `in_words`: answer and bottleneck, known before any parameter is varied."""
    return "\n".join(text for line in (_answer(e), _binding(e)) if (text := " ".join(line)))


def rate(bps: float, half: float = 0.0) -> str:
    """Return a rate (bit/s) in Mb/s or kb/s, with the half width of its interval if 0 < half < bps."""
    unit, scale = ("Mb/s", 1e6) if bps >= 1e6 else ("kb/s", 1e3)
    value = bps / scale
    about = f" ± {short(half / scale, 2)}" if 0 < half < bps else ""
    return f"{short(value, 4)}{about} {unit}"


def short(x: float, digits: int) -> str:
    """Return a number with at least `digits` significant digits and separators between thousands."""
    return f"{x:,.0f}" if x >= 10 ** (digits - 1) else f"{x:.{digits}g}"


def share(x: float) -> str:
    """Return a share in per cent."""
    return f"{100 * x:.2g} %" if x < 0.1 else f"{100 * x:.0f} %"


def _program_changes(changes: Sequence[ProgramChange]) -> tuple[str, ...]:
    """Return one sentence that lists changes of the program, best first; an empty tuple if there are none."""
    ranked = sorted(changes, key=lambda change: -change.gain)
    texts = "; ".join(f"{change.change} {100 * change.gain:+.3g} %" for change in ranked)
    return (f"Of other programs: {texts}.",) if texts else ()


def _answer(e: Findings) -> Iterator[str]:
    best = e.best
    knobs = ", ".join(f"{name}={value}" for name, value in e.knobs.items())
    low, high = best.ci95.get("throughput_bps", (0.0, 0.0))
    pps = f"{best.rate_pps / 1e6:.4g} Mpps" if best.rate_pps >= 1e4 else f"{short(best.rate_pps, 4)} packets/s"
    by = {
        "bounds": "at most, by the bounds",
        "queueing": "by the queueing model",
        "simulation": "simulated",
        "estimate": "estimated",
    }
    yield (
        f"{e.design}{f' ({knobs})' if knobs else ''} forwards {e.workload.name} "
        f"at {rate(best.throughput_bps, (high - low) / 2)} "
        f"({best.counted}), {pps}, {by[best.solver]}."
    )
    if (line := e.line) is not None:
        yield f"That is {share(line.share)} of the {line.pps / 1e6:.4g} Mpps of line rate ({line.wire})."


def _advice(e: Findings) -> Iterator[str]:
    """Yield the change to make first; without tried changes, the resource to relieve."""
    gains = () if e.what_if is None else e.what_if.gains
    joint = None if e.what_if is None else e.what_if.joint
    name, room = e.best.bottleneck, e.headroom
    if name == "arrivals":
        slower = [p.bottleneck for p in e.predictions.values() if p.bottleneck != "arrivals"]
        yield "Leave the machine as it is: it keeps up with what comes" + (
            f" ({slower[0]} is next)." if slower else "."
        )
    elif joint is not None:
        yield f"Set {' and '.join(map(_setting, joint.settings))} together: {_effect(joint)}."
        yield f"No single change gains as much: {_listed(joint.resources)} are equally busy."
    elif gains:
        yield f"Set {_setting(gains[0])}: {_effect(gains[0])}."
    elif e.no_parameters:
        yield f"This machine has no parameters to change; to have some, {HOW_TO_ADD}."
    elif e.what_if is not None and e.what_if == WhatIf():
        yield f"None of the machine's parameters was tried: none of those that it reads can be advised; {name} binds."
    elif e.what_if is not None:
        yield f"Leave single parameters as they are: none that was tried gains more than the noise; {name} binds."
    elif name.startswith("threads"):
        waited_for = [wait for wait, _ in _waits(e.best)]
        first = f", or less waiting for {waited_for[0]}" if waited_for else ""
        yield f"More threads{first}: threads bind, and no resource is full."
    else:
        others = [] if room is None else [(bps, other) for other, bps in room.ceilings.items() if other != name]
        next_ceiling = min(others, default=None)
        beyond = "" if next_ceiling is None else f"; without it {next_ceiling[1]} would allow {rate(next_ceiling[0])}"
        yield f"Relieve {name}, which binds{beyond}."


def _setting(c: Change | Setting) -> str:
    return f"{' '.join(f'{c.knob} to {value_text(c.value)} {c.unit}'.split())} ({value_text(c.present)} now)"


def _effect(c: Change | JointChange) -> str:
    return f"{gain_text(c)} throughput, {_next(c)}"


def _next(c: Change | JointChange) -> str:
    return f"then {c.bottleneck} {'bind' if c.bottleneck == 'threads' else 'binds'}"


def time_text(broken: Breakdown) -> str:
    """Return a latency and its parts, the longest first: `821 ns: 500 crypto, 180 waiting for core, ...`."""
    parts_s: list[tuple[float, str]] = []
    for resource, service, waiting, held in broken.parts:
        name = resource or "elsewhere"
        if waiting + held > 0:
            blocked = f" ({share(held / (waiting + held))} of it while {name} is blocked)" if held > waiting / 4 else ""
            parts_s.append((waiting + held, f"waiting for {name}{blocked}"))
        parts_s.append((service, name))
    parts_s.sort(key=lambda part: -part[0])
    listed = [(s, text) for s, text in parts_s[:MOST_PARTS] if s >= SMALL_PART * broken.latency_s]
    rest_s = broken.latency_s - sum(s for s, _ in listed)
    parts = [f"{short(s * 1e9, 3)} {text}" for s, text in listed]
    if rest_s > SMALL_PART * broken.latency_s:
        parts.append(f"{short(rest_s * 1e9, 3)} the rest")
    return f"{short(broken.latency_s * 1e9, 3)} ns: {', '.join(parts)}"


def _time(e: Findings) -> Iterator[str]:
    if e.best.breakdown is not None:
        condition = "" if e.best.solver != "bounds" else ", meeting nobody"
        growth = e.best.about.get("latency_grew")
        filling = f" It grew by {share(float(growth))} while it was measured: take more --packets." if growth else ""
        broken_s, mean_s = e.best.breakdown.latency_s, e.best.latency_s.mean
        if broken_s <= 0:
            yield f"A packet takes no time of its own: only work that goes on beside it does.{filling}"
            return
        takes = "takes "
        if mean_s and abs(broken_s - mean_s) > OF_ANOTHER_RUN * mean_s:
            takes += f"{short(mean_s * 1e9, 3)} ns; in the simulation whose times follow, "
        yield f"A packet {takes}{time_text(e.best.breakdown)}{condition}.{filling}"


def _tail(e: Findings) -> Iterator[str]:
    p99 = None if e.best.breakdown is None else e.best.breakdown.quantiles.get("p99")
    if p99 is not None:
        yield f"Around the 99th percentile: {time_text(p99)}."


def _waits(best: Prediction) -> list[tuple[str, float]]:
    """Return (resource, waiting time in s) of threads, longest first, without those below SMALL_PART of the latency."""
    if best.breakdown is None:
        return []
    least_s = SMALL_PART * best.breakdown.latency_s
    return [(name, s) for name, s in best.breakdown.waiting if not name.startswith("threads") and s >= least_s]


def _waited_for(best: Prediction) -> str:
    """Return a sentence with the three resources that threads wait for longest."""
    waits = [f"{name or 'nothing in particular'} ({short(s * 1e9, 3)} ns)" for name, s in _waits(best)]
    return f"They wait for {', '.join(waits[:3])}." if waits else "They wait for nobody: their own work takes so long."


def _binding(e: Findings) -> Iterator[str]:
    best, name = e.best, e.best.bottleneck
    if name == "arrivals":
        yield "What binds is the offered load: the machine waits for packets."
    elif name == "threads" and name not in best.utilization:
        hide = "a single one hides" if e.threads == 1 else f"{e.threads} of them hide"
        yield f"What binds is the number of threads: {hide} no more latency, and no resource is full."
        yield _waited_for(best)
    elif name not in best.utilization:
        yield f"What binds is the number of threads of pool {name.removeprefix('threads.')}."
        yield _waited_for(best)
    else:
        busy, blocked = best.utilization[name]
        blocked_text = f" ({share(blocked)} blocked: its packet waits for another resource)" if blocked >= 0.05 else ""
        others = ties(best, e.predictions.get("bounds"))[1:]
        also_busy = ""
        if others:
            all_ = "both" if len(others) == 1 else "all"
            also_busy = f"; {_listed(others)} {'is' if len(others) == 1 else 'are'} as busy: {all_} must grow"
        busy_text = f", busy {share(busy)} of the time"
        if busy < NEARLY_FULL:
            busy_text = f": one of its members is nearly always busy, all of them {share(busy)} of the time"
        yield f"What binds is {name}{busy_text}{blocked_text}{also_busy}."
        equally_blocked: dict[tuple[str, str], list[str]] = {}
        for other, (taken, waiting) in best.utilization.items():
            if taken > busy and waiting >= 0.05:
                equally_blocked.setdefault((share(taken), share(waiting)), []).append(other)
        for (taken_text, waiting_text), names in equally_blocked.items():
            they = f"{names[0]} is" if len(names) == 1 else f"{_listed(names)} are"
            yield f"{they} occupied {taken_text} of the time, {waiting_text} by packets that wait for another resource."
    lost, finished = sum(best.drops.values()), best.about.get("packets", 0)
    if lost and isinstance(finished, int):
        yield f"Of {lost + finished:,} packets {lost:,} are dropped ({share(lost / (lost + finished))})."


def _listed(names: Sequence[str]) -> str:
    """Return at most two names joined by "and"; of more, their number with the first and the last name."""
    return " and ".join(names) if len(names) <= 2 else f"{len(names)} from {names[0]} to {names[-1]}"


def _headroom(e: Findings) -> Iterator[str]:
    bound, headroom = e.predictions.get("bounds"), e.headroom
    if bound is None or headroom is None:
        return
    ceilings = [(bps, name) for name, bps in headroom.ceilings.items()]
    (first_bps, name), others = ceilings[0], ceilings[1:3]
    if bound.bottleneck == "arrivals":
        times = first_bps / bound.throughput_bps
        yield f"The machine's own ceiling is {rate(first_bps)} ({name}), {short(times, 3)} times this load."
        return
    if headroom.reached > 1.0 + HELPFUL and any(e.best.drops.values()):
        yield (
            f"The ceiling for packets as they come is {rate(first_bps)} ({name}); those that need more of it "
            f"are lost more often, so {share(headroom.reached)} of it is reached."
        )
    else:
        yield f"The ceiling is {rate(first_bps)} ({name}), of which {share(headroom.reached)} is reached."
    if others:
        next_ceilings = " and ".join(f"{resource} at {rate(bps)}" for bps, resource in others)
        yield f"Next come {next_ceilings}."


def _help(changes: Sensitivity | None) -> Iterator[str]:
    if changes is None:
        return
    useful = [e for e in changes.found if e.gain >= HELPFUL and abs(e.elasticity) >= HELPFUL][:3]
    if not useful:
        yield "No single parameter raises the throughput by more than the noise."
        return
    elasticities = [f"{e.knob} ({e.elasticity:+.2f} %)" for e in useful]
    yield f"What matters most, in throughput for one per cent more of each (elasticity): {', '.join(elasticities)}."


SHOWN_HALF = 0.01  # per cent: smaller half widths are not shown beside a gain of three digits


def gain_text(change: Change | JointChange) -> str:
    """Return a change's gain in per cent, with the half width of its interval if this is at least SHOWN_HALF."""
    half = 0.0 if change.low is None or change.high is None else 50 * (change.high - change.low)
    return f"{100 * change.gain:+.3g}{f' ± {short(half, 2)}' if half >= SHOWN_HALF else ''} %"


def value_text(value: Value) -> str:
    """Return a parameter's value as text, numbers in at most six digits."""
    return value if isinstance(value, str) else f"{value:g}"


def _changes(tried: WhatIf | None) -> Iterator[str]:
    if tried is None:
        return
    gains = [
        f"{c.knob} {value_text(c.present)} to {value_text(c.value)} ({gain_text(c)}, {_next(c)})" for c in tried.advised
    ]
    if gains:
        yield f"The best single changes: {', '.join(gains)}."
    else:
        yield "No single change that was tried gains more than the noise."
    if others := [f"{c.knob} {value_text(c.present)} to {value_text(c.value)} ({gain_text(c)})" for c in tried.assumed]:
        yield f"Of what parts assume, other values would change it: {', '.join(others[:3])}."


def _agreement(e: Findings) -> Iterator[str]:
    for name, p in e.predictions.items():
        if p.solver != e.best.solver and name not in ("bounds", "chain", "rtl"):
            source = "One simulation" if name == "simulated" else "The queueing model"
            yield f"{source} says {rate(p.throughput_bps)} ({_difference(p, e.best)})."
    if "modes" in e.best.about:
        yield f"Runs of this machine fall into modes: {e.best.about['modes']}."
    for name, reason in e.refused.items():
        if reason == NOT_ESTIMATED:
            continue
        yield f"No answer by {name}: {reason.removeprefix(f'{name}: ')}."


def _difference(p: Prediction, best: Prediction) -> str:
    if best.throughput_bps == 0.0:
        return "no packet was finished while the simulation measured"
    return f"{100 * (p.throughput_bps / best.throughput_bps - 1):+.1f} %"


def _basis(e: Findings) -> Iterator[str]:
    simulated, lengths = e.predictions.get("simulated"), e.workload.packet_bytes
    played = 0 if simulated is None else int(simulated.about.get("packets", 0))
    if e.workload.ordered and e.workload.arrivals == "saturated" and 0 < played < len(lengths):
        yield (
            f"The simulation played the first {played:,} of {len(lengths):,} packets (mean length "
            f"{short(float(lengths[:played].mean()), 4)} bytes, of all {short(e.workload.mean_packet_bytes, 4)})."
        )
    kinds = [assumption.kind for assumption in e.assumptions]
    assumed = sum(kind != "fitted" for kind in kinds)
    from_shelf = sum(assumption.shelf for assumption in e.assumptions)
    shelf = f" ({from_shelf} from shelf parts)" if from_shelf else ""
    if kinds:
        counts = [f"{_counted(assumed, 'assumption')}{shelf}", _counted(kinds.count("fitted"), "fitted parameter")]
        yield f"These numbers rest on {' and '.join(text for text in counts if text)}."


def _counted(n: int, what: str) -> str:
    """Return a count with its noun, plural if more than one; an empty text for 0."""
    return f"{n} {what}{'s' if n > 1 else ''}" if n else ""
