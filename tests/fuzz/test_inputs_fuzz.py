"""Every kind of input, a few edits away from a valid one, ends in an answer or in a refusal of one line.

    no internal error; at most 5 s of processor time and 1 GiB beyond what is there for an input of at most 100 KB

In CI each kind has so many examples from a fixed seed, behind the corpus: inputs that once failed. With
NPEXPLORE_FUZZ_SECONDS (`make fuzz`) fresh seeds follow until the time is up. An input that fails is stored beside the
checkout in .fuzz/failures; once it is mended, it goes to tests/fuzz/corpus/KIND.
"""

import os
import resource
import shutil
import signal
import time
import tomllib
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz.driver import corpus_of
from hypothesis import HealthCheck, given, seed, settings
from reference import jmt_files, jmt_net_files, mutations

from npexplore.cli import main
from npexplore.errors import NpexploreError
from npexplore.golden import Graph, load_router
from npexplore.golden.diffserv.edge import load_edge
from npexplore.ledger import published
from npexplore.machine.petri import load_net
from npexplore.machine.petri.pnml_writer import write_pnml
from npexplore.paths import share

EXAMPLES = 40
SECONDS, GIB = 5, 1 << 30
CORPUS, PROGRAMS = Path(__file__).parent / "corpus", Path(__file__).parents[1] / "programs"
CAPTURE = "sample:zeek_wikipedia"
ARRIVALS = f"left={CAPTURE}"


class HangError(BaseException):
    """An input took too long; no handler of errors takes it."""


@contextmanager
def bounded():
    """Let a block take some processor time and memory, and no more."""

    def hang(*_):
        raise HangError(f"more than {SECONDS} s of processor time")

    before, limits = signal.signal(signal.SIGPROF, hang), resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + GIB, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def toml(*parts):
    return tomllib.loads(share(*parts).read_text(encoding="utf-8"))


def text(*parts):
    return share(*parts).read_text(encoding="utf-8")


PORTS = [replace(port, rate_bps=1e9) for port in load_router("office").ports]
HASHING = '''
name = "hashing"
title = "a part alone"
receive = {capacity_bytes = 65536}
resource.unit = {type = "input.toml", clock_mhz = 500, latency_clocks = 20}
pool = [{name = "packet", count = 4, program = """
m.unit.hash(bytes=packet.packet_bytes)
m.receive.free(bytes=packet.packet_bytes)
"""}]
'''
ASSEMBLY = "ldxw r2, [r1+0]\nldxb r3, [r2+12]\nmov r0, 1\njne r3, 8, out\ndiv r3, 3\nmov r0, 3\nout: exit\n"
LEDGER = "\n".join(text("data", "measured", "pcie_bench.csv").splitlines()[:6])


def part(file):
    machine = file.with_name("machine.toml")
    machine.write_text(HASHING, encoding="utf-8")
    return ["explain", machine, "--packet-bytes", "64"]


def run_program(name):
    return lambda file: [
        "program", "run", file, "--trace", CAPTURE, "--limit", "10000", *(["--section", name] if name else []),
    ]  # fmt: skip


def ledger(file):
    folder = file.with_suffix("")
    folder.mkdir(exist_ok=True)
    shutil.copy(file, folder)
    shutil.copy(share("data", "measured", "knobs.toml"), folder)
    return lambda: published(folder)


def objects(*names):
    folders = PROGRAMS, Path(share("data", "programs"))
    return [file.read_bytes() for name in names for folder in folders if (file := folder / f"{name}.o").is_file()]


MARKINGS = ["--method", "markings", "--states", "1000"]
NETWORKS, NETS = ("mm1", "fork_join", "polling", "region"), ("tandem", "philosophers")
# kind -> valid inputs, how they are edited, suffix, the command or the call that reads one
KINDS = {
    "machine": ([toml("models", "template", "toml", "my_machine.toml")], mutations.edited_tables, ".toml",
                lambda file: ["explain", file, "--packet-bytes", "64"]),
    "part": ([toml("models", "parts", "hash_unit.toml")], mutations.edited_tables, ".toml", part),
    "network": ([toml("models", "networks", f"{name}.toml") for name in NETWORKS], mutations.edited_tables, ".toml",
                lambda file: ["solve", file, "--method", "bounds"]),
    "net": ([toml("models", "nets", f"{name}.toml") for name in NETS], mutations.edited_tables, ".toml",
            lambda file: ["solve", file, *MARKINGS]),
    "router": ([toml("models", "routers", "multiservice.toml")], mutations.edited_tables, ".toml",
               lambda file: ["route", "--config", file, "--in", ARRIVALS, "--drops", file.with_suffix(".csv")]),
    "rules": ([toml("models", "rules", "edge.toml"), toml("models", "rules", "fig4.toml")], mutations.edited_tables,
              ".toml", lambda file: lambda: load_edge(file, PORTS)),
    "mix": ([toml("models", "mixes", "imix.toml"), toml("models", "mixes", "frg.toml")], mutations.edited_tables,
            ".toml", lambda file: ["explain", "smartnic", "--mix", file]),
    "ledger": ([LEDGER], mutations.edited_text, ".csv", ledger),
    "pnml": ([write_pnml(load_net("philosophers"))], mutations.edited_xml, ".pnml",
             lambda file: ["solve", file, *MARKINGS]),
    "jmt": ([jmt_files.full()], mutations.edited_xml, ".jsimg", lambda file: ["solve", file, "--method", "bounds"]),
    "jmt_net": ([jmt_net_files.choice(), jmt_net_files.coloured()], mutations.edited_xml, ".jsimg",
                lambda file: ["solve", file, *MARKINGS]),
    "click": ([text("models", "graphs", "soclib_ipv4.click")], mutations.edited_text, ".click",
              lambda file: lambda: Graph.load(file)),
    "object": (objects("router", "legacy"), mutations.edited_bytes, ".o", run_program("")),
    "object_of_many": (objects("tables"), mutations.edited_bytes, ".o", run_program("recent_sources")),
    "assembly": ([ASSEMBLY], mutations.edited_text, ".s", run_program("")),
    "captures": ([(CORPUS / "captures" / name).read_bytes() for name in ("ng", "ns_big", "erf", "links_1")],
                 mutations.edited_bytes, ".pcap", lambda file: ["trace", "stats", file]),
}  # fmt: skip


def outcome(command, capsys):
    """Run a command line, or call what reads an input; return the exit status and what was said."""
    if callable(command):
        try:
            command()
        except NpexploreError as error:
            return 2, str(error)
        return 0, ""
    status = main([str(part) for part in command])
    return status, capsys.readouterr().err


def attempt(kind, content, folder, capsys, statuses=(0, 1, 2, 3)):
    """Read an input of a kind; store it and raise if that does not end as it must."""
    _, _, suffix, command = KINDS[kind]
    file, said = folder / f"input{suffix}", ""
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    try:
        with bounded():
            status, said = outcome(command(file), capsys)
        assert status in statuses, said
        assert not any(words in said for words in ("internal error", "not enough memory", "Traceback")), said
    except BaseException as error:
        stored = corpus_of("failures") / f"{kind}{suffix}"
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(file.read_bytes())
        error.add_note(f"{said[-500:]}\nthe input is {stored}")
        raise


@pytest.mark.filterwarnings("default")  # they are told in one line
@pytest.mark.parametrize("kind", KINDS)
def test_the_unedited_inputs_are_valid(kind, tmp_path, capsys):
    for content in KINDS[kind][0]:
        plain = mutations.toml_text(content) if isinstance(content, dict) else content
        attempt(kind, plain, tmp_path, capsys, statuses=(0,))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", KINDS)
def test_odd_inputs_end_in_an_answer_or_one_line(kind, tmp_path, capsys):
    valid, edited, _, _ = KINDS[kind]
    for known in sorted((CORPUS / "inputs").glob(f"{kind}-*")):
        attempt(kind, known.read_bytes(), tmp_path, capsys)

    def one(content):
        attempt(kind, content, tmp_path, capsys)

    strategy = mutations.st.sampled_from(valid).flatmap(edited)
    suppressed = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    plan = {"max_examples": EXAMPLES, "database": None, "suppress_health_check": suppressed}
    settings(**plan, derandomize=True)(given(strategy)(one))()
    until = time.monotonic() + float(os.environ.get("NPEXPLORE_FUZZ_SECONDS", "0"))
    while time.monotonic() < until:
        fresh = int.from_bytes(os.urandom(6), "little")
        print(f"seed {fresh}")
        seed(fresh)(settings(**plan)(given(strategy)(one)))()
