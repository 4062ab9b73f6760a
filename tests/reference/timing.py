"""Processor time of calls for the benchmarks: the shortest of several, beside a peer's in the same run."""

import time


def best(function, rounds=3):
    """Return the shortest processor time of a call, and its last result."""
    times, result = [], None
    for _ in range(rounds):
        began = time.process_time()
        result = function()
        times.append(time.process_time() - began)
    return min(times), result


def seconds(function, rounds=3):
    """Return the shortest processor time of a call."""
    return best(function, rounds)[0]


def fastest(benchmark):
    """Return the seconds of the quickest round; NaN where benchmarks only run once to show that they work."""
    return benchmark.stats.stats.min if benchmark.stats else float("nan")


def record(benchmark, **numbers):
    """Keep numbers with a benchmark, and print them."""
    benchmark.extra_info.update(numbers)
    print(", ".join(f"{name} {number:.4g}" for name, number in numbers.items()))


def held(benchmark, ratio):
    """Assert that a ratio of times is as wanted, where times are measured: not with `--benchmark-disable`."""
    assert benchmark.disabled or ratio
