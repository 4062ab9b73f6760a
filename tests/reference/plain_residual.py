"""Residual-time mean value analysis of one network, written plainly: `_kernels/residual.py` has the same arguments."""

import numpy as np


def members_flow(n, others, wait, seen, demand, extra, members, shared, state):
    """Return the throughput of n customers, each of whom belongs to one of several servers; state: of the last n."""
    _, servers, customers = members
    passed = 0.0
    for same, count in shared[n - 1]:  # as many customers on one server
        if same and count:
            stays = others + demand * (1.0 + wait * (same - 1.0) / max(n - 1, 1) * seen)
            passed += count * same / max(stays, same * demand)
    for more, (there, flow) in enumerate(state if not len(shared[n - 1]) else ()):
        own, count = customers // servers + more, customers % servers if more else servers - customers % servers
        if own and count:
            part, meets = own * n / customers, (own - 1) / own * customers / max(customers - 1, 1)
            stays = others + demand * (1.0 + wait * meets * (there + flow * extra))
            flow = part / max(stays, part * demand)
            state[more] = part - flow * others, flow
            passed += count * flow
    return passed


def one_network(D, away, rates, extra, met, slowest, worst, varying, inside, members, shared, rising, N):
    """Yield for 1..N customers: throughput, that of the curve, queues (K,), chances by varying station."""
    K = len(D)
    queue, x, best, state = np.zeros(K), 0.0, 0.0, [(0.0, 0.0), (0.0, 0.0)]
    chances = [np.array([1.0]) for _ in varying]
    for n in range(1, N + 1):
        wait, there = met[n - 1], np.arange(1, n + 1)
        residence = D * (1.0 + wait * (queue + x * extra))
        apart = [D[k] / rates[k, np.minimum(there, rates.shape[1]) - 1] for k in varying]
        for k, few, seconds, p in zip(varying, inside, apart, chances, strict=True):
            at_once = np.minimum(there, few)
            all_of, within = there * seconds @ p, at_once * seconds[at_once - 1] @ p
            residence[k] = within + wait[k] * (all_of - within)
        total = away + residence.sum()
        if len(members):
            k = members[0]
            others, seen = total - residence[k], queue[k] + x * extra[k]
            total = n / members_flow(n, others, wait[k], seen, D[k], extra[k], members, shared, state)
            residence[k] = total - others
        least, slow = slowest[min(n, len(slowest)) - 1], worst[min(n, len(worst)) - 1]
        share = min(total / (n * least), 1.0) if least else 1.0
        if n * least > total:
            residence[slow] += n * least - total
        stays = 1.0 if len(members) and slow == members[0] else share
        state = [(one * stays, flow * share) for one, flow in state]
        x = n / max(total, n * least)
        best, queue = max(best, x) if rising else x, x * residence
        for at, (seconds, p) in enumerate(zip(apart, chances, strict=True)):
            some = x * seconds * p
            chances[at] = np.append(max(1.0 - some.sum(), 0.0), some / max(some.sum(), 1.0))
        yield x, best, queue, chances


def residual_curve(
    demands, away, rates, extra, met, slowest, worst, varying, inside, members, shared, rising, weights, throughput,
    queue_length, means, chances_met,
):  # fmt: skip
    """Fill throughput, queue_length, means and chances_met as the kernel does."""
    N = throughput.shape[1]
    for p in range(len(demands)):
        network = one_network(
            demands[p], away[p], rates[min(p, len(rates) - 1)], extra[p], met[:, min(p, met.shape[1] - 1)],
            slowest[:, p], worst[:, p], varying, inside, members, shared, rising, N,
        )  # fmt: skip
        if p == 0 and len(weights):
            chances_met[:, 0] = weights[0]
        for n, (x, best, queue, chances) in enumerate(network, 1):
            throughput[p, n - 1], queue_length[p] = best, queue
            if p == 0 and len(weights):
                means += weights[n] * np.append(x, queue)
                for here, row in zip(chances_met, chances, strict=True):
                    here[: n + 1] += weights[n] * row
