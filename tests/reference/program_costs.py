"""The test programs' paths, timed by this computer's kernel beside what its measured cost table says (as root).

`python tests/reference/program_costs.py` measures the table (some 30 s), then each path of the 46 programs of
tests/programs that repeats do not change; prints the errors of the whole time and of that beyond an empty program, of
the table and of two readers without a model.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.ebpf_kernel import first_contents, packets, programs

import npexplore as npx
from npexplore.errors import InputError
from npexplore.programs.measuring import measure, time_paths

PACKETS, SHORTEST_NS = 400, 5.0  # shorter ones are noise beside the empty program


def pairs(costs):
    """Yield what was timed of every path."""
    for file, name in programs():
        program = npx.program(file, name)
        try:
            yield from time_paths(program, packets(PACKETS, np.random.default_rng(1)), costs, first_contents(program))
        except InputError as error:
            print(f"{name}: {error}", file=sys.stderr)


def shown(values):
    """Return the median, nine tenths and the worst of some errors."""
    return " ".join(f"{np.quantile(abs(values), q):6.1%}" for q in (0.5, 0.9, 1.0))


def main():
    table = measure()
    found, whole = list(pairs(table.costs)), table.costs.empty_ns
    for one in found:
        print(f"{one.name:40} {one.measured_ns:8.1f} {one.predicted_ns:8.1f}")
    measured = np.array([one.measured_ns for one in found])
    counts = np.array([one.events.get("instruction", 0.0) for one in found])
    each = np.median(measured[measured > SHORTEST_NS] / counts[measured > SHORTEST_NS])
    readers = {  # two without a model are given the numbers that suit these paths best
        "events x costs": np.array([one.predicted_ns for one in found]),
        "instructions x one cost": counts * each,
        "one constant": np.full(len(found), np.median(measured)),
    }
    print(f"empty program {whole:.1f} ns; errors of {len(found)} paths in the median, at nine tenths, the worst")
    long = measured > SHORTEST_NS
    for name, predicted in readers.items():
        of_all, beyond = (predicted - measured) / (measured + whole), (predicted[long] / measured[long] - 1)
        print(f"{name:24} {shown(of_all)}   beyond an empty program, {long.sum()} paths: {shown(beyond)}")


if __name__ == "__main__":
    main()
