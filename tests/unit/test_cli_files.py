"""Output files of commands: refused before the work begins."""

import os

import click
import pytest

from npexplore.cli import main
from npexplore.cli.files import OutputFile
from npexplore.errors import InputError
from npexplore.paths import share

CAPTURE = str(share("data", "captures", "zeek_wikipedia.pcap"))


def test_a_file_in_a_folder_that_takes_files(tmp_path):
    assert OutputFile().convert(str(tmp_path / "new.html"), None, None) == tmp_path / "new.html"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"new\.html: cannot be written: there is no folder .*none"):
        OutputFile().convert(str(tmp_path / "none" / "new.html"), None, None)


def test_a_folder_that_takes_no_files_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == tmp_path and mode == os.W_OK))
    with pytest.raises(InputError, match=r"cannot be written: folder .* is not writable"):
        OutputFile().convert(str(tmp_path / "new.html"), None, None)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(click.BadParameter, match="is a directory"):
        OutputFile().convert(str(tmp_path), None, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "convert", CAPTURE, "{}.parquet"],
        ["trace", "report", CAPTURE, "-o", "{}.html"],
        ["explain", "ixp2400", "--mix", "amp", "--html", "{}.html"],
        ["check", "--design", "ixp2400", "--markdown", "{}.md"],
        ["route", "--config", "office", "--in", f"office={CAPTURE}", "--out", "{}", "--drops", "{}.csv"],
        ["route", "--config", "office", "--in", f"office={CAPTURE}", "--out", "{}", "--report", "{}.html"],
    ],
    ids=["convert", "report", "explain", "check", "route drops", "route report"],
)
def test_commands_ask_before_they_work(arguments, tmp_path, capsys):
    target = tmp_path / "none" / "out"
    assert main([text.format(target) for text in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"cannot be written: there is no folder {target.parent}" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "suffix"),
    [
        (["explain"], ".toml"),
        (["solve"], ".toml"),
        (["solve"], ".pnml"),
        (["solve"], ".jsimg"),
        (["program", "list"], ".o"),
        (["explain", "smartnic", "--mix"], ".toml"),
        (["route", "--in", f"office={CAPTURE}", "--drops", "d.csv", "--config"], ".toml"),
    ],
)
def test_an_input_without_an_end_is_refused(arguments, suffix, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"endless{suffix}").symlink_to("/dev/zero")
    assert main([*arguments, f"endless{suffix}"]) == 2
    assert "has more than 67108864 bytes" in capsys.readouterr().err
