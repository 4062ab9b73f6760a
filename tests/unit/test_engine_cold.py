"""Short runs are interpreted while the event loop is compiled, to the same bits; they change over at a batch's end."""

import numpy as np
import pytest

from npexplore._kernels import engine
from npexplore._kernels.golden_flow_counters import count as compiled_count
from npexplore.designs import design
from npexplore.engine import cold
from npexplore.engine.model import build
from npexplore.engine.run import run
from npexplore.jit import Kernel, files
from npexplore.machine.workload_sources import workload

plain_count = compiled_count.py_func
COUNT_ARGUMENTS = (
    np.zeros(1, np.int64),
    np.zeros((1, 2), np.int64),
    np.zeros((1, 3), np.uint64),
    np.zeros((1, 3), np.uint8),
)


class Compiler:
    """A process that ends after so many questions whether it has."""

    def __init__(self, questions):
        self.left = questions
        self.waited = False

    def poll(self):
        self.left -= 1
        return None if self.left > 0 and not self.waited else 0

    def wait(self):
        self.waited = True


@pytest.fixture
def compiler(monkeypatch):
    """A compiler that is busy at first; the kernel counts as not compiled."""
    busy = Compiler(5)
    monkeypatch.setattr(cold, "_ready", set())
    monkeypatch.setattr(cold, "_compilers", {})
    monkeypatch.setattr(type(engine.advance), "is_ready", lambda *arguments: False)
    monkeypatch.setattr(type(engine.advance), "compile_elsewhere", lambda *arguments: busy)
    return busy


@pytest.mark.parametrize("name", ["ixp2400", "smartnic"])  # without and with a DRAM controller
def test_interpreted_runs_give_the_same_bits(name, compiler, monkeypatch):
    made = design(name)
    model = build(made.machine(), workload(mix="amp"))
    interpreted = []
    monkeypatch.setattr(cold, "plain", lambda one: interpreted.append(one) or one.py_func)
    with np.errstate(over="ignore"):
        first = run(model, 3, 40, 8, accounts=True)
    assert len(interpreted) == 4  # of 8 batches; the compiler was ready then
    again = run(model, 3, 2000, 8)  # too long to be interpreted
    assert len(interpreted) == 4
    monkeypatch.undo()
    compiled = run(model, 3, 40, 8, accounts=True)
    for ours, theirs in zip(first.snapshots, compiled.snapshots, strict=True):
        for field in vars(ours):
            assert np.array_equal(getattr(ours, field), getattr(theirs, field)), field
    assert again.snapshots[-1].now > compiled.snapshots[-1].now


def test_a_long_run_waits_for_the_compiler(compiler):
    model = build(design("ixp2400").machine(), workload(packet_bytes=64))
    few = []
    with cold.meanwhile(lambda: few.append(run(model, 1, 10, 1))):
        run(model, 1, 2000, 2)
    assert len(few) == 1
    assert compiler.waited


def test_another_process_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv(files.ONLY, str(tmp_path))
    count = Kernel(plain_count, None, {})
    assert not count.is_ready(*COUNT_ARGUMENTS)
    with count.compile_elsewhere(*COUNT_ARGUMENTS) as compiler:
        assert compiler.wait() == 0
    assert count.is_ready(*COUNT_ARGUMENTS)


def test_the_compiler_ends_with_its_parent(tmp_path, monkeypatch):
    monkeypatch.setenv(files.ONLY, str(tmp_path))
    with Kernel(plain_count, None, {}).compile_elsewhere(*COUNT_ARGUMENTS) as compiler:
        compiler.stdin.close()  # as the system does when the parent is killed
        assert compiler.wait(timeout=600) == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_compiled_elsewhere_where_it_cannot_be_kept(monkeypatch):
    monkeypatch.setenv(files.ONLY, "/proc/none")
    assert Kernel(plain_count, None, {}).compile_elsewhere() is None
