"""The test programs' paths, timed by this computer's kernel beside what its measured cost table says (as root).

`python tests/reference/program_costs.py` measures the table (some 30 s), then each path of the 46 programs of
tests/programs that repeats do not change; prints the errors of the time beyond an empty program and of the whole.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.ebpf_kernel import first_contents, packets, programs

import npexplore as npx
from npexplore.errors import InputError
from npexplore.programs.measuring import measure, time_paths

PACKETS, SHORTEST_NS = 400, 3.0  # shorter ones are noise beside the empty program


def pairs(costs):
    """Yield what was timed of every path."""
    for file, name in programs():
        program = npx.program(file, name)
        try:
            yield from time_paths(program, packets(PACKETS, np.random.default_rng(1)), costs, first_contents(program))
        except InputError as error:
            print(f"{name}: {error}", file=sys.stderr)


def main():
    table = measure()
    found = list(pairs(table.costs))
    whole = table.costs.empty_ns
    errors = np.array([abs(one.predicted_ns - one.measured_ns) / (one.measured_ns + whole) for one in found])
    beyond = np.array([abs(one.error) for one in found if one.measured_ns > SHORTEST_NS])
    for one in found:
        print(f"{one.name:40} {one.measured_ns:8.1f} {one.predicted_ns:8.1f}")
    for what, values in (("whole", errors), ("beyond empty", beyond)):
        print(what, len(values), *(f"{np.quantile(values, q):.1%}" for q in (0.5, 0.9, 1.0)))
    constant = np.array([one.measured_ns + whole for one in found])
    print("one constant", *(f"{np.quantile(abs(np.median(constant) / constant - 1), q):.1%}" for q in (0.5, 0.9, 1.0)))


if __name__ == "__main__":
    main()
