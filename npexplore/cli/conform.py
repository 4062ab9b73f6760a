"""`npexplore conform`: the conformance table of a user's router, clause by clause, and its failures (docs/testing.md).

Exit status 0 if every frame is forwarded correctly; 1 if some are not; 2 if the router cannot be run.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npexplore.cli.files import OutputFile, write_page
from npexplore.cli.options import profile_option
from npexplore.cli.output import emit, json_option, note
from npexplore.errors import InputError, one_of
from npexplore.progress import Task

if TYPE_CHECKING:
    from npexplore.golden.router.configuration import Router
    from npexplore.testing import GraphJudge, RulesJudge, XdpRouter
    from npexplore.testing.conformance import Conformance

FAILED = 1
TWO_PORTS = "through"  # example of a router with two ports
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("conform", context_settings={"allow_interspersed_args": False})
@click.option("--config", metavar="ROUTER.toml", type=FILE, help="The router's configuration, or an example's name.")
@click.option("--as", "kind", metavar="KIND", default="captures", help="captures, links, function or kernel.")
@profile_option
@click.option(
    "--frames", metavar="N", type=click.IntRange(1), default=1000, help="Random frames after the fixed probes."
)
@click.option("--xdp", metavar="FILE.o", help="An XDP program as the router, run by the interpreter; no COMMAND.")
@click.option("--section", metavar="NAME", help="xdp: the program or its section, where FILE.o has several.")
@click.option("--map", "maps", metavar="NAME=FILE", multiple=True, help="xdp: initial contents of a map.")
@click.option("--live", is_flag=True, help="xdp: let the Linux kernel of this machine run the program (root).")
@click.option("--rules", metavar="FILE", help="xdp: judge a filter by rules (TOML, ClassBench).")
@click.option(
    "--drop",
    metavar="WHO",
    multiple=True,
    help="rules: whose packets are dropped: matched (default), unmatched, or a class of the rules.",
)
@click.option("--click", "graph", metavar="FILE", help="xdp: judge by a graph of Click elements.")
@click.option("--verdicts", is_flag=True, help="click: compare only whether each packet passes or is dropped.")
@click.option("--failures", metavar="N", type=click.IntRange(1), default=1000, help="Stop after N failures.")
@click.option("--seconds", metavar="S", type=float, help="Limit for a run (60), or for the start (links: 5).")
@click.option("--again", is_flag=True, help="links: resend a frame lost while the program resolves its next hop.")
@click.option("--export", metavar="DIR", type=FOLDER, help="Write the smallest failure of each cluster as captures.")
@click.option("--tests", metavar="FILE.py", type=FILE, help="xdp, function: write them as a pytest file.")
@click.option("--report", metavar="FILE.html", type=OutputFile(), help="Write an offline page.")
@json_option
@click.argument("router", metavar="[COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def command(
    config: Path | None,
    kind: str,
    profile: str | None,
    frames: int,
    xdp: str | None,
    section: str | None,
    maps: tuple[str, ...],
    live: bool,
    rules: str | None,
    drop: tuple[str, ...],
    graph: str | None,
    verdicts: bool,
    failures: int,
    seconds: float | None,
    again: bool,
    export: Path | None,
    tests: Path | None,
    report: Path | None,
    as_json: bool,
    router: tuple[str, ...],
) -> int:
    """Compare a router with the golden (reference) one: for each clause of a standard, what was tried, held and failed.

    KIND says what the router is. captures: a COMMAND that reads and writes captures, with {file}, {port} and {out} in
    its words. links: a COMMAND between network interfaces. function: FILE.py:FUNCTION, called with port and frame.
    kernel: the Linux kernel of this machine in a network namespace, without a COMMAND.
    With --xdp FILE.o the router is an eBPF object, run by the interpreter or, with --live, by the kernel; what it
    passes to the kernel is not judged. --rules or --click puts another judge in the golden router's place; then
    ROUTER.toml only says which ports there are (default: an example of two).

    Options go before COMMAND.
    """
    config = _configuration(config, xdp, rules, drop, graph, verdicts)
    if xdp is not None:
        kind = "xdp"
        if router:
            raise InputError(f"conform --xdp takes no command, got {' '.join(router)}")
        router = (xdp,)
    elif section or maps or live:
        raise InputError("--section, --map and --live are for --xdp FILE.o")
    filters = bool(rules or verdicts)
    adapters = ADAPTERS | {"xdp": partial(_xdp, section, maps, live, config, filters)} if xdp is not None else ADAPTERS
    examine = adapters[one_of("--as: kind of router", kind, adapters)]
    _check_kind(kind, router, again, tests)
    from npexplore.golden.router.configuration import load_router

    configuration = load_router(config)
    examine_options: dict[str, Any] = {"profile": profile, "failures": failures}
    if rules or graph:
        examine_options["judge"] = _judge(configuration, rules, drop, graph, verdicts)
    with Task("comparing the routers"):
        result = examine(router, configuration, again, examine_options, frames, seconds)
    name = " ".join(router) or kernel_name()
    if export is not None:
        from npexplore.testing import write_captures

        note(f"captures: {len(write_captures(result, export))} files in {export}")
    if tests is not None:
        xdp_router = None if xdp is None else _xdp_router(xdp, section, maps, config, filters)
        _write_tests(result, tests, " ".join(router), xdp_router)
    if report is not None:
        from npexplore.report.conformance_page import conformance_page

        write_page(report, conformance_page(result, name))
        note(f"report: {report}")
    emit(
        {"config": str(config), "router": name, "kind": kind, **result.to_dict()}, lambda: str(result), as_json=as_json
    )
    return FAILED if result.clusters else 0


def _captures(
    words: Sequence[str], router: Router, again: bool, how: dict[str, Any], frames: int, seconds: float | None
) -> Conformance:
    from npexplore.testing import examine_captures

    return examine_captures(words, router, count=frames, timeout_s=seconds or 60, **how)


def _links(
    words: Sequence[str], router: Router, again: bool, how: dict[str, Any], frames: int, seconds: float | None
) -> Conformance:
    from npexplore.testing import LinkRouter, examine_router

    program = [shutil.which(words[0]) or words[0], *words[1:]]
    with LinkRouter(program, router, ready_s=seconds or 5, again=again) as link_router:
        return examine_router(link_router.forward, router, max_examples=frames, **how)


def _function(
    words: Sequence[str], router: Router, again: bool, how: dict[str, Any], frames: int, seconds: float | None
) -> Conformance:
    from npexplore.testing import examine_router

    return examine_router(_loaded(" ".join(words)), router, max_examples=frames, **how)


def _judge(
    router: Router, rules: str | None, drop: Sequence[str], graph: str | None, verdicts: bool
) -> RulesJudge | GraphJudge:
    from npexplore.testing import GraphJudge, RulesJudge

    if rules is not None:
        return RulesJudge(rules, drop=drop) if drop else RulesJudge(rules)
    assert graph is not None
    return GraphJudge(graph, router, verdicts=verdicts)


def _xdp_router(
    file: str, section: str | None, maps: Sequence[str], config: Path, filters: bool,
    kind: type[XdpRouter] | None = None,
) -> XdpRouter:  # fmt: skip
    from npexplore.programs.loading import program
    from npexplore.programs.map_files import read_named_maps
    from npexplore.testing import XdpRouter

    contents = read_named_maps(program(file, section), maps) if maps else None
    return (kind or XdpRouter)(file, config, section=section, maps=contents, filters=filters)


def _xdp(
    section: str | None, maps: Sequence[str], live: bool, config: Path, filters: bool, words: Sequence[str],
    router: Router, again: bool, how: dict[str, Any], frames: int, seconds: float | None,
) -> Conformance:  # fmt: skip
    from npexplore.testing import LiveXdpRouter, examine_router

    with ExitStack() as stack:
        xdp_router = _xdp_router(words[0], section, maps, config, filters, LiveXdpRouter if live else None)
        if isinstance(xdp_router, LiveXdpRouter):
            stack.enter_context(xdp_router)
        result = examine_router(xdp_router.forward, router, max_examples=frames, **how)
    counts = ", ".join(f"{name} {count:,}" for name, count in xdp_router.verdicts.most_common())
    note(f"verdicts: {counts}{'' if filters else '; not judged: pass'}")
    if not result.frames:
        raise InputError(f"{words[0]}: no frame was judged: the program passes all of them to the kernel; a filter is "
                         "judged by --rules, or --click with --verdicts")  # fmt: skip
    return result


def _loaded(text: str) -> Callable[[int, bytes], Any]:
    """Return the function of FILE.py:FUNCTION; raises InputError."""
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not name.isidentifier() or not path.is_file():
        raise InputError(f"a function must be FILE.py:FUNCTION of a file that exists, got {text!r}")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # any error of the file
        raise InputError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from None
    function: Callable[[int, bytes], Any] = vars(module)[one_of(f"{path}: function", name, vars(module))]
    return function


def _kernel(
    words: Sequence[str], router: Router, again: bool, how: dict[str, Any], frames: int, seconds: float | None
) -> Conformance:
    from npexplore.testing import LiveKernel, examine_router
    from npexplore.testing.examining import tried

    with LiveKernel(router) as kernel:
        kernel.ask(list(tried(router, frames)))
        return examine_router(kernel.forward, router, max_examples=frames, **how)


def kernel_name() -> str:
    """Return the name and release of this machine's kernel."""
    return f"{platform.system()} {platform.release()}"


ADAPTERS = {"captures": _captures, "links": _links, "function": _function, "kernel": _kernel}


def _write_tests(result: Conformance, tests: Path, router: str, mine: XdpRouter | None) -> None:
    """Write the smallest failure of each cluster as a pytest file; `router` is FILE.py:FUNCTION without `mine`."""
    from npexplore.testing import write_tests

    file, _, function = router.rpartition(":")
    write_tests(result, tests, mine or f"{Path(file).stem}:{function}")
    note(f"tests: {len(result.clusters)} in {tests}")


def _check_kind(kind: str, router: tuple[str, ...], again: bool, tests: Path | None) -> None:
    """Raise InputError for options that a kind of router does not take."""
    if kind == "kernel" and router:
        raise InputError(f"conform --as kernel takes no command, got {' '.join(router)}")
    if kind != "kernel" and not router:
        raise InputError(f"conform --as {kind} needs a command, or FILE.py:FUNCTION, after its options, got none")
    if again and kind != "links":
        raise InputError(f"conform --again is for --as links, got --as {kind}")
    if tests is not None and kind not in ("xdp", "function"):
        raise InputError(f"conform --tests is for --xdp and --as function, got --as {kind}")


def _configuration(
    config: Path | None, xdp: str | None, rules: str | None, drop: tuple[str, ...], graph: str | None, verdicts: bool
) -> Path:
    """Return the router's configuration; raises InputError without one, or for incomplete options of a judge."""
    if (rules or graph) and xdp is None:
        raise InputError("--rules and --click judge an XDP program, and need --xdp FILE.o")
    if (rules and graph) or (drop and not rules) or (verdicts and not graph):
        raise InputError("--rules goes with --drop, --click with --verdicts, and one of the two judges a program")
    if config is None and (rules or graph):
        config = Path(TWO_PORTS)
    if config is None:
        raise InputError("conform needs --config ROUTER.toml, the configuration of the router")
    return config
