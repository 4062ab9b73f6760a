"""Step programs: what is checked, where steps are split, when there is a pipeline, what a trace becomes."""

import numpy as np
import pytest

from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.resources import Accelerator, Processor
from npexplore.machine.resources.ingress import Ingress
from npexplore.machine.step_programs import (
    Answer,
    Call,
    Composite,
    Field,
    Step,
    StepProgram,
    compile_steps,
    execute,
    lower,
    pipeline,
)
from npexplore.machine.workload import Workload
from npexplore.solve.bounds import bounds
from npexplore.solve.simulate import simulate


def program(calls=(), reads=(), goes=("last",)):
    made = StepProgram("p", "first", [Field("small", 100, lambda c: c.packet), Field("wide", 300, lambda c: c.packet)])

    @made.step(reads, calls, goes)
    def first(c):
        return goes[0]

    @made.step()
    def last(c):
        c.done = True

    return made


def groups(calls, **ports):
    return [[call.reply for call in s.calls] for s in compile_steps(program(calls), 128, ports).pieces["first"]]


def test_independent_calls_stay_together():
    assert groups([Call("a", "x"), Call("b", "y")]) == [["a", "b"]]


def test_a_call_that_takes_a_reply_waits_for_the_next_step():
    assert groups([Call("b", "y", ["a"]), Call("a", "x")]) == [["a"], ["b"]]
    assert groups([Call("a", "x"), Call("b", "y", when="a"), Call("c", "z", ["b"])]) == [["a"], ["b"], ["c"]]


def test_an_accelerator_takes_as_many_calls_as_it_has_ports():
    calls = [Call("a", "x"), Call("b", "x"), Call("c", "x"), Call("d", "y")]
    assert groups(calls) == [["a", "d"], ["b"], ["c"]]
    assert groups(calls, x=2) == [["a", "b", "d"], ["c"]]
    assert groups(calls, x=3) == [["a", "b", "c", "d"]]


def test_replies_of_each_other_are_refused():
    with pytest.raises(ModelError, match="calls take each other's replies: a, b"):
        groups([Call("a", "x", ["b"]), Call("b", "y", ["a"])])


@pytest.mark.parametrize(("reads", "bits"), [(["small"], [100]), (["small", "wide"], [128, 128, 128, 16]), ([], [0])])
def test_wide_reads_take_several_steps_and_calls_go_with_the_last(reads, bits):
    pieces = compile_steps(program([Call("a", "x")], reads), 128).pieces["first"]
    assert [piece.bits for piece in pieces] == bits
    assert [len(piece.calls) for piece in pieces] == [0] * (len(bits) - 1) + [1]
    assert pieces[-1].step is not None
    assert pieces[-1].goes == ("last",)


def test_what_is_wrong_with_a_program_is_said_before_it_runs():
    with pytest.raises(UnknownNameError, match="step that 'first' may go to"):
        compile_steps(program(goes=("lost",)))
    with pytest.raises(UnknownNameError, match="field that step 'first' reads"):
        program(reads=["smal"])
    with pytest.raises(ModelError, match="no step leads to last"):
        compile_steps(program(goes=("first",)))
    with pytest.raises(ModelError, match="replies must have different names"):
        program([Call("a", "x"), Call("a", "y")])
    with pytest.raises(ModelError, match="step 'first' is there already"):
        program().with_steps(program())
    with pytest.raises(ModelError, match="at least 1 bit wide, got 0"):
        compile_steps(program(), 0)
    with pytest.raises(ModelError, match="'x' must have at least 1 port, got 0"):
        groups([Call("a", "x")], x=0)


def test_an_accelerator_returns_an_answer():
    with pytest.raises(ModelError, match="accelerator 'x' must return an Answer, got 7"):
        execute(compile_steps(program([Call("a", "x")]), 128), {"x": lambda: 7})


def test_what_is_wrong_while_it_runs():
    with pytest.raises(UnknownNameError, match="accelerator of program 'p'"):
        execute(compile_steps(program([Call("a", "x")])), {})
    with pytest.raises(ModelError, match="takes 'key', which no step before has kept"):
        execute(compile_steps(program([Call("a", "x", ["key"])])), {"x": lambda key: Answer(key)})
    undeclared = StepProgram("u", "only", [Field("small", 8, lambda c: 0)])
    undeclared.add(Step("only", lambda c: c.read("small")))
    with pytest.raises(ModelError, match="read by a step that does not declare it"):
        execute(compile_steps(undeclared), {})
    jumps = StepProgram("j", "only")
    jumps.add(Step("only", lambda c: "elsewhere", goes=("only",)))
    with pytest.raises(ModelError, match="does not declare that it goes to 'elsewhere'"):
        execute(compile_steps(jumps), {})
    silent = StepProgram("s", "only")
    silent.add(Step("only", lambda c: None, goes=("only",)))
    with pytest.raises(ModelError, match="named no next step of only"):
        execute(compile_steps(silent), {})
    endless = StepProgram("e", "again")
    endless.add(Step("again", lambda c: "again", goes=("again",)))
    with pytest.raises(ModelError, match="does not end: 10000 steps"):
        execute(compile_steps(endless), {})


def test_a_call_may_be_left_out():
    made = compile_steps(program([Call("a", "x", when="wanted")]))
    assert execute(made, {"x": lambda: Answer(7)}, wanted=True).context.a == 7
    without = execute(made, {"x": lambda: Answer(7)}, wanted=False)
    assert without.context.a is None
    assert without.calls == []


def test_a_composite_uses_what_its_calls_use():
    inner = StepProgram("inner", "begin")

    @inner.step(calls=[Call("one", "memory", ["key"])], goes=["again"])
    def begin(c):
        c.key = c.one
        return "again"

    @inner.step(calls=[Call("two", "memory", ["key"])])
    def again(c):
        c.answer = c.two

    unit = Composite(compile_steps(inner), ("key",), {"memory": lambda key: Answer(key + 1, {"reads": 1})})
    trace = execute(compile_steps(program([Call("a", "unit", ["key"])])), {"unit": unit}, key=5)
    assert trace.context.a == 7
    assert trace.used() == {"reads": 2}


def test_a_pipeline_has_only_forward_jumps_and_constant_delays():
    made = compile_steps(program([Call("a", "x"), Call("b", "y")]))
    found = pipeline(made, {"x": 5, "y": 9})
    assert found.stages == (("first", 11), ("last", 2))
    assert found.latency_cycles == 13
    with pytest.raises(ModelError, match="'y' has no constant delay"):
        pipeline(made, {"x": 5, "y": None})
    with pytest.raises(UnknownNameError, match="delay of accelerator in step 'first'"):
        pipeline(made, {"x": 5})
    with pytest.raises(ModelError, match="'first' jumps back to 'first'"):
        pipeline(compile_steps(program(goes=("last", "first"))), {})


def test_paths_become_a_machine():
    """Two kinds of packets, one with a call of 3 reads, one of 1: the engine and the accelerator by hand."""
    made = compile_steps(program([Call("a", "unit", ["key"])]))
    unit = {"unit": lambda key: Answer(key, {"reads": key})}
    traces = [execute(made, unit, key=1 + 2 * (k % 2)) for k in range(10)]
    found = lower(traces)
    assert len(found.paths) == 1
    assert sorted(set(found.columns["used0"].tolist())) == [1, 3]
    resources = [Processor("engine", 1, 1e8), Accelerator("unit", 1e-8, 5e-8, word_s=1e-8)]

    def compute(m, requests, edits, first):
        m.engine.compute(cycles=requests + edits + (10 if first else 0))

    def visit(m, name, used):
        m.unit.call(words=used["reads"])

    work = found.record(compute, visit, lambda m, packet, step: None)
    columns = {"packet_bytes": np.full(10, 64), **found.columns}
    machine = Machine("m", Pool("t", 1, work, home="engine"), Ingress("receive"), {r.name: r for r in resources})
    load = Workload("two kinds", columns)
    cycles = 10 + 4 + 5 + 2  # header, two steps, delay, mean of 1 and 3 words
    assert bounds(machine, load).latency_s.mean == pytest.approx(cycles * 1e-8)
    assert simulate(machine, load, packets=1000).rate_pps == pytest.approx(1e8 / cycles, rel=1e-3)


def test_no_packets_no_paths():
    with pytest.raises(ModelError, match="at least one packet to find its paths"):
        lower([])
