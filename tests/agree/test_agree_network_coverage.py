"""Features with exact answers: 95 % intervals of 200 seeds hold them in 90 to 99 %, and means are within 2 %."""

from statistics import fmean, stdev

import numpy as np
import pytest
from reference.network_truths import FEATURES, all_networks, value

from npexplore.networks.solve import solve_network

SEEDS = 200
CUSTOMERS, OF_BATCHES = 12_000, 40_000  # customers of one batch tell less than as many alone
NETWORKS = all_networks()
ALIKE = {  # what others have, too: mm1, md1; other times under the same discipline; rates or room alone
    "fifo exponential", "fifo deterministic", "fifo erlang", "fifo uniform", "ps exponential", "ps deterministic",
    "ps erlang", "ps uniform", "ps empirical", "delay uniform", "closed", "closed, servers and thinking",
    "ps rates, full", "fifo rates, full", "two servers full",
}  # fmt: skip
MOST_ERRORS = 5  # standard errors of the mean of all seeds
ROUNDING = 5e-4  # a clock of ten thousand ticks in the shortest mean, and the start from empty


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in ALIKE])
def test_intervals_hold_the_truth_and_means_are_right(name):
    network, truths = NETWORKS[name]
    customers = OF_BATCHES if name.startswith("batch") else CUSTOMERS
    runs = [solve_network(network, ["simulation"], [seed], customers)[0] for seed in range(SEEDS)]
    for one in runs[0].classes.values():
        known = [value for value in (one.p50, one.p95, one.p99) if value is not None]
        assert known == sorted(known)
        assert len(known) == 3 or name == "class_switching"  # where nobody leaves in the class that he came in
    for place, truth in truths.items():
        found = [value(run, place) for run in runs]
        inside = np.mean([run.ci95[place][0] <= truth <= run.ci95[place][1] for run in runs])
        assert 0.90 <= inside <= 0.99, (place, inside)
        assert fmean(found) == pytest.approx(truth, rel=0.02), place
        error = abs(fmean(found) - truth)
        assert error <= MOST_ERRORS * stdev(found) / SEEDS**0.5 + ROUNDING * truth, (place, error)


EXACT = {  # features that the queueing solver must know exactly; the others it approximates or refuses by name
    *(name for name in FEATURES if name.startswith(("fifo", "ps", "delay"))), "closed", "closed, servers and thinking",
    "two servers full", "priority", "preemptive", "loops", "mixed", "alike banks", "periodic", "on_off", "batch",
    "batch geometric",
}  # fmt: skip
NAMED = {
    "split": "fork 'both'", "closed blocking": "limited capacity",
    "engset": "limited capacity",
}  # fmt: skip


@pytest.mark.parametrize("name", FEATURES)
def test_queueing_is_exact_to_a_millionth_or_says_what_it_is_not(name):
    network, truths = NETWORKS[name]
    (found,) = solve_network(network, ["queueing"])
    assert found.exact == (name in EXACT)
    if not found.exact:
        assert NAMED[name] in (found.approximation or found.refused)
        return
    for place, truth in truths.items():
        assert value(found, place) == pytest.approx(truth, rel=1e-6), place
