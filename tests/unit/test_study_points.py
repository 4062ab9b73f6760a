"""Points of a study: what means the same is answered once, whatever was said."""

import pytest

from npexplore.designs import design
from npexplore.errors import NpexploreError
from npexplore.study.sweeping.points import Point, Predictions

FILE = design("ixp2400").parameters.file.parameter


def asked(*knobs, **options):
    predictions = Predictions(seeds=(1,), packets=64, **options)
    points = [Point.of("ixp2400", "amp", one) for one in knobs]
    predictions.fetch(points)
    return predictions, points


def test_a_knob_set_to_its_own_value_is_no_other_point():
    predictions, (plain, same, other) = asked({}, {"banks": FILE["banks"].value}, {"banks": 8})
    assert len(predictions.answers) == 2 * len(predictions.solvers)
    assert not predictions.tasks([same])
    assert predictions.at(same, "simulation", 1) is predictions.at(plain, "simulation", 1)
    assert predictions.at(other, "simulation", 1) != predictions.at(plain, "simulation", 1)


def test_an_override_is_another_point_than_the_value_that_it_replaces():
    own = FILE["banks"].value
    predictions, (plain, said) = asked({}, {"banks": own}, overrides={"banks": 2 * own})
    assert predictions.design_at(plain).parameters.banks == 2 * own
    assert predictions.first(said) is said
    assert predictions.at(plain, "bounds", 0) != predictions.at(said, "bounds", 0)


def test_a_point_that_needs_few_packets_has_the_warm_up_of_all():
    whole = Point.of("ixp2400", "dos", {})
    few = Point.of("ixp2400", "dos", {}, share=0.25)
    predictions = Predictions(seeds=(1,), packets=800, solvers=("simulation",))
    predictions.fetch([whole, few])
    load = predictions.workload("dos")
    for point, packets in ((whole, 800), (few, 200)):
        run = design("ixp2400").simulate(load, 1, packets=packets, warm_up=100)
        assert predictions.at(point, "simulation", 1).throughput_bps == run.throughput_bps
    assert Predictions(packets=800).at(few, "simulation", 1) == predictions.at(few, "simulation", 1)
    assert few.with_(banks=8).share == 0.25


def test_a_warm_up_is_cut_in_whole_batches():
    made = design("ixp2400")
    load = Predictions().workload("dos")
    usual = made.simulate(load, 1, packets=160)
    assert made.simulate(load, 1, packets=160, warm_up=20) == usual
    assert made.simulate(load, 1, packets=160, warm_up=11) == usual
    assert made.simulate(load, 1, packets=160, warm_up=0) != usual


def test_a_machine_that_cannot_be_has_no_answer_where_it_may_fail():
    """A scratchpad that holds no packet's segments."""
    cannot = {"scheme": "fcb_tb", "segment_bytes": 4096}
    point = Point.of("ixp2400", "dos", {})
    with pytest.raises(NpexploreError, match="bytes of scratchpad"):
        Predictions(packets=160, overrides=cannot).at(point, "simulation", 1)
    lenient = Predictions(seeds=(1,), packets=160, overrides=cannot, solvers=("bounds", "simulation"), may_fail=True)
    lenient.fetch([point])
    assert [lenient.at(point, solver, 1) for solver in ("bounds", "simulation")] == [None, None]
