"""`npexplore doctor` reports what it checked, repairs what it can, and says no if something stays broken."""

import json
from importlib.metadata import FileHash, PackagePath
from types import SimpleNamespace

from npexplore import installation
from npexplore.cli import main


def findings(capsys, *arguments):
    status = main(["doctor", *map(str, arguments), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["broken"] == sum(one["state"] == "broken" for one in document["findings"])
    assert status == (1 if document["broken"] else 0)
    return {one["subject"]: one for one in document["findings"]}


def test_libraries_and_files_of_an_installation(capsys, monkeypatch, tmp_path):
    (tmp_path / "a.py").write_text("1")
    hashes = {"a.py": "a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s", "b.py": "x", "c.py": None}
    files = [PackagePath(name) for name in hashes]
    for file in files:
        file.hash = FileHash(f"sha256={hashes[str(file)]}") if hashes[str(file)] else None
        file.dist = SimpleNamespace(locate_file=tmp_path.joinpath)
    requires = ["numpy>=2.2", "absent>=1; python_version > '3'", "jinja2>=99", "kaleido>=1; extra == 'png'"]
    known = {"npexplore": SimpleNamespace(requires=requires, files=files)}

    def distribution(name):
        if name == "absent":
            raise installation.PackageNotFoundError(name)
        return known.get(name, SimpleNamespace(version="3.1"))

    monkeypatch.setattr(installation, "distribution", distribution)
    told = findings(capsys)
    assert told["libraries"]["note"].startswith("absent is missing; jinja2 is 3.1, needed is at least 99")
    assert told["files"]["note"].startswith("missing or changed: b.py;")
    monkeypatch.undo()
    assert {one["state"] for one in findings(capsys).values()} == {"good"}
