"""A device in Verilog under cocotb and Icarus, beside the golden router: right, and with a fault in its checksum."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "device"
TOML = """
port = [{name = "a", address = "10.0.0.1/24", mac = "02:00:00:00:00:01", peer_mac = "02:00:00:00:01:01"},
  {name = "b", address = "10.1.0.1/24", mtu = 576, mac = "02:00:00:00:00:02", peer_mac = "02:00:00:00:01:02"}]
route = [{prefix = "20.0.0.0/8", via = "10.1.0.2"}, {prefix = "21.0.0.0/8", via = "10.0.0.2"}]
"""


@pytest.mark.parametrize(("fault", "failed"), [(0, set()), (1, {"checksum of what passes"})])
def test_a_device_beside_the_golden_router(fault, failed, tmp_path, monkeypatch):
    from cocotb_tools.runner import get_runner  # a peer: the quick suite collects this file without it

    router, found = tmp_path / "router.toml", tmp_path / "found.json"
    router.write_text(TOML)
    monkeypatch.syspath_prepend(FOLDER)
    runner = get_runner("icarus")
    runner.build(
        sources=[FOLDER / "fast_path.v"],
        hdl_toplevel="fast_path",
        parameters={"FAULT": fault},
        build_dir=tmp_path,
        timescale=("1ns", "1ns"),
    )
    told = {"ROUTER": str(router), "FOUND": str(found)}
    try:
        runner.test(hdl_toplevel="fast_path", test_module="beside_golden", build_dir=tmp_path, extra_env=told)
    except SystemExit:
        assert fault
    read = json.loads(found.read_text())
    assert {row["rule"] for row in read["rules"] if row["failed"]} == failed
    assert bool(read["failures"]) == bool(fault)
