"""Models that LINE's gallery and examples build, with LINE's answers as recorded by benchmarks/line_gallery.py."""

import gzip
import json
from fractions import Fraction
from math import factorial
from pathlib import Path

import pytest
from reference.line_answers import answers
from reference.line_models import graph_of

from npexplore.networks.solve import solve_network

RECORDED = Path(__file__).parent / "recorded" / "line_gallery.json.gz"
NEAR = 1e-4
ELSEWHERE = {
    "cqn_bas_blocking",  # LINE counts who is blocked at the full station; the throughputs are the same
    "ldes_warmstart",  # LINE's mean value analysis is approximate with 100 customers: see the last test
}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return answers(json.loads(gzip.decompress(RECORDED.read_bytes())))


def test_most_models_are_answered(found):
    answered = [one for one in found if one.solver]
    assert len(answered) >= 90


def test_what_is_not_answered_is_named(found):
    for one in found:
        assert one.how


def test_exact_answers_equal_the_exact_solvers_of_closed_models(found):
    compared = [one for one in found if one.closed and one.exact and one.error is not None]
    assert len(compared) >= 15
    far = [(one.name, one.nearest, one.error) for one in compared if one.error > NEAR and one.name not in ELSEWHERE]
    assert far == []


def test_where_line_differs_buzen_s_convolution_decides(found):
    """A delay of 1 s, queues of 1 s and 1 / 0.98 s, 100 customers: 33.71 at the first, 31.51 by LINE's MVA."""
    demands, N = (Fraction(1), Fraction(100, 98)), 100
    whole = [Fraction(1, factorial(n)) for n in range(N + 1)]  # Buzen, CACM 16, 1973, in whole numbers
    for one in demands:
        for n in range(1, N + 1):
            whole[n] += one * whole[n - 1]
    truth = [float(sum(one**k * whole[N - k] for k in range(1, N + 1)) / whole[N]) for one in demands]
    (model,) = [one for one in json.loads(gzip.decompress(RECORDED.read_bytes())) if one["name"] == "ldes_warmstart"]
    network = graph_of(model["model"]).network()
    for solver in ("queueing", "ctmc"):
        (ours,) = solve_network(network, [solver])
        assert [ours.stations[f"Queue{k}"].mean_number for k in (1, 2)] == pytest.approx(truth, rel=1e-8)
    theirs = {station: number for station, _, number, _ in model["answers"]["mva"]}
    assert abs(theirs["Queue1"] / truth[0] - 1) > 0.06
    assert {one.name for one in found if one.closed and one.exact and (one.error or 0) > NEAR} == ELSEWHERE
