"""`npexplore hardware`: the same bytes each time, and errors that say what to do."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from npexplore.cli.hardware import command
from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.hardware import simulators
from npexplore.reads import reading
from npexplore.study.checking.labels import unprinted


def ran(*arguments):
    return CliRunner().invoke(command, [str(one) for one in arguments])


def test_the_same_bytes_each_time(tmp_path):
    texts = []
    for name in ("a", "b"):
        done = ran("gorilla", "--set", "threads=2", "--out", tmp_path / name, "--json")
        assert done.exit_code == 0
        texts.append([Path(file).read_text() for file in json.loads(done.output)["files"]])
    assert texts[0] == texts[1]
    assert "parameter THREADS" in texts[0][0]
    assert "| `ipv4_extract` | 2 |" in texts[0][2]


def test_what_is_refused(tmp_path, monkeypatch):
    def error(*arguments):
        return ran(*arguments, "--out", tmp_path / "none").exception

    assert "fifo_packets is not a knob of a single engine" in str(error("gorilla", "--set", "fifo_packets=6"))
    assert "of your own that defines one, got 'raw'" in str(error("raw"))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = error("gorilla", "--verify", "5")
    assert isinstance(found, InputError)
    assert "install iverilog or verilator" in str(found)
    assert not (tmp_path / "none").exists()


def test_the_label_of_a_rate_that_no_row_prints():
    """Lookups of 12 cycles were fitted to a printed rate, so that a rate by them is no prediction of it."""
    gorilla = design("gorilla")
    with reading() as reads:
        assert gorilla.parameters.core_mhz > 0
    assert unprinted(reads) == "predicted"
    with reading() as reads:
        assert gorilla.parameters.lut_structures
    assert unprinted(reads) == "post_hoc"
    with reading() as reads:
        assert gorilla.parameters.lookup_cycles > 0
    assert unprinted(reads) == "calibrated"
    with reading() as reads:
        assert gorilla.with_(lookup_cycles=20).parameters.lookup_cycles == 20
    assert unprinted(reads) == "predicted"


def test_a_simulation_without_an_end_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(simulators, "LONGEST_S", 0.2)
    with pytest.raises(InputError, match=r"sleep in .* has not come to an end after 0.2 s"):
        simulators.run_built(tmp_path, ["sleep", "60"])
