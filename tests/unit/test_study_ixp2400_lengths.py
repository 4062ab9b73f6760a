"""Other mixes for the lost traces: each meets what is printed of lengths, and a check shows what they move."""

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.ledger import facts
from npexplore.machine.mixes import load_mix, solve_mix, standing_in
from npexplore.machine.workload_sources import workload
from npexplore.paths import share
from npexplore.study.checking.check import check
from npexplore.study.checking.sets import load_sets as recorded
from npexplore.study.papers.ixp2400 import lengths

SETS = lengths.load_sets()
MIXES = [pytest.param(file, id=f"{name} {file.name}") for name, one in zip(lengths.SHAPES, SETS, strict=False)
         for file in one.mix]  # fmt: skip


def test_the_file_is_what_would_be_written():
    assert lengths.written(SETS) == share("models", "sets", "ixp2400.toml").read_text()
    assert recorded("ixp2400") == SETS
    assert [len(one.mix) for one in SETS] == [3] * (len(lengths.SHAPES) + 1) + [0] * len(lengths.STRUCTURES)


@pytest.mark.parametrize("file", MIXES)
def test_each_mix_meets_every_printed_property(file):
    mix, printed = solve_mix(file), facts()
    below = printed[f"ixp2400.trace.below64.{file.name}"]
    assert below.inside(100 * mix.probability[:64].sum())
    used = np.flatnonzero(mix.probability)
    assert printed.value("ixp2400.packet.min") <= used[0] <= used[-1] <= printed.value("ixp2400.packet.max")
    assert printed["ixp2400.trace.mode_small"].inside(float(used[0]))
    assert mix.probability[1450:].sum() > 0.085  # a mode near 1500
    assert mix.mean_cells(64) == pytest.approx(file.target.mean_cells)
    assert abs(mix.mean_cells(64) / load_mix(file.name).mean_cells(64) - 1) < 0.01


def test_with_a_mode_at_64_bytes_as_many_packets_fit_the_chip_as_printed():
    full = dict(zip(lengths.SHAPES, SETS, strict=False))["64"]
    shares = {file.name: solve_mix(file).probability[:65].sum() for file in full.mix}
    assert shares == pytest.approx(lengths.ON_CHIP, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("k", [0, 3])
def test_the_hash_unit_is_as_busy_as_printed(k):
    at = design("ixp2400").with_(scheme="fcb_tb")
    for file in SETS[k].mix:
        with standing_in([file]):
            busy = at.simulate(workload(mix=file.name), 31, packets=20_000).utilization["hash"].busy
        assert 100 * busy == pytest.approx(facts()[f"ixp2400.fig13.hash.{file.name}"].point, rel=0.006)


def test_a_mix_stands_in_for_the_published_one_and_goes_again():
    before, other = load_mix("psc"), SETS[0].mix[2]
    with standing_in([other]):
        assert load_mix("psc").file == other
        assert load_mix("amp").file.name == "amp"
    assert load_mix("psc").file == before.file


def test_a_mean_is_fitted_to_the_shape(monkeypatch):
    def fitted(at, key):
        assert key == "ixp2400.fig13.hash.frg"
        assert load_mix("frg").file.title.endswith("a third mode at 576 bytes")
        return 9.6141

    monkeypatch.setattr(lengths, "fitted_mean", fitted)
    assert lengths.rebuilt("frg", "576") == SETS[0].mix[1]


def test_a_check_over_sets_tells_what_lengths_move():
    keys = ["ixp2400.fcb.on_chip_min", "ixp2400.fig12.bandwidth.amp.fcb_tb"]
    found = check(["ixp2400"], seeds=1, packets=800, keys=keys, sets=True)
    chip, bandwidth = found.rows
    assert chip["range"] == [pytest.approx(20, abs=0.3), pytest.approx(30, abs=0.1)]
    assert chip["bounds"] == pytest.approx(20.2, abs=0.1)
    assert bandwidth["range"][0] < bandwidth["range"][1]
    assert len(found.sets["ixp2400"]) == len(SETS)
