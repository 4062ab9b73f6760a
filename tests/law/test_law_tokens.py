"""Token buckets and locks alone: exact waits and losses against cases that are known otherwise, and simulation."""

import pytest

import npexplore as npx
from npexplore.errors import RefusedError
from npexplore.solve.queueing.hand_over import HandOver
from npexplore.solve.queueing.token_bucket import bucket_loss, saved_tokens_wait


def test_one_token_is_a_line_of_constant_service():
    assert saved_tokens_wait(0.7, 1.0, 1) == pytest.approx(0.7 / 2 / 0.3)
    assert bucket_loss(1.5, 1) == pytest.approx(1.5 / 2.5)


def test_loss_of_two_places_is_the_chain_by_hand():
    """Left behind: 0 -> nobody comes in a service with e^-a; served while 1 + a = share of what is offered."""
    from math import exp

    load = 0.8
    assert bucket_loss(load, 2) == pytest.approx(1 - 1 / (exp(-load) + load))


def test_deep_buckets_delay_and_lose_less():
    waits = [saved_tokens_wait(0.9, 1.0, depth) for depth in (1, 2, 8, 64)]
    losses = [bucket_loss(0.9, depth) for depth in (1, 2, 8, 64)]
    assert waits == sorted(waits, reverse=True)
    assert losses == sorted(losses, reverse=True)
    assert bucket_loss(1.5, 200) == pytest.approx(1 / 3)  # what the rate leaves


@pytest.mark.parametrize(("depth", "load", "wait_ns"), [(2, 0.7, 6.0), (5, 0.95, 63.1)])  # simulated
def test_queueing_has_the_wait_for_saved_tokens(depth, load, wait_ns):
    (point,) = npx.resource("channel", rate_hz=1e8, depth=depth).explore(rate=load, solvers=["queueing"]).points
    assert point.latency_s == pytest.approx(wait_ns * 1e-9, rel=0.02)


def test_random_members_are_channels_of_their_own():
    lone = npx.resource("channel", rate_hz=1e8, members=2)
    queueing, theory = lone.explore(rate=["140Mpps"], solvers=["queueing", "theory"]).points
    assert queueing.latency_s == pytest.approx(saved_tokens_wait(0.7e8, 1e-8, 1))
    assert theory.latency_s == pytest.approx(queueing.latency_s)


@pytest.mark.parametrize(("threads", "rate"), [(1, 10.0), (2, 6.667), (8, 6.667)])  # of simulations, to the tick
def test_queueing_counts_hand_over_of_a_lock(threads, rate):
    lone = npx.resource("lock", held="100 ns", wake_cycles=50)
    (point,) = lone.explore(threads=threads, solvers=["queueing"]).points
    assert point.throughput_pps == pytest.approx(rate * 1e6, rel=1e-3)


def test_hand_over_behind_arrivals():
    plain, lock = HandOver(0.0, 1.0, 0.0, 0.0, 0.0), HandOver(0.0, 1.0, 0.0, 0.5, 0.0)
    assert plain.open(0.8) == pytest.approx(1 + 0.8 / 2 / 0.2, rel=1e-6)  # M/D/1
    assert lock.open(0.4) == pytest.approx(2.316, rel=0.01)  # simulated
    with pytest.raises(RefusedError, match="no steady state"):
        lock.open(0.7)
    with pytest.raises(RefusedError, match="takes longer for each sleeper"):
        lock._replace(waiter=0.01).open(0.1)
