"""`npexplore explain`: the performance of a machine on a workload, and its reasons (fields: docs/explain.md).

Exit status 3 if the workload's capture is damaged: the packets that could be read are still explained.
"""

from __future__ import annotations

import shlex
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from npexplore.cli.completions import complete_design
from npexplore.cli.designs import MIX_COLUMNS, list_mixes, show_knobs
from npexplore.cli.files import OutputFile, write_page
from npexplore.cli.options import (
    apply_settings,
    check_packets,
    ending,
    program_options,
    read_workload,
    running,
    set_option,
    split_settings,
    warn_of_idle_knobs,
    workload_options,
)
from npexplore.cli.output import emit, facts, json_option, library_option, note, say, table, warn, wrapped
from npexplore.errors import InputError, NpexploreError, shown
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.designs import Design
    from npexplore.machine.workload import Workload
    from npexplore.solve.formulas import Formulas
    from npexplore.solve.prediction import Prediction
    from npexplore.study.explaining.explain import Explanation

FEW_IDLE = 3  # most idle resources of a group that are named individually
SHORTEST_BYTES = 64  # packet length if no workload is given
MOST_LINES, WIDEST = 25, 100  # lines, and characters of a line, without --full


@click.command("explain")
@click.argument("design", required=False, shell_complete=complete_design)
@set_option(several=False)
@workload_options
@program_options
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="First seed of the simulation.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(min=1), help="Replications to simulate.")
@click.option("--packets", type=click.IntRange(min=1), help="Packets measured in each; default: enough for the mix.")
@click.option(
    "--chain",
    "phases",
    metavar="PHASES",
    type=click.IntRange(min=1),
    help="Also solve the Markov chain of a small machine; constant times become Erlang times of PHASES phases.",
)
@click.option("--rtl", is_flag=True, help="Also measure the rate of the machine's generated hardware (Verilator).")
@click.option("--full", is_flag=True, help="Print all tables: busy times, effects of parameters, assumptions.")
@click.option("--no-sensitivity", is_flag=True, help="Skip the effect of each parameter (the slow part).")
@click.option("--html", type=OutputFile(), help="Also write the explanation and its figure as a page.")
@library_option
@click.option("--formula", is_flag=True, help="Show ceilings and latency as formulas of knobs and packet length.")
@click.option("--knobs", is_flag=True, help="List what can be set on DESIGN: type, unit, range, default, source.")
@click.option("--mixes", is_flag=True, help="List the published mixes of packet lengths.")
@json_option
def command(
    design: str | None, settings: tuple[str, ...], trace: str | None, mix: str | None, packet_bytes: int | str | None,
    arrivals: str | None, rate: str | None, speed: float | None, seed: int, seeds: int, packets: int | None,
    phases: int | None, rtl: bool, no_sensitivity: bool, html: Path | None, shared_library: bool,
    full: bool, formula: bool, knobs: bool, mixes: bool, as_json: bool, program: str | None, section: str | None,
    maps: tuple[str, ...], costs: str | None, router: str | None,
) -> int:  # fmt: skip
    """Say how fast DESIGN forwards a workload, what holds it back, how much headroom there is, and what would help."""
    if mixes:
        rows = list_mixes()
        emit({"mixes": rows}, lambda: table(rows, MIX_COLUMNS), as_json=as_json)
        return 0
    from npexplore.designs.listed import LISTED, parameters_of

    if design is None:
        raise InputError(f"explain needs a DESIGN ({', '.join(LISTED)}) or --mixes")
    parameters = parameters_of(design) if knobs else None
    if parameters is not None:
        show_knobs(parameters.file.name, apply_settings(parameters, settings), as_json)
        return 0
    import npexplore.designs as designs
    from npexplore.study.explaining.words import NOT_ESTIMATED

    machine = apply_settings(designs.design(design), settings)
    if knobs:
        show_knobs(machine.name, machine.parameters, as_json)
        return 0
    machine, trace = running(machine, program, trace, section, maps, costs, router), None if program else trace
    check_packets(machine, packets)
    if (trace, mix, packet_bytes) == (None,) * 3 and machine.own is None:
        packet_bytes = SHORTEST_BYTES
        note(f"no load was given: packets of {packet_bytes} bytes (--packet-bytes, --mix, --trace give another)")
    machine, load = read_workload(machine, trace, mix, packet_bytes, arrivals, rate, speed)
    if formula:
        formulas = _formulas(machine, load)
        emit(formulas.to_dict(), lambda: str(formulas), as_json=as_json)
        return ending(load)
    explanation, printed = _explain(
        machine, load, seed, seeds, packets, phases, rtl, not no_sensitivity, not as_json,
        full=full, tables=full or as_json or html is not None,
    )  # fmt: skip
    warn_of_idle_knobs(split_settings(settings), [(machine, load)])
    for name, reason in explanation.refused.items():
        if reason == NOT_ESTIMATED:  # the user's choice
            continue
        warn(f"no answer by {name}: {reason.removeprefix(f'{name}: ')}")
    if html is not None:
        from npexplore.report.explanation_page import explanation_page

        beside = html if shared_library else None
        write_page(html, explanation_page(explanation, _typed(click.get_current_context()), beside))
    emit(explanation.to_dict(), lambda: (text if full else brief)(explanation, printed), as_json=as_json)
    return ending(load)


def _typed(context: click.Context) -> str:
    """Return the command line with the arguments and options that were given."""
    words = ["npexplore", "explain"]
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        for item in value if isinstance(value, tuple) else [value]:
            flag = [max(parameter.opts, key=len)] if isinstance(parameter, click.Option) else []
            words += flag if isinstance(parameter, click.Option) and parameter.is_flag else [*flag, shown(str(item))]
    return shlex.join(words)


def _explain(
    design: Design, load: Workload | None, seed: int, seeds: int, packets: int | None, phases: int | None, rtl: bool,
    changes: bool, aloud: bool, full: bool, tables: bool,
) -> tuple[Explanation, str]:  # fmt: skip
    """Return an explanation, and the lines that were printed early (aloud: print lines as soon as they are known).

    full: print all lines, otherwise the lines of `brief`. tables: whether elasticities and knees are needed; `brief`
    shows single changes only.
    """
    from npexplore.engine.cold import meanwhile
    from npexplore.solve.solver_answers import ESTIMATE
    from npexplore.study.explaining.explain import explain
    from npexplore.study.explaining.words import answer_in_words

    printed: list[str] = []

    def print_new(text: str) -> None:
        """Print the lines that have not been printed yet."""
        if aloud and (lines := [line for line in text.split("\n") if line not in printed]):
            printed.extend(lines)
            say("\n".join(lines) if full else wrapped("\n".join(lines), WIDEST))

    with Task("solvers") as solving, ExitStack() as opened:
        if aloud:
            opened.enter_context(meanwhile(lambda: _say_first_number(design, load, seed)))
        tasks: list[Task] = []

        def progress(done: int, total: int) -> None:
            if not tasks:
                tasks.append(opened.enter_context(Task("what would help", unit="point")))
            tasks[0].reach(done, total)

        def answered(e: Explanation) -> None:
            text = answer_in_words(e)
            if "simulated" in {*e.predictions, *e.refused}:
                print_new(text)
            elif ESTIMATE in e.predictions:  # the rate is final; the bottleneck needs a simulation
                print_new(text.partition("\n")[0])
            solving.describe("other solvers" if printed else text.partition("\n")[0])

        explanation = explain(
            design, load, seed=seed, seeds=seeds, packets=packets, chain_phases=phases, rtl=rtl,
            elasticities=changes and tables, changes="best" if changes and not tables else changes, knees=tables,
            progress=progress, answered=answered,
            first=(lambda e: print_new(str(e))) if full and aloud else None,
        )  # fmt: skip
    return explanation, "\n".join(printed)


FIRST_PACKETS = 500


def _say_first_number(design: Design, load: Workload | None, seed: int) -> None:
    """Print the rate of a few packets, which are interpreted while the event loop is compiled."""
    if load is not None and load.arrivals == "timestamps":
        return
    with suppress(NpexploreError), Task(f"simulating {FIRST_PACKETS} packets"):  # the explanation reports the error
        prediction = design.simulate(load, packets=FIRST_PACKETS, seed=seed)
        rate = f"about {prediction.rate_pps / 1e6:.4g} Mpps"
        say(f"{rate}, from the first {FIRST_PACKETS} packets; kernels are being compiled, once")


def _formulas(design: Design, load: Workload | None) -> Formulas:
    from npexplore.study.formulas.search import formulas

    with Task("formulas", unit="point") as task:
        return formulas(design, load, progress=task.reach)


def brief(e: Explanation, printed: str) -> str:
    """Return the lines after those printed early, so that all together are at most MOST_LINES."""
    from npexplore.study.explaining.words import brief_in_words

    numbers = _solvers(e, WIDEST).split("\n")
    early_lines = wrapped(printed, WIDEST).split("\n") if printed else []
    room = MOST_LINES - len(early_lines) - len(numbers) - 2  # an empty line, and the line that names --full
    lines_shown: list[str] = []
    for line in brief_in_words(e).split("\n"):
        if line not in printed.split("\n"):
            lines = wrapped(line, WIDEST).split("\n")
            lines_shown += lines if len(lines_shown) + len(lines) <= room else []
    return "\n".join([*lines_shown, "", *numbers, "busy times, effects of all parameters, assumptions: --full"])


def _solvers(e: Explanation, width: int | None = None) -> str:
    best = e.best
    rows = [
        {
            "solver": name, "throughput": prediction.throughput_bps / 1e6, "rate": prediction.rate_pps / 1e6,
            "bottleneck": prediction.bottleneck,
            "latency": None if prediction.latency_s.mean is None else prediction.latency_s.mean * 1e9,
        }
        for name, prediction in e.predictions.items()
    ]  # fmt: skip
    columns = {
        "solver": "solver", "throughput": f"Mb/s ({best.counted})", "rate": "Mpps", "latency": "latency ns",
        "bottleneck": "bottleneck",
    }  # fmt: skip
    return table(rows, columns, width)


def text(e: Explanation, printed: str) -> str:
    """Return the text after the lines printed early: the other lines of an explanation, then the numbers."""
    from npexplore.study.explaining.words import gain_text, value_text

    best = e.best
    shares = [
        {"resource": name, "busy %": 100 * busy, "blocked %": 100 * blocked}
        for name, (busy, blocked) in sorted(best.utilization.items(), key=lambda item: -item[1].busy)
        if busy > 0
    ]
    latency = {name: None if s is None else s * 1e9 for name, s in best.latency_s._asdict().items()}
    parts = [*_corrected(e, printed), _solvers(e), *_times(best), table(shares), *_never_busy(best)]
    parts.append(facts({"latency ns": latency, "drops": dict(best.drops)}))
    if e.sensitivity is not None:
        changes = [
            {
                "parameter": c.knob, "kind": c.kind, "value": c.value, "unit": c.unit, "elasticity": c.elasticity,
                "noise": c.noise, "bounds": c.bounds, "queueing": c.queueing, "simulated": c.simulated,
                "": "a step: neither side gains" if c.step else "",
            }
            for c in e.sensitivity.found
        ]  # fmt: skip
        if changes:
            about = "elasticities: per cent of throughput for one per cent more of a parameter (noise: 95 % half width)"
            parts.append(f"{about}\n{table(changes)}")
        if e.sensitivity.without_effect:
            parts.append(f"no effect beyond the noise: {', '.join(e.sensitivity.without_effect)}")
        names_by_reason: dict[str, list[str]] = {}
        for name, reason in e.sensitivity.not_varied.items():
            names_by_reason.setdefault(reason, []).append(name)
        parts += [f"not varied, {reason}: {', '.join(names)}" for reason, names in names_by_reason.items()]
    if e.what_if is not None and e.what_if.changes:
        rows = [
            {"change": f"{c.knob} {value_text(c.present)} to {value_text(c.value)} {c.unit}".strip(), "kind": c.kind,
             "throughput": gain_text(c), "what binds then": c.bottleneck} for c in e.what_if.changes
        ]  # fmt: skip
        by = " and ".join(dict.fromkeys(change.solver for change in e.what_if.changes))
        repeated = any(change.low is not None for change in e.what_if.changes)
        seeds = " (95 % intervals)" if repeated else ""
        parts.append(f"what single changes would do, by {by}{seeds}\n" + table(rows))
        knees = [
            {"knob": k.knob, "knee": k.knee, "95 % of the best at": k.enough, "unit": k.unit} for k in e.what_if.knees
        ]
        if knees:
            parts.append("where the curve of a knob bends\n" + table(knees))
    if e.assumptions:
        columns = ("kind", "name", "value", "unit", "about")
        parts.append(table([{name: getattr(a, name) for name in columns} for a in e.assumptions]))
    parts.append("\n".join(f"{name}: {p.approximation or 'exact'}" for name, p in e.predictions.items()))
    return "\n" + "\n\n".join(parts)


def _corrected(e: Explanation, printed: str) -> list[str]:
    """Return the early lines that have changed after all simulations."""
    changed_lines = [line for line in str(e).split("\n") if line not in printed.split("\n")]
    return ["\n".join(("Now that all parameters are simulated:", *changed_lines))] if changed_lines else []


def _times(best: Prediction) -> list[str]:
    """Return a packet's latency by resource as a table, if it is known."""
    breakdown = best.breakdown
    if breakdown is None:
        return []
    by_quantile = {name: {p.resource: p.total_s for p in late.parts} for name, late in breakdown.quantiles.items()}
    rows = [
        {
            "resource": p.resource or "elsewhere", "service ns": p.service_s * 1e9, "waiting ns": p.waiting_s * 1e9,
            "held by others ns": p.held_s * 1e9, "in all ns": p.total_s * 1e9,
            **{f"around {name} ns": parts.get(p.resource, 0.0) * 1e9 for name, parts in by_quantile.items()},
        }
        for p in breakdown.parts
    ]  # fmt: skip
    return ["where a packet's time goes\n" + table(rows)]


def _never_busy(best: Prediction) -> list[str]:
    """Return a line with the resources that are never busy; a prefix stands for all if none with it is ever busy."""
    by_prefix: dict[str, list[str]] = {}
    for name in best.utilization:
        by_prefix.setdefault(name.partition(".")[0], []).append(name)
    never_busy = []
    for prefix, names in by_prefix.items():
        idle = [name for name in names if not best.utilization[name].busy > 0]
        if len(idle) < len(names):
            never_busy += idle if len(idle) <= FEW_IDLE else [f"{len(idle)} of {len(names)} {prefix}"]
        elif idle:
            never_busy.append(idle[0] if len(idle) == 1 else f"{prefix} ({len(idle)})")
    return ["never busy: " + ", ".join(never_busy)] if never_busy else []
