"""The kernel's conformance table: docs/conformance.md is what was recorded, and the live kernel does the same."""

import json

import pytest
from reference.conformance_cases import DOCUMENT, MARKS, ROUTER, conformance, recorded, table

from npexplore.cli import main
from npexplore.testing import live_kernel
from npexplore.testing.examining import judge_of
from npexplore.testing.kernel_limits import Told
from npexplore.testing.linux_kernel import LinuxKernel

SMALL = """
port = [{name = "a", address = "10.0.0.1/24", mac = "02:00:00:00:00:01", peer_mac = "02:00:00:00:01:01"},
  {name = "b", address = "10.1.0.1/24", mtu = 576, mac = "02:00:00:00:00:02", peer_mac = "02:00:00:00:01:02"}]
route = [{prefix = "20.0.0.0/8", via = "10.1.0.2"}, {prefix = "21.0.0.0/8", via = "10.0.0.2"}]
"""


@pytest.fixture
def kernel():
    """A kernel router; tests that want one are left out where namespaces may not be made."""
    with LinuxKernel(ROUTER) as made:
        yield made


def test_the_document_has_the_table_of_the_recorded_answers():
    assert DOCUMENT.read_text().split(MARKS[0])[1].split(MARKS[1])[0] == table()


def test_the_command_examines_the_kernel_of_this_machine(kernel, tmp_path, capsys, monkeypatch):
    """No answer is lost to what the kernel told before: by its own profile nothing fails."""
    monkeypatch.setattr(live_kernel, "KERNELS", 12)  # a table with less, sooner
    file = tmp_path / "router.toml"
    file.write_text(SMALL)
    words = ["conform", "--config", str(file), "--as", "kernel", "--frames", "1", "--json"]
    assert main([*words, "--profile", "linux"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["router"].startswith("Linux ")
    assert found["failures"] == 0
    assert found["frames"] > 250
    held = {row["rule"]: row["held"] for row in found["rules"]}
    assert held["the router's message is sent"] > 50


def test_the_kernel_of_this_machine_holds_every_rule_of_its_profile(kernel):
    golden, told = judge_of(ROUTER, "linux"), Told(ROUTER)
    asked = [(port, frame) for port, frame, _ in recorded() if told.may_ask(port, frame, golden.forward(port, frame))]
    kernel.introduce(asked)
    found = conformance([(port, frame, kernel.forward(port, frame)) for port, frame in asked], "linux")
    assert found.frames > 500
    found.raise_if_failed()
