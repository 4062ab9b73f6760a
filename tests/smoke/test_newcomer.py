"""docs/dpu.md as a newcomer follows it: its files, its commands one after the other, and what it promises."""

import json
import re
import shlex
from pathlib import Path

import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.machine.resources.dram_device import dram_device

PAGE = (Path(__file__).parents[2] / "docs" / "dpu.md").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of the page."""
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        Path(re.match(r"# (\w+\.toml)\n", block)[1]).write_text(block)
    return tmp_path


def explained(capsys, *more):
    assert main(["explain", "dpu.toml", "--packet-bytes", "300", "--no-sensitivity", "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_bottleneck_is_what_the_page_says(folder, capsys):
    slow = explained(capsys)
    assert slow["bottleneck"] == "crypto.engine"
    assert slow["throughput_bps"] == pytest.approx(39e9, rel=0.01)
    assert slow["queueing"] is not None
    fast = explained(capsys, "--set", "crypto=10 GB/s")
    assert fast["bottleneck"] == "threads"
    assert fast["utilization"]["core"]["busy"] < 0.7
    assert explained(capsys, "--set", "crypto=10 GB/s", "--set", "cores=24")["rate_mpps"] > 1.2 * fast["rate_mpps"]
    memory = npx.design("dpu.toml").machine().resources["memory"]
    assert (memory.device, memory.channels) == (dram_device("lpddr5_6400"), 2)
    faster = npx.design("faster_dpu.toml")
    assert (faster.parameters.crypto, faster.machine().resources["memory"].policy.reads) == (10.0, 32)


@pytest.mark.slow
def test_the_commands_of_the_page_run_in_their_order(folder, capsys):
    text = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    lines = [line.partition("#")[0] for line in text.splitlines()]
    assert len(lines) == 6
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err


@pytest.mark.filterwarnings("default::npexplore.units.UnitWarning")
@pytest.mark.parametrize(
    ("clock", "status", "message"),
    [('"2.5 ns"', 2, "must be in Hz or another unit of frequency"), ("2.5", 0, "is it '2.5 GHz'?")],
)
def test_the_mistakes_of_the_page_are_told_as_it_says(folder, capsys, clock, status, message):
    Path("dpu.toml").write_text(Path("dpu.toml").read_text().replace('"= p.clock"', clock))
    assert main(["explain", "dpu.toml", "--packet-bytes", "300", "--no-sensitivity"]) == status
    assert capsys.readouterr().err.count(message) == 1
