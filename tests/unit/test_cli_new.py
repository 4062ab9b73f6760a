"""`npexplore new`: what it writes can be explained and passes its own test; nothing is overwritten."""

import json
import subprocess
import sys

import pytest

import npexplore as npx
from npexplore.cli import main

KINDS = [([], "toml"), (["--python"], "py")]


@pytest.mark.parametrize(("options", "ending"), KINDS)
def test_a_new_machine_has_its_own_name_and_can_be_explored(tmp_path, capsys, options, ending):
    assert main(["new", "my_nic2", "--folder", str(tmp_path / "here"), "--json", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["design"] == str(tmp_path / "here" / f"my_nic2.{ending}")
    assert all("my_machine" not in path.read_text() for path in (tmp_path / "here").iterdir())
    design = npx.design(said["design"])
    assert design.name == "my_nic2"
    load = npx.workload(packet_bytes=500)
    assert design.with_(line_gbps=4).bounds(load).bottleneck == "line.out"
    assert main(["explain", said["design"], "--packet-bytes", "64"]) == 0
    assert "core" in capsys.readouterr().out


def test_both_kinds_are_one_machine(tmp_path):
    for options, ending in KINDS:
        assert main(["new", "twin", "--folder", str(tmp_path / ending), *options]) == 0
    load = npx.workload(packet_bytes=300)
    one, other = (npx.design(tmp_path / ending / f"twin.{ending}") for _, ending in KINDS)
    assert one.bounds(load).rate_pps == other.bounds(load).rate_pps
    assert one.simulate(load, packets=2000).rate_pps == other.simulate(load, packets=2000).rate_pps


@pytest.mark.slow
@pytest.mark.parametrize(("options", "ending"), KINDS)
def test_its_own_test_passes(tmp_path, options, ending):
    assert main(["new", "fresh", "--folder", str(tmp_path), *options]) == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "../test_fresh.py"]
    done = subprocess.run(run, cwd=elsewhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "9 passed" in done.stdout


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "test_mine.py").write_text("kept")
    assert main(["new", "mine", "--folder", str(tmp_path)]) == 2
    assert "test_mine.py exists; choose another name or --folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]


@pytest.mark.parametrize("name", ["My", "7up", "a-b", "../x", ""])
def test_a_name_is_one_of_a_python_module(tmp_path, capsys, name):
    assert main(["new", name, "--folder", str(tmp_path)]) == 2
    assert "the name of a machine must be a-z" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["class", "statistics", "numpy", "npexplore"])
def test_a_python_file_hides_no_other_module(tmp_path, capsys, name):
    assert main(["new", name, "--folder", str(tmp_path), "--python"]) == 2
    assert f"{name}.py would hide what Python calls {name!r}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["new", name, "--folder", str(tmp_path)]) == 0  # a TOML file hides nothing


def test_a_folder_that_cannot_be_made_is_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["new", "mine", "--folder", str(tmp_path / "file" / "below")]) == 2
    assert "cannot be written" in capsys.readouterr().err


# bounds of 64-byte frames in Mpps by hand: cores x clock / cycles, pipelines x clock / (1 + recirculated), wires
BY_HAND = {
    "dpu": 16 * 2500 / 400, "switch": 4 * 1250 / 1.1, "fpga": 100e3 / 8 / 84, "multicore": 100e3 / 8 / 84,
    "chiplet": 64 * 1000 / 500, "ixp": 10e3 / 8 / 84,
    "bluefield3": 16 * 2500 / 300, "octeon10": 24 * 2500 / 400, "mount_morgan": 400e3 / 8 / 84,
    "alveo_u55c": 100e3 / 8 / 84, "tofino": 4 * 1250,
}  # fmt: skip


@pytest.mark.parametrize("kind", BY_HAND)
def test_a_template_has_the_bound_of_a_hand_calculation_and_queueing_close_to_simulation(tmp_path, capsys, kind):
    assert main(["new", "mine", "--template", kind, "--folder", str(tmp_path)]) == 0
    assert "--frame-bytes 64" in capsys.readouterr().out
    made, load = npx.design(tmp_path / "mine.toml"), npx.workload(frame_bytes=64)
    assert made.name == "mine"
    assert made.bounds(load).rate_pps / 1e6 == pytest.approx(BY_HAND[kind], rel=1e-6)
    assert made.queueing(load).rate_pps == pytest.approx(made.simulate(load, packets=3000).rate_pps, rel=0.1)


def test_an_unknown_template_is_told_with_the_nearest(tmp_path, capsys):
    assert main(["new", "mine", "--template", "swich", "--folder", str(tmp_path)]) == 2
    assert "template 'swich' is unknown (nearest: switch)" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
