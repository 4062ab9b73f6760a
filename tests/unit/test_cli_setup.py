"""`npexplore setup` says what is not installed and what needs it."""

import json
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from npexplore.cli import main, setup, warm

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def test_what_is_missing_is_told_with_what_needs_it(capsys, monkeypatch):
    lines = [f'{name}; extra == "{extra}"' for extra, names in EXTRAS.items() for name in names]
    monkeypatch.setattr(setup, "requires", lambda name: ["numpy>=2.2", *lines])

    def distribution(name):
        if name == "kaleido":
            raise PackageNotFoundError(name)

    monkeypatch.setattr(setup, "distribution", distribution)
    monkeypatch.setattr(setup.shutil, "which", lambda name: None if name == "tshark" else f"/usr/bin/{name}")
    assert main(["setup", "--no-warm", "--json"]) == 0
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)["optional"]}
    assert {name: row["missing"] for name, row in rows.items() if row["missing"]} == {
        "npexplore[png]": "kaleido",
        "tshark": "tshark",
    }
    assert all(row["for"] for row in rows.values())
    assert {f"npexplore[{extra}]" for extra in EXTRAS} <= rows.keys()
    assert main(["setup", "--no-warm"]) == 0
    assert capsys.readouterr().err.endswith("needed only for the above: npexplore[png], tshark\n")


def test_the_kernels_are_warmed_unless_told_otherwise(capsys, monkeypatch):
    warmed = []
    monkeypatch.setattr(warm.command, "callback", lambda **options: warmed.append(options))
    assert main(["setup", "--no-warm"]) == 0
    assert not warmed
    capsys.readouterr()
    assert main(["setup", "--json"]) == 0
    assert warmed == [{"pages": False, "generic": False, "wheel": None}]
    assert json.loads(capsys.readouterr().out)["kernels"] == "compiled"
