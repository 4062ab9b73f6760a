"""M/D/c: constant service at several servers with Poisson arrivals (Crommelin, P.O.E.E. Journal 25, 1932).

    number waiting Z:  Z(t + s) = max(Z(t) + Poisson(a) - c, 0)          a = rate x s, s: service
    E[Z] = sum over i >= 1 of E[max(Poisson(i a) - i c, 0)] / i          (Spitzer, Trans. AMS 82, 1956)

Customers in service at t have left at t + s; later arrivals have not. One server: a^2 / (2 (1 - a)) (Pollaczek 1930).
"""

import numpy as np

FIRST_TERMS, MAX_TERMS = 64, 1 << 20
NEGLIGIBLE = 1e-10  # largest neglected term, relative to the sum


def mdc_waiting(offered: float, servers: int) -> float:
    """Return the mean number of waiting customers.

    offered: arrival rate x service time, less than `servers`.
    """
    if servers == 1:
        return offered**2 / (2 * (1 - offered))
    from scipy.special import gammainc  # imported here: the import takes as long as solving a small machine

    total, first = 0.0, 1
    while first < MAX_TERMS:
        i = np.arange(first, max(2 * first, FIRST_TERMS), dtype=float)
        first = int(i[-1]) + 1
        terms = offered * gammainc(i * servers, i * offered) - servers * gammainc(i * servers + 1, i * offered)
        total += float(np.maximum(terms, 0.0).sum())
        if terms[-1] <= NEGLIGIBLE * total:
            break
    return total
