"""Compiled kernels: when they are compiled, and how they are kept; damaged or foreign files count as missing."""

import ast
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from npexplore import kernel_entries, progress
from npexplore._kernels.caches import replay
from npexplore.errors import InputError
from npexplore.jit import files, kernel, plain, types
from npexplore.jit.dispatch import Cache
from npexplore.jit.wheel import add_kernels

KEY = "a kernel\nwith all that its code depends on"

PROGRAM = """
import numpy, sys
from npexplore.jit import kernel, types

@kernel(types.int64(types.int64[::1]))
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result

print("numba" in sys.modules, total(numpy.arange(5)))
"""


FACTORS = np.ones(1, np.uint64)


@kernel(_nrt=False)
def _mixed(word):
    return word * np.uint64(0x9E3779B97F4A7C15)


@kernel(types.uint64(types.uint64[::1]))
def mixed(words):
    result = np.uint64(0)
    for word in words:
        result ^= _mixed(word)
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, the only one in which kernels are looked for."""
    monkeypatch.setenv(files.ONLY, str(tmp_path))
    monkeypatch.setattr(files, "_reported", set())
    return tmp_path


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "cut off"),
        (lambda path: path.write_bytes(path.read_bytes()[:30]), "cut off"),
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: path.write_bytes(b"PK\x03\x04" * 20), "no compiled kernel"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"code", b"kode")), "changed"),
        (lambda path: files.write("it", KEY + " of another version", b"code") or newest(path).replace(path), "another"),
        (lambda path: path.unlink() or path.mkdir(), "directory"),
    ],
)
def test_a_damaged_file_is_missing_and_told_in_one_line(folder, capsys, damage, told):
    files.write("it", KEY, b"code")
    (path,) = folder.iterdir()
    assert files.read("it", KEY) == b"code"
    damage(path)
    assert files.read("it", KEY) is None
    assert files.read("it", KEY) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line
    assert told in line
    if path.is_file():
        files.write("it", KEY, b"code")
        assert files.read("it", KEY) == b"code"


def newest(path):
    """The entry beside this one."""
    return next(other for other in path.parent.iterdir() if other != path)


def test_the_doctor_removes_damaged_and_old_entries(folder):
    assert [one.state for one in kernel_entries.check([], True)] == ["good"]
    for name in ("cut", "whole", "old"):
        files.write(name, f"{KEY}\nsources {name}", b"code")
    cut, old, whole = sorted(folder.iterdir())
    cut.write_bytes(cut.read_bytes()[:-1])
    long_ago = folder / "killed.1.part"
    long_ago.touch()
    for path in (old, long_ago):
        os.utime(path, (0, 0))
    (looked,) = kernel_entries.check([], False)
    assert (looked.state, cut.exists(), old.exists()) == ("broken", True, True)
    (repaired,) = kernel_entries.check([], True)
    assert (repaired.subject, repaired.state) == (str(folder), "repaired")
    assert "removed: 1 damaged, 2 old" in repaired.note
    assert [*folder.iterdir()] == [whole]


def test_a_folder_that_cannot_be_written_is_told_once(folder, capsys, monkeypatch):
    (folder / "file").touch()
    monkeypatch.setenv(files.ONLY, str(folder / "file" / "inside"))
    files.write("it", KEY, b"code")
    files.write("it", KEY, b"code")
    assert files.read("it", KEY) is None
    assert capsys.readouterr().err.count("NUMBA_CACHE_DIR") == 1
    assert [one.state for one in kernel_entries.check([], True)] == ["broken"]


def test_what_a_wheel_ships_is_used_where_nothing_can_be_written(folder, monkeypatch):
    files.write("it", KEY, b"code")
    monkeypatch.delenv(files.ONLY)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/none")
    monkeypatch.setattr(files, "SHIPPED", folder)
    assert files.read("it", KEY) == b"code"


def test_a_wheel_of_other_kernels_is_refused(tmp_path):
    path = tmp_path / "npexplore-0.1-py3-none-any.whl"
    path.write_text("no archive")
    with pytest.raises(InputError, match="is no wheel"):
        add_kernels(path, [])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("npexplore/_kernels/engine.py", "SIZE = 1")
    with pytest.raises(InputError, match="holds other kernels"):
        add_kernels(path, [])
    assert [*tmp_path.iterdir()] == [path]


def test_kernel_files_import_only_the_decorator_and_each_other():
    """So the hash of a file and of those that it imports covers all that its code depends on."""
    for path in files.KERNELS.glob("*.py"):
        tree = ast.parse(path.read_text())
        froms = [
            (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        named = [f"{module}.{name}" if module == "npexplore._kernels" else module for module, name in froms]
        named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        ours = {name for name in named if name.startswith("npexplore")}
        kernels = {name for name in ours if name.startswith("npexplore._kernels")}
        assert ours - kernels <= {"npexplore.jit"}
        assert kernels == {f"npexplore._kernels.{name}" for name in files.imported(path.read_text())}


def test_a_change_in_an_imported_file_changes_the_hash(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "KERNELS", tmp_path)
    low, high = tmp_path / "low.py", tmp_path / "high.py"
    low.write_text("SIZE = 1\n")
    high.write_text("from npexplore._kernels.low import (\n    SIZE,\n)\n")
    before = files.source_digest(str(high))
    low.write_text("SIZE = 2\n")
    files._digest.cache_clear()
    assert files.source_digest(str(high)) != before


def test_kernels_go_to_other_processes_by_name():
    assert pickle.loads(pickle.dumps(replay)) is replay


def test_declared_types_are_compiled_at_the_first_call_and_others_refused():
    assert mixed(np.arange(3, dtype=np.uint64)) == plain(mixed)(np.arange(3, dtype=np.uint64))
    with pytest.raises(TypeError, match="argument"):
        mixed(np.arange(3.0))


def test_long_compilation_is_not_silent(folder, capsys, monkeypatch):
    monkeypatch.setattr(progress, "MAX_SILENCE_S", 0.01)
    monkeypatch.delenv("TQDM_DISABLE")
    line_written, write_line, save = threading.Event(), progress._write_line, Cache.save_overload

    def write_line_and_tell(*arguments):
        write_line(*arguments)
        line_written.set()

    def save_after_a_line(*arguments):
        assert line_written.wait(600)
        save(*arguments)

    monkeypatch.setattr(progress, "_write_line", write_line_and_tell)
    monkeypatch.setattr(Cache, "save_overload", save_after_a_line)

    @kernel()
    def slow(number):
        return _mixed(np.uint64(number)) * FACTORS[0]

    assert slow(1) == 0x9E3779B97F4A7C15
    told = capsys.readouterr().err
    assert told.startswith("npexplore: compiling kernels, once: test_jit.slow")
    assert "of 2 parts" in told
    assert not progress.is_reporting()


def test_processes_share_a_cold_folder_and_rebuild_what_is_damaged(folder):
    script = folder / "program.py"
    script.write_text(PROGRAM)

    def answers(processes):
        started = [
            subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        return [one.communicate() for one in started]

    assert answers(2) == [("False 10\n", "")] * 2
    (kept,) = [path for path in folder.iterdir() if path != script]
    kept.write_bytes(kept.read_bytes()[:1000])
    ((answer, told),) = answers(1)
    assert answer == "False 10\n"
    assert told.count("\n") == 1
    assert Path(kept).name in told
    assert answers(1) == [("False 10\n", "")]


USED = """
from importlib import import_module
from pkgutil import iter_modules
import npexplore._kernels as kernels
from npexplore.cli import warm
from npexplore.jit import Kernel
called = set()
each, parts = Kernel.__call__, Kernel.parts
def call(self, *arguments, **named):
    called.add(self)
    return each(self, *arguments, **named)
Kernel.__call__ = call
for use in warm.USES.values():
    use()
modules = [import_module(f"npexplore._kernels.{module.name}") for module in iter_modules(kernels.__path__)]
every = {one for module in modules for one in vars(module).values() if isinstance(one, Kernel)}
inside = set().union(*(parts(one) - {one} for one in every))
print(sorted(one.name for one in every - called - inside if one.declared is None and not one.is_part))
"""


@pytest.mark.slow
def test_warm_uses_every_kernel_whose_types_come_from_its_calls():
    """What it leaves out would compile at a user's first call, also where a platform wheel is installed."""
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
