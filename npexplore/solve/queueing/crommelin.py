"""Constant service at several servers behind Poisson arrivals: M/D/c, by the equations of Crommelin.

    number(t + s) = max(number(t) - c, 0) + Poisson(rate s)          (Crommelin, P.O.E.E. Journal 25, 1932)

s: service. Who is served at t has left at t + s, and nobody who came since then; so the steady state is its own image.
"""

import numpy as np

MOST_THERE = 4000  # packets
MAX_ROUNDS = 100_000
STEADY = 1e-12  # change of the probabilities in a round


def mdc_waiting(offered: float, servers: int) -> float:
    """Return the mean number that wait.

    offered: arrival rate x service time, less than `servers`.
    """
    size = min(servers + int(40 / (1 - offered / servers)) + 40, MOST_THERE)
    k = np.arange(size)
    logs = k * np.log(offered) - offered - np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])
    arriving = np.exp(logs)
    p = np.zeros(size)
    p[0] = 1.0
    transfer = np.fft.rfft(arriving, 2 * size)
    for _ in range(MAX_ROUNDS):
        stay = np.zeros(size)
        stay[0] = p[: servers + 1].sum()
        stay[1 : size - servers] = p[servers + 1 :]
        after = np.fft.irfft(np.fft.rfft(stay, 2 * size) * transfer, 2 * size)[:size]
        after /= after.sum()
        change = float(np.abs(after - p).sum())
        p = after
        if change < STEADY:
            break
    return float(np.maximum(k - servers, 0) @ p)
