"""Listings read metadata alone; an explanation begins with its answer; no command is silent while it works."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from npexplore import progress
from npexplore.cli import COMMANDS, GROUPS
from npexplore.designs import DESIGNS
from npexplore.designs.listed import LISTED

LISTINGS = [
    ["designs"], ["designs", "--json"], ["explain", "--mixes"], ["--version"], ["--help"], ["trace", "--help"],
    *(["explain", name, "--knobs"] for name in LISTED), ["explain", "server", "--knobs", "--set", "cores=2", "--json"],
    *([name, "--help"] for name in COMMANDS),
    *([group, name, "--help"] for group, (listed, _) in GROUPS.items() for name in listed),
]  # fmt: skip
# Reports every 0.05 s instead of every 1.5 s, so that short commands have lines of progress too.
EAGER = """
import sys
from npexplore import progress
progress.MAX_SILENCE_S = 0.05
from npexplore.cli import main
sys.argv = ["npexplore", *sys.argv[1:]]
sys.exit(main())
"""


def run(*words, program=EAGER, **changed):
    env = {**os.environ, "TQDM_DISABLE": "", **changed}
    done = subprocess.run([sys.executable, "-c", program, *words], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def test_listings_import_no_kernel_and_no_table_library():
    program = f"""
import contextlib, io, sys
from npexplore.cli import main
for words in {LISTINGS!r}:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(words) == 0, words
    heavy = {{"numba", "scipy", "pandas", "pyarrow", "plotly", "npexplore._kernels"}} & set(sys.modules)
    assert not heavy, (words, heavy)
"""
    run(program=program)


@pytest.mark.parametrize("words", ["npexplore ", "npexplore explain ", "npexplore explain ixp2400 --mix "])
def test_completion_imports_no_kernel(words):
    program = """
import sys
from npexplore.cli import main
status = main([])
assert "numba" not in sys.modules
sys.exit(status)
"""
    asked = {"_NPEXPLORE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert run(program=program, **asked).stdout


def test_the_list_says_of_each_design_what_the_design_says():
    assert {name: make().own is None for name, make in DESIGNS.items()} == {
        name: one.needs_workload for name, one in LISTED.items()
    }


@pytest.mark.parametrize("name", LISTED)
def test_explain_prints_its_answer_before_anything_is_changed(name, monkeypatch, capsys):
    """Where no parameter is ever changed, the answer has been printed all the same."""
    from npexplore.cli import main
    from npexplore.study.explaining import explain

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(explain, "what_if_in_stages", stop)
    packets = ["--packet-bytes", "64"] if LISTED[name].needs_workload else []
    assert main(["explain", name, *packets]) == 130
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith(f"{name} forwards ")
    assert "What binds is " in told


@pytest.mark.slow
def test_lines_of_progress_go_to_standard_error_alone():
    done = run("explain", "ixp2400", "--packet-bytes", "64", "--packets", "500", "--json")
    assert json.loads(done.stdout)["rate_mpps"]
    lines = done.stderr.splitlines()
    assert all(line.startswith("npexplore explain: ") for line in lines)
    assert any(" forwards 64 bytes at " in line for line in lines)
    assert any("what would help: " in line and " points (" in line for line in lines)


@pytest.mark.slow
def test_the_answer_and_what_would_help_are_printed_in_this_order():
    program = f"sys = __import__('sys'); sys.stderr = sys.stdout\n{EAGER}"
    lines = run("explain", "ixp2400", "--packet-bytes", "64", "--packets", "500", program=program).stdout.splitlines()
    place = [next(k for k, line in enumerate(lines) if start in line) for start in (
        "working", "ixp2400 forwards", "What binds is", "what would help: ", "A packet takes", "solver "
    )]  # fmt: skip
    assert place == sorted(place)


@pytest.mark.slow
@pytest.mark.parametrize("words", [
    ["check", "--design", "ixp2400_dram", "--seeds", "2"],
    ["load", "smartnic", "--packet-bytes", "65", "--packets", "500", "--rates", "1Mpps,2Mpps"],
    ["sweep", "ixp2400", "--set", "threads=1,2", "--packet-bytes", "64", "--out", "{tmp}/a.parquet"],
    ["optimise", "ixp2400", "--set", "threads=8,16", "--packet-bytes", "64"],
    ["calibrate", "ixp2400", "--free", "hash_ns=120,140", "--starts", "1", "--seeds", "1", "--no-profile"],
    ["compare", "ixp2400", "smartnic", "--packet-bytes", "64"],
    ["solve", "mm1", "--method", "all"],
    ["solve", "kanban"],
    ["route", "--config", "office", "--in", "office=sample:zeek_wikipedia", "--out", "{tmp}/out"],
    ["trace", "report", "sample:zeek_wikipedia", "-o", "{tmp}/a.html"],
    ["trace", "stats", "sample:zeek_wikipedia"],
    ["explain", "ixp2400_dram", "--formula"],
], ids=lambda words: "-".join(words[:2]))  # fmt: skip
def test_every_long_command_tells_what_it_does(words, tmp_path):
    done = run(*(word.format(tmp=tmp_path) for word in words))
    command = " ".join(["npexplore", *words[: 1 + (words[0] == "trace")]])
    lines = done.stderr.splitlines()
    assert any(line.startswith(f"{command}: ") and line.endswith(" s)") for line in lines)
    assert f"{command}: " not in done.stdout


def test_a_task_says_what_is_done_and_how_much_there_is():
    with ExitStack() as opened:
        task = opened.enter_context(progress.Task("trial", unit="point"))
        assert str(task) == "trial"
        task.advance()
        assert str(task) == "trial: 1 point"
        task.reach(1500, 3000)
        assert str(task) == "trial: 1,500 of 3,000 points"
        task = opened.enter_context(progress.Task("read", unit="B", total=3_000_000))
        task.advance(1_500_000)
        assert str(task) == "read: 1.5 of 3.0 MB"
        assert str(opened.enter_context(progress.Task("build"))) == "build"


def test_progress_can_be_switched_off():
    assert run("explain", "ixp2400", "--packet-bytes", "64", "--no-sensitivity", TQDM_DISABLE="1").stderr == ""
