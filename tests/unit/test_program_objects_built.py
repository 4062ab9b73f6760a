"""Objects of the test programs are those of their sources: by stored hashes, and compiled anew where clang 14 is."""

import hashlib
import re
import shutil
import subprocess

import pytest
from reference.ebpf_kernel import FOLDER, SHIPPED

import npexplore as npx
from npexplore.errors import InputError
from npexplore.programs.elf import program_names

SOURCES = sorted([*FOLDER.glob("*.c"), *SHIPPED.glob("*.c")])


def clang():
    """Return the compiler whose release made the objects, None where it is not installed."""
    for name in ("clang-14", "clang"):
        path = shutil.which(name)
        if path and re.search(r"version 14\.", subprocess.check_output([path, "--version"], text=True)):
            return path
    return None


def test_sources_and_objects_belong_together():
    lines = [line.split() for line in (FOLDER / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    stored = {(FOLDER / name).resolve(): digest for digest, name in lines}
    files = [one for folder in (FOLDER, SHIPPED) for one in folder.iterdir() if one.suffix in (".c", ".h", ".o")]
    changed = [one.name for one in files if stored.get(one) != hashlib.sha256(one.read_bytes()).hexdigest()]
    assert not changed, "run tests/programs/build"
    assert len(stored) == len(files)


if clang():

    @pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
    def test_an_object_is_what_the_compiler_makes(source, tmp_path):
        new = tmp_path / "x.o"
        flags = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-I", str(SHIPPED)]
        subprocess.run([clang(), *flags, "-c", str(source), "-o", str(new)], check=True)
        old = source.with_suffix(".o")
        assert program_names(new) == program_names(old)
        for name in program_names(new):
            one, other = npx.program(new, name), npx.program(old, name)
            assert (one.code, one.entries, one.maps) == (other.code, other.entries, other.maps)
            assert [(slot, line.line) for slot, line in one.lines.items()] == [
                (slot, line.line) for slot, line in other.lines.items()
            ]

    def test_maps_without_btf_are_refused_with_what_to_do(tmp_path):
        new = tmp_path / "x.o"
        flags = ["-O2", "-target", "bpf", "-mcpu=v3", "-I", str(SHIPPED)]
        subprocess.run([clang(), *flags, "-c", str(FOLDER / "tables.c"), "-o", str(new)], check=True)
        with pytest.raises(InputError, match=r"maps have no BTF: compile with clang -g"):
            npx.program(new, "flow_table")
