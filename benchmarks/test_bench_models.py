"""Making a machine ready against asking it anew: the walk through a program, turns side by side against one by one; a
point that was asked before, or at another rate. Ratios of processor time, the best of several rounds in the same run.
"""

import pytest
from reference.timing import record, seconds

from npexplore.designs import design
from npexplore.designs.prepared import prepared
from npexplore.engine.model import build
from npexplore.machine.demands import demands
from npexplore.machine.workload_sources import workload
from npexplore.rows.expressions import Variable

MACHINES = {
    "ixp2400, 1500 bytes": ("ixp2400", {}, workload(packet_bytes=1500)),
    "ixp1200": ("ixp1200", {}, None),
    "raw v1, 1500 bytes": ("raw", {"version": "v1"}, workload(packet_bytes=1500)),
    "soclib": ("soclib", {}, None),
}
ROUNDS = 5


@pytest.mark.parametrize("name", [name for name in MACHINES if name != "ixp1200"])  # its first pool has no loop
def test_turns_side_by_side(benchmark, name):
    """Demands of the first pool's program."""
    which, knobs, given = MACHINES[name]
    made = design(which).with_(**knobs)
    machine, load = made.machine(), made.workload(given)
    columns, weights = load.distinct()
    variables = {column: Variable(column) for column in columns}
    body, known = machine.record(variables), {variables[column]: values for column, values in columns.items()}
    quick = seconds(lambda: demands(body, known, weights), ROUNDS)
    plain = seconds(lambda: demands(body, known, weights, at_once=1), ROUNDS)
    record(benchmark, ratio_to_turn_by_turn=plain / quick, seconds=quick)
    benchmark.pedantic(lambda: demands(body, known, weights), rounds=1)


@pytest.mark.parametrize("name", MACHINES)
def test_a_point_asked_again(benchmark, name):
    """Bounds of a kept machine against building it for the engine."""
    which, knobs, given = MACHINES[name]
    made = design(which).with_(**knobs)
    prepared(made, given).model()
    again = seconds(lambda: made.bounds(given), ROUNDS)
    anew = seconds(lambda: build(made.machine(), made.workload(given)), ROUNDS)
    record(benchmark, ratio_to_a_new_model=anew / again, new_model_seconds=anew)
    benchmark.pedantic(lambda: made.bounds(given), rounds=1)


def test_a_point_at_another_rate(benchmark):
    """The engine's rows for packets at another rate, their programs kept, against those of a machine made anew."""
    made, trace = design("raw").with_(version="v3", prefix="short"), workload(mix="raw_trace")
    rates = iter(range(1, 10 * ROUNDS))
    prepared(made.with_(offered_gbps=0.5), trace).model()
    again = seconds(lambda: prepared(made.with_(offered_gbps=next(rates)), trace).model(), ROUNDS)
    at = made.with_(offered_gbps=0.5)
    anew = seconds(lambda: build(at.machine(), at.workload(trace)), ROUNDS)
    record(benchmark, ratio_to_a_new_model=anew / again, new_model_seconds=anew)
    benchmark.pedantic(lambda: prepared(made.with_(offered_gbps=next(rates)), trace).model(), rounds=1)
