"""The command line: one group whose commands are imported when they run, and one exit status per kind of ending.

0 success; 1 a negative result; 2 wrong usage, unreadable input or an internal error; 3 damaged input; 130 stopped by
Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.
A command module defines `command`, a click command whose function returns None or its exit status; a command is listed
once its module exists. `--debug` may be given anywhere and shows tracebacks.
"""

import atexit
import codecs
import gc
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module

import click

from npexplore import __version__, signals
from npexplore.cli.lazy import LazyGroup
from npexplore.cli.output import one_line, warn
from npexplore.errors import DamagedInputError, FaultsError, NpexploreError
from npexplore.imports import spare_iri_grammar
from npexplore.progress import reporting

COMMANDS = {
    "designs": ("npexplore.cli.designs:command", "List the machines that can be explored."),
    "explain": ("npexplore.cli.explain:command", "Say how fast a machine is on a workload, and what holds it back."),
    "study": ("npexplore.cli.study:command", "Answer the usual questions about a machine on one page."),
    "check": ("npexplore.cli.check:command", "Compare every published number with its prediction."),
    "audit": ("npexplore.cli.audit:command", "Recompute published numbers from each other and report contradictions."),
    "sweep": ("npexplore.cli.sweep:command", "Predict many design points into a Parquet file."),
    "export": ("npexplore.cli.export:command", "Write the finished rows of a sweep that runs or was killed."),
    "load": (
        "npexplore.cli.load:command",
        "Show latency and loss against the offered load, and where a machine saturates.",
    ),
    "run": ("npexplore.cli.run:command", "Send a capture through a machine, and say what became of each packet."),
    "resource": ("npexplore.cli.resource:command", "Explore one resource alone, beside exact theory."),
    "optimise": ("npexplore.cli.optimise:command", "Find the machines in a grid that are best for their cost."),
    "calibrate": ("npexplore.cli.calibrate:command", "Fit a machine's free parameters to calibration rows."),
    "compare": ("npexplore.cli.compare:command", "Compare machines on the same packets."),
    "solve": ("npexplore.cli.solve:command", "Solve your own network of stations or Petri net from a TOML file."),
    "hardware": ("npexplore.cli.hardware:command", "Write an engine's step program as Verilog, and verify it."),
    "schema": ("npexplore.cli.schema:command", "Print the JSON Schema of a kind of TOML file."),
    "report": ("npexplore.cli.report:command", "Run the notebooks and write the offline HTML report."),
    "notebooks": ("npexplore.cli.notebooks:command", "Write the notebooks as .ipynb without outputs."),
    "route": ("npexplore.cli.route:command", "Forward captures through the golden router."),
    "conform": (
        "npexplore.cli.conform:command",
        "Compare your own router with the golden one, clause by clause.",
    ),
    "new": ("npexplore.cli.new:command", "Start a machine of your own from a template."),
    "setup": (
        "npexplore.cli.setup:command",
        "Compile the kernels, and list what is not installed and what would need it.",
    ),
    "doctor": (
        "npexplore.cli.doctor:command",
        "Check the installation and stored results, and repair what is broken.",
    ),
}
TRACE_COMMANDS = {
    "stats": ("npexplore.cli.trace_stats:command", "Count and measure the packets of a capture."),
    "convert": ("npexplore.cli.trace_convert:command", "Convert captures to Parquet, pcap or pcapng."),
    "flows": ("npexplore.cli.trace_flows:command", "Show the flows of a capture, and what their TCP segments tell."),
    "report": ("npexplore.cli.trace_report:command", "Write a capture's statistics as an offline HTML page."),
}
PROGRAM_COMMANDS = {
    "run": ("npexplore.cli.packet_program:run_command", "Run an eBPF/XDP program on the packets of a capture."),
    "paths": ("npexplore.cli.packet_program:paths_command", "Group packets by the branches that the program took."),
    "list": ("npexplore.cli.packet_program:list_command", "List the programs of an object, their maps and helpers."),
    "cost": ("npexplore.cli.program_rate:cost_command", "Show the time that a core spends on each path of a program."),
    "worst": ("npexplore.cli.worst_path:command", "Find the packets on which a program is slowest."),
    "compare": ("npexplore.cli.program_rate:compare_command", "Say which of two programs is faster, and why."),
    "measure": ("npexplore.cli.program_rate:measure_command", "Measure what programs' events cost on this computer."),
}
GROUPS = {
    "trace": (TRACE_COMMANDS, "Inspect captures: pcap, pcapng, ERF, also compressed."),
    "program": (PROGRAM_COMMANDS, "Run your own packet programs: eBPF/XDP objects."),
}
HIDDEN_COMMANDS = {
    "warm": ("npexplore.cli.warm:command", "Compile the kernels into their cache, so that the first run is fast."),
}

COMPLETE = "_NPEXPLORE_COMPLETE"  # set by a shell that requests completions; the value is its request
BROKEN_PIPE = 141


def program() -> click.Group:
    """Return the `npexplore` group with the commands this installation has."""
    groups = [LazyGroup(name, commands, help=about) for name, (commands, about) in GROUPS.items()]
    group = LazyGroup(
        "npexplore",
        COMMANDS,
        hidden=HIDDEN_COMMANDS,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Explore packet-forwarding machines: how fast, what holds them back, and whether they are right.",
    )
    group.params.append(
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show tracebacks; may stand anywhere.")
    )
    for subgroup in groups:
        if subgroup.list_commands(click.Context(subgroup)):
            group.add_command(subgroup)
    return click.version_option(__version__, prog_name="npexplore", message="%(prog)s %(version)s")(group)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status; nothing but `--debug` shows a traceback."""
    own_process = argv is None
    if own_process:
        _open_streams()
        signals.take_process()
        _spare_the_collector()
        _print_anywhere()
        spare_iri_grammar()
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        import_module("npexplore.cli.completions")  # registers our completion class for bash
        return shell_complete(program(), {}, "npexplore", COMPLETE, instruction)
    words = [argument for argument in arguments if argument != "--debug"]
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    try:
        showing = reporting(_name(words)) if own_process else nullcontext()
        with signals.as_interrupts(), _warnings_in_one_line(), showing:
            status = _run(words)
            sys.stdout.flush()
            return status
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.exceptions.NoArgsIsHelpError as ending:
        print(ending.format_message(), file=sys.stderr)
        return ending.exit_code
    except (KeyboardInterrupt, click.Abort) as ending:
        # the message of a command that keeps results names them
        status = _fail(f"stopped; {str(ending) or 'nothing was written'}", signals.status())
        if own_process:
            signals.end_now(status)
        return status
    except BrokenPipeError:
        # The reader of our output has closed it; buffered text must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, FaultsError):
            return max(_fail(fault, 2) for fault in error.faults)
        return _fail(*_describe(error, _name(words)))


def _open_streams() -> None:
    """Open the null device in place of a standard stream that was closed at the start (`>&-`)."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _spare_the_collector() -> None:
    """Set up the garbage collector for a short process; with the defaults it takes a third of a small command's time.

    It runs less often during imports, and frees nothing at the end. A full collection runs once in 1.8 million new
    objects: a long sweep holds at most 100 MB of cycles.
    """
    gc.set_threshold(100_000, 5, 2)
    atexit.register(gc.freeze)


PLAIN = {"±": "+-", "µ": "u", "→": "->"}  # replacements on a terminal without the character


def _print_anywhere() -> None:
    """Let both streams print any text: a character outside the locale's encoding becomes a plain one, or ?."""

    def plain(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        return "".join(PLAIN.get(char, "?") for char in error.object[error.start : error.end]), error.end

    codecs.register_error("npexplore.plain", plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="npexplore.plain")


def _run(arguments: list[str]) -> int:
    group = program()
    with group.make_context("npexplore", arguments) as context:
        status = group.invoke(context)
    return status if isinstance(status, int) else 0


def _name(words: list[str]) -> str:
    """Return the name of a command in lines of progress: `npexplore trace stats`."""
    return " ".join(["npexplore", *words[: 2 if words[:1] and words[0] in GROUPS else 1]])


def _describe(error: Exception, command: str) -> tuple[str, int]:
    """Return the error message of a command for users, in one line, and the exit status."""
    match error:
        case DamagedInputError():
            return str(error), 3
        case NpexploreError():
            return str(error), 2
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else command
            return f"{_in_words(error)} (see {where} --help)", 2
        case click.ClickException():
            return error.format_message(), 2
        case OSError() if error.filename is not None:
            return f"{os.fsdecode(error.filename)}: {error.strerror}", 2
        case OSError() if error.errno is not None:  # a full disk or a failing device
            return f"cannot read or write: {error.strerror}", 2
        case MemoryError():
            return f"not enough memory: {str(error) or 'an allocation failed'}", 2
        case _:
            return f"internal error: {type(error).__name__}: {error}; run with --debug", 2


def _in_words(error: click.UsageError) -> str:
    """Return a usage error in plain words, which names --trace if a capture was given without it."""
    text = re.sub("a valid integer( range)?", "a whole number", error.format_message())
    text = re.sub("a valid float( range)?", "a number", text)
    options = {option for parameter in error.ctx.command.params for option in parameter.opts} if error.ctx else set()
    if text.startswith("Got unexpected extra argument") and "--trace" in options:
        text += "; a capture is given by --trace FILE"
    return text


def _fail(message: str, status: int) -> int:
    print(f"npexplore: {one_line(message)}", file=sys.stderr)
    return status


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    messages_printed = set[str]()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in messages_printed:  # each solver builds the machine, which repeats its warnings
            messages_printed.add(str(message))
            warn(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
