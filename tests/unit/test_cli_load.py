"""`npexplore load`: what it says, its JSON, its file and page, and what does not fit together."""

import json
from types import SimpleNamespace

import pytest

from npexplore.cli import main
from npexplore.cli.load import _row

SMALL = ("load", "smartnic", "--packet-bytes", "65", "--packets", "512")
POINT = {"solver", "offered_mpps", "rate_mpps", "loss", "packets", "latency_ns", "ci95", "line_rate_share"}


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys, *arguments):
    status, out, err = run(capsys, *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_the_sentence_comes_before_the_table(capsys, tmp_path):
    page = tmp_path / "load.html"
    status, out, err = run(capsys, *SMALL, "--html", str(page))
    first, _, heads, _, *rows = out.splitlines()
    assert (status, err) == (0, "")
    assert first.startswith("smartnic with 65 bytes, poisson arrivals, saturates at ")
    assert " Mpps by simulation (core), 100 Mpps by queueing (core)" in first
    assert heads.split("  ")[0] == "offered Mpps"
    assert "by" not in heads.split()  # nothing was estimated
    assert "queueing mean ns" in heads
    assert len(rows) == 20
    text = page.read_text()
    assert "smartnic over the load of 65 bytes" in text
    assert "https://" not in text.split("</script>")[-1]


def test_the_document_has_every_key_of_the_contract(capsys):
    found = document(capsys, *SMALL, "--rates", "10Mpps,1Gb/s")
    assert {"points", "ndr", "pdr"} <= set(found)
    assert (found["ndr"], found["pdr"]) == (None, None)
    assert [set(point) for point in found["points"]] == [POINT] * 4
    assert set(found["points"][0]["latency_ns"]) == {"mean", "p50", "p99", "p999"}
    offered = {round(point["offered_mpps"], 6) for point in found["points"]}
    assert offered == {10.0, round(1e9 / (8 * 65) / 1e6, 6)}
    spans = document(capsys, *SMALL, "--rates", "1Mpps..2Mpps")["points"]
    assert [spans[0]["offered_mpps"], spans[19]["offered_mpps"]] == pytest.approx([1.0, 2.0])


def test_a_search_tells_both_rates(capsys, tmp_path):
    kept = ("--out", str(tmp_path / "trials.parquet"))
    ask = ("load", "ixp2400", "--mix", "dos", "--search", "--packets", "256", *kept)
    found = document(capsys, *ask)
    assert set(found["ndr"]) >= {"rate_mpps", "low", "high"}
    assert [one["loss"] for one in found["pdr"]] == [0.005]
    assert found["ndr"]["low"] <= found["ndr"]["rate_mpps"] <= found["pdr"][0]["rate_mpps"]
    assert {point["solver"] for point in found["points"]} == {"simulation"}
    status, out, _ = run(capsys, *ask, "--resume", "--loss", "0.5%")
    assert status == 0
    assert out.splitlines()[1].startswith("PDR, 0.5 % lost: ")
    assert run(capsys, *ask)[2].endswith("resume it (--resume) or choose another file\n")


def test_own_packets_are_loaded(capsys):
    found = document(capsys, "load", "gorilla", "--rates", "100Mpps", "--arrivals", "batch:4", "--packets", "256")
    assert found["arrivals"] == "batch:4"
    assert [point["offered_mpps"] for point in found["points"]] == pytest.approx([100])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rate", "1Mpps"), "--rate does not fit: the load is what varies; give --rates A..B"),
        (("--speed", "2"), "--speed does not fit: the load is what varies; give --rates A..B"),
        (("--rates", "0Mpps..1Mpps"), "rate must be greater than 0, got '0Mpps'"),
        (("--rates", "-1Mpps"), "rate must be greater than 0, got '-1Mpps'"),
        (("--rates", "2Mpps..1Mpps"), "--rates must go upwards, got '2Mpps..1Mpps'"),
        (("--rates", "2..3"), "rate must be a number with a unit such as 2.5Mpps or 4Gb/s, got '2'"),
        (("--loss", "0.1"), "--loss does not fit: only --search looks for a loss"),
        (("--search", "--loss", "1"), "--loss needs shares from 0 to below 1 such as 0,0.005 or 0.5%, got '1'"),
        (("--search", "--loss", "-1%"), "--loss needs shares from 0 to below 1 such as 0,0.005 or 0.5%, got '-1%'"),
        (("--search", "--seeds", "2"), "--seeds does not fit: each trial of --search has a seed of its own"),
        (("--search", "--rates", "1Mpps"), "--rates does not fit: --search finds its loads itself"),
        (("--resume",), "--resume does not fit: there is no --out FILE to continue"),
        (("--arrivals", "saturated"), "a load needs packets that arrive at a rate (poisson, periodic, ...), got "
         "'saturated'"),
        (("--arrivals", "timestamps"), "workload '65 bytes' has no time stamps; choose saturated, poisson or periodic "
         "arrivals"),
        (("--set", "cores=0"), "knob cores must be in 1..256, got '0'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(capsys, options, said):
    assert run(capsys, *SMALL, *options) == (2, "", f"npexplore: {said}\n")


def test_a_loss_that_no_load_meets_is_one_line(capsys, tmp_path):
    """Every third packet is dropped, however few come."""
    machine = tmp_path / "lossy.toml"
    run(capsys, "new", "lossy", "--folder", str(tmp_path))
    text = machine.read_text().replace("m.line.send(bytes=packet.packet_bytes)\n", DROPS)
    machine.write_text(text + '\n[resource.police]\ntype = "policer"\nrates_pps = [1e12]\n')
    status, out, err = run(capsys, "load", str(machine), "--packet-bytes", "64", "--search", "--packets", "256")
    assert (status, out) == (2, "")
    assert err.startswith("npexplore: no load down to ")
    assert err.count("\n") == 1


DROPS = """with m.branch(0.3, "lost"):
    m.police.drop()
with m.otherwise():
    m.line.send(bytes=packet.packet_bytes)
"""


def test_rates_may_be_shares_of_the_highest(capsys):
    command = ["load", "smartnic", "--packet-bytes", "64", "--packets", "400", "--json", "--rates"]
    assert main([*command, "10%, 50%"]) == 0
    found = json.loads(capsys.readouterr().out)
    most = found["saturation"]["simulation"]["rate_mpps"]
    assert sorted({point["offered_mpps"] for point in found["points"]}) == pytest.approx([0.1 * most, 0.5 * most])
    for wrong in ("x%", "-5%", "nan%", "x%..50%"):
        assert main([*command, wrong]) == 2
        assert "rate of a load must be packets a second or a share such as '50%'" in capsys.readouterr().err
    assert main([*command, "50%..10%"]) == 2
    assert "--rates must go upwards" in capsys.readouterr().err


def test_an_estimate_has_half_of_its_interval_beside_its_mean():
    point = SimpleNamespace(latency_s={"mean": 2e-6, "p50": None, "p99": None, "p999": None}, solver="estimate",
                            ci95={"latency_s": (1e-6, 3e-6)}, rate_pps=1e6, line_rate_share=None, loss=0.0)  # fmt: skip
    row = _row(point, "", True)
    assert (row["mean ns"], row["+- ns"]) == pytest.approx((2000, 1000))
