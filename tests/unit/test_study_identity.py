"""The hash of a model covers whatever its design depends on, and nothing else."""

import pickle
from functools import partial

import pytest

import npexplore
from npexplore.designs import design
from npexplore.designs.base import Design
from npexplore.paths import PACKAGE
from npexplore.study.sweeping import identity
from npexplore.study.sweeping.identity import code_version, model_key

MACHINE = """
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import Processor
from npexplore.machine.resources.ingress import Ingress
from helper import CYCLES

def program(m, packet):
    m.me.compute(cycles=CYCLES)
    m.receive.free(bytes=packet.packet_bytes)

def design():
    me = Processor("me", engines=1, clock_hz=1e9)
    return Machine("mine", Pool("thread", 4, program, home="me"), Ingress("receive", 8192, 64), {"me": me})
"""


@pytest.fixture(autouse=True)
def forget():
    """Files are read once a process; here they change."""
    for cached in (identity._programs, identity._imported, identity._models):
        cached.cache_clear()
    yield
    for cached in (identity._programs, identity._imported, identity._models):
        cached.cache_clear()


def files_of(made):
    parts = {path.resolve() for path in identity._parts([made.build, made.own, made.dress], set())}
    while more := {file for path in parts for file in identity._imported(path)} - parts:
        parts |= more
    return {path.relative_to(PACKAGE).as_posix() for path in parts}


def test_imported_parts_of_a_design_count():
    assert {"designs/ixp2400/design.py", "designs/ixp2400/dram.py"} <= files_of(design("ixp2400_dram"))
    assert {"designs/raw/design.py", "designs/raw/chip.py", "designs/raw/traffic.py"} <= files_of(design("raw"))
    needed = {"designs/ixp1200/load.py", "golden/classify/linear.py", "golden/lookup/dir24_8.py", "golden/work.py"}
    assert needed <= files_of(design("ixp1200"))
    assert not any(name.startswith(("rows/", "machine/", "engine/", "solve/")) for name in files_of(design("ixp1200")))


@pytest.mark.parametrize("name", npexplore.design_names())
def test_every_design_has_a_key_that_its_values_change(name):
    made = design(name)
    number = next(k for k, p in made.parameters.file.parameter.items() if isinstance(p.value, float) and p.value)
    assert model_key(made) == model_key(design(name)) == model_key(pickle.loads(pickle.dumps(made)))
    assert model_key(made) != model_key(made.with_(**{number: float(made.parameters[number]) * 0.999}))


@pytest.mark.parametrize("place", ["models/raw/v1.toml", "models/parts/ddr_sdram.toml"])
def test_files_that_machines_read_count(tmp_path, monkeypatch, place):
    for name in ("raw/v1.toml", "parts/ddr_sdram.toml", "mixes/amp.toml"):
        path = tmp_path / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1")
    monkeypatch.setattr(identity, "share", lambda *parts: tmp_path.joinpath(*parts))
    before = identity._models()
    (tmp_path / "models/mixes/amp.toml").write_text("a = 2")  # a row knows the packets themselves
    identity._models.cache_clear()
    assert identity._models() == before
    (tmp_path / place).write_text("a = 2")
    identity._models.cache_clear()
    assert identity._models() != before


def test_a_file_of_ones_own_counts_with_its_neighbours(tmp_path):
    (tmp_path / "helper.py").write_text("CYCLES = 100\n")
    path = tmp_path / "mine.py"
    path.write_text(MACHINE)
    keys = [model_key(design(path))]
    for file, text in ((path, MACHINE + "\n# more\n"), (tmp_path / "helper.py", "CYCLES = 200\n")):
        file.write_text(text)
        for cached in (identity._programs, identity._imported):
            cached.cache_clear()
        keys.append(model_key(design(path)))
    assert len(set(keys)) == 3


def compiled(source):
    space = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), space)
    return Design.of("ixp2400", space["build"])


def test_a_function_of_a_notebook_counts_by_what_it_says():
    source = "CYCLES = 5\ndef inner(p):\n    return CYCLES\ndef build(p):\n    return inner(p)\n"
    first = model_key(compiled(source))
    assert model_key(compiled("\n\n" + source)) == first
    assert model_key(compiled(source.replace("5", "6"))) != first
    assert model_key(compiled(source.replace("CYCLES\ndef", "CYCLES + 1\ndef"))) != first


def test_closures_and_partials_are_looked_into():
    def build(factor, p):
        return factor

    base = design("ixp2400")
    keys = [model_key(Design("a", base.parameters, part)) for part in (build, partial(build, 1), base.build)]
    assert keys[0] == keys[1] != keys[2]


def test_the_version_tells_release_and_sources(monkeypatch, tmp_path):
    release, _, digest = code_version().partition("+")
    assert release == npexplore.__version__
    assert len(digest) == 8
    (tmp_path / "solve").mkdir()
    (tmp_path / "solve" / "a.py").write_text("pass")
    monkeypatch.setattr(identity, "PACKAGE", tmp_path)
    assert code_version.__wrapped__() != code_version()
