"""Faults of TOML files: place, rule, value got, and the nearest keys of other tables than the faulty one."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from npexplore.cli import main
from npexplore.errors import FaultsError, InputError
from npexplore.paths import share
from npexplore.toml import Record, decode


class Queue(Record):
    """A table with a key that the other kind of table does not have."""

    packets: Annotated[int, msgspec.Meta(ge=1)] = 64
    scheduler: str = "drr"


class Rule(Record):
    """A table in a list."""

    port: int = 0
    schedule: str = ""


class File(Record):
    """A whole file."""

    queue: dict[str, Queue] = msgspec.field(default_factory=dict)
    rule: list[Rule] = msgspec.field(default_factory=list)
    scheduler: str = "drr"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule = [{}, {port = 'x'}]", "expected a whole number in rule[1].port, got 'x'"),
        ("[queue.a]\npacket = 1", "key 'packet' is unknown (nearest: packets) in queue.a"),
        ("[[rule]]\nscheduler = 'x'", "key 'scheduler' is unknown (nearest: schedule"),
        ("[queue.a]\n[queue.b]\npackets = 0", "expected a whole number of at least 1 in queue.b.packets, got 0"),
        ("[queue]\na.packets = -1.5", "expected a whole number in queue.a.packets, got -1.5"),
        ("scheduler = [", "not valid TOML"),
        ("scheduler = " + 5000 * "[" + 5000 * "]", "not valid TOML: maximum recursion depth"),
        ("scheduler = " + 5000 * "9", "not valid TOML: Exceeds the limit"),
        (" \n", "is empty"),
        ("\ufeff", "is empty"),
    ],
)
def test_faults_are_told(text, message):
    with pytest.raises(InputError) as caught:
        decode(text.encode(), File, Path("f.toml"))
    assert str(caught.value).startswith(f"f.toml: {message}"), str(caught.value)


def test_all_faults_are_told_at_once_with_their_own_places():
    text = """
schedular = "x"
[[rule]]
port = "one"
[[rule]]
[[rule]]
colour = "red"
port = 1.5
[queue.a]
packets = 0
scheduler = 4
"""
    with pytest.raises(FaultsError) as caught:
        decode(text.encode(), File, Path("f.toml"))
    assert sorted(caught.value.faults) == [
        "f.toml: expected a text in queue.a.scheduler, got 4",
        "f.toml: expected a whole number in rule[0].port, got 'one'",
        "f.toml: expected a whole number in rule[2].port, got 1.5",
        "f.toml: expected a whole number of at least 1 in queue.a.packets, got 0",
        "f.toml: key 'colour' is unknown (known: packets, port, queue, rule, schedule, scheduler) in rule[2]",
        "f.toml: key 'schedular' is unknown (nearest: scheduler, schedule)",
    ]


class Needs(Record):
    """A table that cannot do without its keys."""

    packets: int
    scheduler: str


def test_a_key_that_is_misspelt_is_not_told_as_missing_too():
    with pytest.raises(InputError) as caught:
        decode(b"packet = 1\nscheduler = 'x'", Needs, Path("f.toml"))
    assert str(caught.value) == "f.toml: key 'packet' is unknown (nearest: packets)"
    with pytest.raises(FaultsError) as several:
        decode(b"colour = 1\nscheduler = 5", Needs, Path("f.toml"))
    assert len(several.value.faults) == 3


def test_a_file_of_another_kind_is_told_as_what_it_is(tmp_path, capsys, monkeypatch):
    """Each kind of file is handed to the commands that take another."""
    texts = {
        "machine.toml": ("[[pool]]\n[resource.x]\n", "machine.toml is a machine, which `npexplore explain` takes"),
        "part.toml": ("[visits.go]\n[parameters.x]\n", "part.toml is a part, which a machine names as the `type`"),
        "net.toml": ("[station.x]\n", "net.toml is a network of stations, which `npexplore solve` takes"),
        "router.toml": ("[[port]]\n", "router.toml is a router, which `npexplore route` takes"),
    }
    monkeypatch.chdir(tmp_path)
    for name, (text, told) in texts.items():
        (tmp_path / name).write_text(text)
        mine = str(tmp_path / name)
        for wrong, line in {
            "machine.toml": ["explain", mine, "--packet-bytes", "64"],
            "net.toml": ["solve", mine],
            "router.toml": ["route", "--config", mine, "--in=office=x", "--drops=x"],
        }.items():
            assert main(line) == 2
            assert (told in capsys.readouterr().err) == (wrong != name)


def test_a_file_that_is_not_there_is_told_with_those_that_are(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("switch.toml").touch()
    assert main(["explain", "switch.tml"]) == 2
    told = "design or TOML file 'switch.tml' is unknown (nearest: switch.toml)"
    assert told in capsys.readouterr().err


def test_a_sweep_takes_solvers_with_commas_and_says_what_it_writes(tmp_path, capsys):
    line = ["sweep", "ixp2400", "--packet-bytes", "64", "--set", "banks=2,4", "--solver", "bounds,queueing", "--out"]
    assert main([*line, str(tmp_path / "points.csv")]) == 0
    said = capsys.readouterr()
    assert "4 points in" in said.out
    assert "points.csv is written as Parquet, whatever its ending says" in said.err


AT_ONCE = """
import sys, threading
from pathlib import Path
from npexplore.machine.parameters import MachineFile
from npexplore.toml import convert, parsed
file = Path(sys.argv[1])
tables = parsed(file.read_bytes(), file)
sys.setswitchinterval(1e-6)
all_here = threading.Barrier(8)
threads = [threading.Thread(target=lambda: (all_here.wait(), convert(tables, MachineFile, file))) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_threads_that_read_their_first_machine_at_once():
    """Without a lock the process ended by a segmentation fault, one time in three."""
    file = share("models", "machines", "raw.toml")
    for _ in range(6):
        subprocess.run([sys.executable, "-c", AT_ONCE, str(file)], check=True)
