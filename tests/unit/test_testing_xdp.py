"""XDP programs as routers under test: a right one and one with three faults, as a function and on the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from reference.ebpf_kernel import SHIPPED

import npexplore
from npexplore import program
from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.testing import XdpRouter, examine_router, write_tests


@pytest.mark.slow
def test_the_right_router_has_no_cluster_and_planted_faults_have_theirs():
    right, faulty = (XdpRouter(SHIPPED / f"{name}.o", "office") for name in ("router", "router_faulty"))
    assert examine_router(right.forward, right.router, max_examples=300).clusters == ()
    assert right.verdicts["redirect"] > 80
    found = examine_router(faulty.forward, faulty.router, max_examples=1000)
    titles = " ".join(one.title for one in found.clusters)
    assert len(found.clusters) == 4
    for words in ("no time to live is left", "checksum of what passes", "longer than the link allows", "total length"):
        assert words in titles


def test_conform_judges_an_object(capsys):
    words = ["--config", "office", "--frames", "100", "--json"]
    assert main(["conform", *words, "--xdp", str(SHIPPED / "router_faulty.o")]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "xdp"
    assert document["clusters"]
    assert main(["conform", *words, "--section", "router"]) == 2
    assert "--section, --map and --live are for --xdp" in capsys.readouterr().err


def test_failures_are_a_pytest_file(tmp_path, capsys):
    (tmp_path / "mine.o").write_bytes((SHIPPED / "router_faulty.o").read_bytes())
    words = ["conform", "--config", "office", "--frames", "60", "--xdp", str(tmp_path / "mine.o")]
    assert main([*words, "--tests", str(tmp_path / "test_failures.py"), "--json"]) == 1
    clusters = json.loads(capsys.readouterr().out)["clusters"]

    env = os.environ | {"PYTHONPATH": str(Path(npexplore.__file__).parents[1])}

    def results():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_failures.py"]
        told = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False).stdout
        return told.splitlines()[-1]

    assert f"{len(clusters)} failed" in results()
    (tmp_path / "mine.o").write_bytes((SHIPPED / "router.o").read_bytes())
    assert f"{len(clusters)} passed" in results()
    assert main(["conform", "--config", "office", "--as", "kernel", "--tests", str(tmp_path / "x.py")]) == 2
    assert "--tests is for --xdp and --as function" in capsys.readouterr().err
    loaded = XdpRouter(program(SHIPPED / "router.o"), "office")
    with pytest.raises(InputError, match="made from the names of its files"):
        write_tests(examine_router(loaded.forward, "office", max_examples=1), tmp_path / "x.py", loaded)


def test_frames_go_where_the_verdict_says():
    send = {
        verdict: XdpRouter(program(f"mov r0, {verdict}\nexit"), "office").forward(1, bytes(range(60)))
        for verdict in (0, 1, 2, 3)
    }
    assert send == {0: [], 1: [], 2: None, 3: [(1, bytes(range(60)))]}
    devices = ".map devices devmap 4 4 8\nlddw r1, map devices\nmov r2, 5\nmov r3, 0\ncall redirect_map\nexit"
    maps = {"devices": {(5).to_bytes(4, "little"): (3).to_bytes(4, "little")}}
    assert XdpRouter(program(devices), "office", maps=maps).forward(0, bytes(60)) == [(2, bytes(60))]


def test_maps_in_another_layout_are_refused():
    text = ".map hops lpm_trie 8 4 16\nlddw r1, map hops\nmov r0, 2\nexit"
    with pytest.raises(InputError, match="map 'hops' has another layout"):
        XdpRouter(program(text), "office")
