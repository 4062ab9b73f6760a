"""A crossing whose routes take time to change: queueing against simulation, its chain against both paths' numbers."""

import numpy as np
import pytest

import npexplore as npx
from npexplore.solve.queueing.message_times import Crossing, in_turn
from npexplore.solve.queueing.route_changes import Groups

PLACES = 40


def left_behind(rate, words, change):
    """Return the mean number in the system by the chain of (same path, other path) left behind, swept until still."""

    def come(hold):
        mean, chances = rate / 2 * hold, np.zeros(PLACES)
        chances[0] = np.exp(-mean)
        for k in range(1, PLACES):
            chances[k] = chances[k - 1] * mean / k
        return np.array([[chances[n - k] if n >= k else 0.0 for k in range(PLACES)] for n in range(PLACES)])

    few, many = come(words), come(words + change)
    pairs = np.zeros((PLACES, PLACES))
    pairs[0, 0] = 1.0
    for _ in range(1500):
        same, other = np.zeros_like(pairs), np.zeros_like(pairs)
        same[:-1, 0], other[:-1] = pairs[1:, 0], pairs[:, 1:].T
        same[0, 0] += pairs[0, 0] / 2
        other[0, 0] += pairs[0, 0] / 2
        pairs = few @ same @ few.T + many @ other @ many.T
        pairs /= pairs.sum()
    return float((pairs * np.add.outer(np.arange(PLACES), np.arange(PLACES))).sum())


@pytest.mark.parametrize(("rate", "words", "change"), [(0.034375, 16, 4), (0.02, 16, 16), (0.004, 64, 64)])
def test_the_chain_of_sums_is_that_of_pairs(rate, words, change):
    two = Groups((1, 1), words, change, 4, 4)
    assert two.time_in_system(rate, 0) * rate == pytest.approx(left_behind(rate, words, change), rel=2e-3)


def test_two_paths_at_random_have_closed_rates():
    """Of n - 1 that wait all are of the last path with chance 1 / 2 (n - 1); alone, half of them change."""
    two = Groups((1, 1), 16, 4, 4, 4)
    assert two.throughput(1) == pytest.approx(1 / (16 + 4 + 4 / 2))
    for threads in (2, 3, 4, 24):
        assert two.throughput(threads) == pytest.approx(1 / (16 + 4 * (1 - 1 / 2 / (threads - 1))))


def test_messages_in_turn_change_the_route_each_time():
    crossing = Crossing([(3, 4, 5), (1, 4, 7)], 4, 16, 4, 4)
    assert in_turn(crossing, 1)[0] == pytest.approx(1 / (20 + 4))
    assert in_turn(crossing, 2)[0] == pytest.approx(1 / (16 + 4))


@pytest.mark.parametrize(
    ("paths", "path", "change", "threads", "rate"),  # of simulations of 20,000 messages and more
    [
        (2, "round_robin", 16, 1, 27.78), (2, "random", 64, 4, 14.37), (3, "random", 16, 8, 22.02),
        (4, "random", 64, 1, 7.558), (4, "random", 16, 3, 24.28), (4, "round_robin", 16, 2, 21.74),
        (3, "round_robin", 16, 1, 17.34),
    ],
)  # fmt: skip
def test_queueing_counts_changes_of_route(paths, path, change, threads, rate):
    lone = npx.resource("crossing", paths=paths, path=path, change_cycles=change)
    (point,) = lone.explore(threads=threads, solvers=["queueing"]).points
    assert point.throughput_pps == pytest.approx(rate * 1e6, rel=0.02)


@pytest.mark.parametrize(
    ("paths", "path", "change", "rate", "latency"),
    [
        (2, "round_robin", 16, "25Mpps", 100.0), (2, "random", 16, "25Mpps", 65.80), (3, "random", 4, "25Mpps", 36.95),
        (4, "random", 16, "15.625Mpps", 91.90), (4, "round_robin", 16, "15.625Mpps", 127.28),
    ],
)  # fmt: skip
def test_queueing_counts_changes_of_route_behind_arrivals(paths, path, change, rate, latency):
    lone = npx.resource("crossing", paths=paths, path=path, change_cycles=change)
    (point,) = lone.explore(rate=[rate], solvers=["queueing"]).points
    assert point.latency_s == pytest.approx(latency * 1e-9, rel=0.04)


@pytest.mark.parametrize(
    ("arguments", "rate", "told"),
    [
        ({"change_cycles": 16}, "31Mpps", "waits are known up to 95%"),
        ({"change_cycles": 4, "turns": [[4, 0, 1]]}, "1Mpps", "no steady state"),
    ],
)
def test_what_is_not_known_is_refused(arguments, rate, told):
    (_, point) = (
        npx.resource("crossing", paths=2, **arguments).explore(rate=[rate], solvers=["bounds", "queueing"]).points
    )
    assert told in point.refused


def test_a_mean_that_does_not_exist_is_not_reported():
    lone = npx.resource("crossing", paths=2, path="random", turns=[[4, 0, 1]])
    points = lone.explore(rate=["1Mpps"], solvers=["bounds", "simulation"]).points
    assert [point.solver for point in points if point.refused and "no steady state" in point.refused] == ["simulation"]
    in_turn = npx.resource("crossing", paths=2, path="round_robin", turns=[[4, 0, 1]])
    assert in_turn.explore(rate=["1Mpps"], solvers=["simulation"]).points[0].refused is None


def test_turns_set_the_route_before_words_come():
    lone = npx.resource("crossing", paths=2, path="round_robin", change_cycles=16, turns=[[4, 0, 1]])
    queueing, run = lone.explore(threads=[1, 4], solvers=["queueing", "simulation"]).points[:2]
    assert queueing.throughput_pps == pytest.approx(run.throughput_pps, rel=0.01)
