"""Points of a study: what means the same is answered once, whatever was said."""

from npexplore.designs import design
from npexplore.study.sweeping.points import Point, Predictions

FILE = design("ixp2400").parameters.file.parameter


def asked(*knobs, **options):
    predictions = Predictions(seeds=(1,), packets=64, **options)
    points = [Point.of("ixp2400", "amp", one) for one in knobs]
    predictions.fetch(points)
    return predictions, points


def test_a_knob_set_to_its_own_value_is_no_other_point():
    predictions, (plain, same, other) = asked({}, {"banks": FILE["banks"].value}, {"banks": 8})
    assert len(predictions.found) == 2 * len(predictions.solvers)
    assert not predictions.tasks([same])
    assert predictions.at(same, "simulation", 1) is predictions.at(plain, "simulation", 1)
    assert predictions.at(other, "simulation", 1) != predictions.at(plain, "simulation", 1)


def test_an_override_is_another_point_than_the_value_that_it_replaces():
    own = FILE["banks"].value
    predictions, (plain, said) = asked({}, {"banks": own}, overrides={"banks": 2 * own})
    assert predictions.design_at(plain).parameters.banks == 2 * own
    assert predictions.first(said) is said
    assert predictions.at(plain, "bounds", 0) != predictions.at(said, "bounds", 0)
