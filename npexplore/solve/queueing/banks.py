"""Bank interference: n requesters with one outstanding request each on m random banks; and the crossbar limit.

In every cycle each bank with requests serves one; its requester then chooses a random bank again. Bandwidth is the mean
number of busy banks. States of the exact chain (Bhandarkar, IEEE Trans. Computers C-24, 1975) are the numbers of
requests at the banks in descending order. A saturated input-queued n x n crossbar with FIFO inputs is the same chain
with n banks: requests are the cells at the heads of the queues (Karol, Hluchyj, Morgan, IEEE Trans. Communications 35,
1987).
"""

from collections import Counter
from functools import lru_cache
from math import sqrt

import numpy as np

from npexplore.errors import RefusedError, one_of
from npexplore.solve.queueing.birth_death import long_run
from npexplore.solve.queueing.inputs import Floats, whole

MAX_STATES = 1500  # partitions of n into at most m parts; 22 requesters on 22 banks have 1002
BANK_MODELS = ("exact", "Strecker", "Baskett-Smith", "exponential")
LARGE_CROSSBAR = 2 - sqrt(2)  # the limit for many ports

State = tuple[int, ...]


def bank_bandwidth(requesters: int, banks: int, model: str = "exact") -> float:
    """Return the mean number of busy banks.

    requesters: n, each with one request at a time. banks: m. model: one of BANK_MODELS.

    exact: constant service of one cycle, blocked requests wait at their bank. Approximations of this case: Strecker,
    m (1 - (1 - 1/m)^n), which lets blocked requests choose again (up to 12 % too high); Baskett-Smith,
    n + m - 1/2 - sqrt((n + m - 1/2)^2 - 2 n m). exponential: exact for exponential service times, m n / (m + n - 1).

    Raises InputError, UnknownNameError; RefusedError where the exact chain has more than MAX_STATES states.
    """
    one_of("bank model", model, BANK_MODELS)
    n, m = (int(v) for v in whole(requesters=requesters, banks=banks))
    if model == "Strecker":
        return float(m * (1 - (1 - 1 / m) ** n))
    if model == "Baskett-Smith":
        half = n + m - 0.5
        return half - sqrt(half * half - 2 * n * m)
    if model == "exponential":
        return m * n / (m + n - 1)
    return _exact(n, m)


def crossbar_limit(ports: int) -> float:
    """Return the head-of-line limit: the saturated throughput of each port of an input-queued crossbar with FIFO.

    Exact (0.75 for 2 ports); raises RefusedError if the chain is too large. LARGE_CROSSBAR is the limit for many ports.
    """
    return bank_bandwidth(ports, ports) / ports


def _partitions(total: int, parts: int, largest: int) -> list[State]:
    if total == 0:
        return [()]
    if parts == 0:
        return []
    return [
        (first, *rest)
        for first in range(min(total, largest), 0, -1)
        for rest in _partitions(total - first, parts - 1, first)
    ]


def _count_partitions(total: int, parts: int) -> int:
    counts = [1] + [0] * total
    for part in range(1, parts + 1):  # as many partitions into at most `parts` parts as into parts up to that size
        for whole_sum in range(part, total + 1):
            counts[whole_sum] += counts[whole_sum - part]
    return counts[total]


@lru_cache(maxsize=1024)
def _exact(n: int, m: int) -> float:
    states = _count_partitions(n, m)
    if states > MAX_STATES:
        raise RefusedError(
            f"exact bank interference: {n} requesters on {m} banks have {states} states, more than {MAX_STATES}; "
            "use model 'Baskett-Smith' or 'Strecker'"
        )
    levels = [_partitions(total, m, total) for total in range(n + 1)]
    # issue[j][i]: distribution over states of n requests, when n - j more are issued in state i of j requests
    issue: list[Floats] = [np.eye(len(levels[n]))]
    for total in range(n - 1, -1, -1):
        transitions = np.zeros((len(levels[total]), len(levels[total + 1])))
        index = {state: i for i, state in enumerate(levels[total + 1])}
        for i, state in enumerate(levels[total]):
            for after, bank_count in _one_more(state, m).items():
                transitions[i, index[after]] = bank_count / m
        issue.insert(0, transitions @ issue[0])
    index_of = [{state: i for i, state in enumerate(level)} for level in levels]
    move = np.empty((states, states))
    for i, state in enumerate(levels[n]):
        unserved = tuple(requests - 1 for requests in state if requests > 1)
        move[i] = issue[n - len(state)][index_of[n - len(state)][unserved]]
    busy = np.array([len(state) for state in levels[n]])
    return float(long_run(move - np.eye(states)) @ busy)


def _one_more(state: State, banks: int) -> Counter[State]:
    """Return the states after one more request, with the number of banks that lead there."""
    padded = list(state) + [0] * (banks - len(state))
    after: Counter[State] = Counter()
    for bank in range(banks):
        grown = padded.copy()
        grown[bank] += 1
        after[tuple(sorted((count for count in grown if count), reverse=True))] += 1
    return after
