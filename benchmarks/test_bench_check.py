"""The cross-check of all papers: processor and wall time, and the share of it that traces and labels take."""

import time

import pytest
from reference.timing import held, record

from npexplore import reads
from npexplore.designs import design
from npexplore.machine.parameters import Parameters
from npexplore.study.checking.check import check
from npexplore.study.checking.labels import Labels

READS = 20_000  # of one parameter, with and without a trace


def cost_of_a_trace():
    """Return the seconds that a trace adds to reading a parameter."""
    parameters = design("raw").parameters

    def once():
        began = time.process_time()
        for _ in range(READS):
            parameters["word_bytes"]
        return (time.process_time() - began) / READS

    with reads.reading():
        traced = min(once() for _ in range(5))
    return traced - min(once() for _ in range(5))


@pytest.mark.parametrize("designs", [None, ["ixp1200"]], ids=["all", "ixp1200"])
def test_check(benchmark, monkeypatch, designs):
    counted, labelling = [0], [0.0]
    read, label = Parameters.__getitem__, Labels.__call__

    def counting(self, name):
        counted[0] += 1
        return read(self, name)

    def timed(self, *arguments):
        began = time.process_time()
        found = label(self, *arguments)
        labelling[0] += time.process_time() - began
        return found

    each = cost_of_a_trace()
    monkeypatch.setattr(Parameters, "__getitem__", counting)
    monkeypatch.setattr(Labels, "__call__", timed)

    def both():
        wall, used = time.perf_counter(), time.process_time()
        check(designs or (["ixp2400_dram"] if benchmark.disabled else None))
        wall, used = time.perf_counter() - wall, time.process_time() - used
        share = (counted[0] * each + labelling[0]) / used
        record(benchmark, wall_seconds=wall, processor_seconds=used, share_of_traces_and_labels=share)
        held(benchmark, share < 0.05)

    benchmark.pedantic(both, rounds=1, iterations=1)
