"""The border: public names are those that the page of names lists, and examples import nothing else."""

import subprocess
import sys

import pytest
from reference.public_names import PAGE, ROOT, blocks, deep_imports, public_packages, renewed

import npexplore
from npexplore.cli.new import write
from npexplore.names import listed_imports

PATTERNS = ("*.md", "docs/*.md", "docs/tutorials/*.md", "[!.]*/README.md", "notebooks/*.py", "models/template/**/*.py")
TEXTS = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))


def test_the_page_lists_the_public_names_and_no_others():
    assert PAGE.read_text() == renewed(PAGE.read_text()), "run python tests/reference/public_names.py"


def test_the_page_would_be_renewed():
    assert renewed(PAGE.read_text().replace("`Machine`, ", "")) == PAGE.read_text() != PAGE.read_text()[:-1]


@pytest.mark.parametrize("package", public_packages())
def test_every_public_name_is_there_and_nothing_else_is_shown(package):
    module = public_packages()[package]
    for name in module.__all__:
        assert getattr(module, name).__doc__ or name.isupper(), name
    if package != "npexplore.errors":
        assert [name for name in dir(module) if not name.startswith("__")] == module.__all__


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_import_public_names_alone(path):
    text = path.read_text()
    assert [name for code in ([text] if path.suffix == ".py" else blocks(text)) for name in deep_imports(code)] == []


@pytest.mark.parametrize("in_python", [False, True])
def test_a_new_machine_imports_public_names_alone(in_python, tmp_path):
    written = write("mine", tmp_path, in_python=in_python)
    assert [name for path in written if path.suffix == ".py" for name in deep_imports(path.read_text())] == []


@pytest.mark.parametrize(
    ("source", "deep"),
    [
        ("from npexplore.machine.machine import Machine", ["npexplore.machine.machine.Machine"]),
        ("from npexplore.machine import demands", ["npexplore.machine.demands"]),
        ("import npexplore.toml", ["npexplore.toml"]),
        ("from npexplore import syntax", ["npexplore.syntax"]),
        ("import npexplore as npx\nnpx.golden.lookup.Dir24_8()", ["npexplore.golden.lookup"]),
        ("from npexplore import papers\npapers.gorilla.area, papers.raw.today", ["npexplore.papers.raw.today"]),
        ("import npexplore as npx\nfrom npexplore.machine import Pool\nnpx.machine.Pool, npx.__version__", []),
    ],
)
def test_a_deep_import_is_seen(source, deep):
    assert deep_imports(source) == deep


def test_importing_the_package_imports_nothing_else():
    """Nor do inner modules that were imported before show among its names."""
    program = (
        "import sys; before = set(sys.modules); import npexplore; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('_'))); "
        "import npexplore.imports, npexplore.syntax, npexplore.rows; "
        "print([name for name in dir(npexplore) if name not in npexplore.__all__ and not name.startswith('__')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    imported, shown = run.stdout.splitlines()
    assert not {"numpy", "pandas", "click", "npexplore.designs", "npexplore.errors"} & {*eval(imported)}
    assert {name for name in eval(imported) if name.startswith("npexplore")} == {"npexplore", "npexplore.names"}
    assert shown == "[]"


def test_star_imports_bring_the_public_names():
    space = {}
    exec("from npexplore.errors import *", space)
    assert {*npexplore.errors.__all__} <= {*space}


def test_names_are_listed_by_imports_for_type_checkers():
    source = "if TYPE_CHECKING:\n    from a.b import one as one, two as both\nfrom a import three\n"
    assert listed_imports(source) == {"one": ("a.b", "one"), "both": ("a.b", "two")}
