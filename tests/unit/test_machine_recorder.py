"""The recorder: what a program may say, what it becomes, and one-line errors for what it may not."""

from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.small_machines import Probe, dram, machine, packets, solo, told

from npexplore.engine.model import build
from npexplore.errors import ModelError, UnknownNameError
from npexplore.machine.demands import demands
from npexplore.machine.machine import Machine, Pool
from npexplore.machine.program import Branch, Draw, Fork, Let, Loop, Parallel, Turn, Visit, record
from npexplore.machine.resources import Delay, FifoServer, Processor
from npexplore.machine.resources.ingress import Ingress
from npexplore.rows.expressions import Variable, ceildiv, evaluate, maximum, minimum, round_up, scaled
from npexplore.solve.bounds import bounds

US = 1e-6


def recorded(program, *resources, columns=("packet_bytes",)):
    named = {r.name: r for r in [Processor("me", 2, 1e9), FifoServer("hash", 1e-8), Delay("quiet"), *resources]}
    return record(program, named, {name: Variable(name) for name in columns})


def test_every_step_is_kept_in_order():
    def program(m, packet):
        n = m.let(packet.packet_bytes + 1)
        bank = m.draw(4, "bank")
        m.turn(2, "port")
        with m.loop(n) as i:
            m.me.compute(cycles=i * 2)
        with m.branch(bank > 1):
            m.hash.serve()
        with m.otherwise():
            m.me.compute(cycles=5)
        with m.fork():
            m.hash.serve()
        m.parallel(m.hash.serve, lambda: m.me.compute(cycles=1))

    body = recorded(program)
    assert [type(step) for step in body] == [Let, Draw, Turn, Loop, Branch, Fork, Parallel]
    assert [type(step) for step in body[3].body] == [Visit]
    assert [len(body[4].then), len(body[4].otherwise), len(body[5].body)] == [1, 1, 1]
    assert [len(part) for part in body[6].bodies] == [1, 1]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda m, p: m.hush.serve(), "resource 'hush' is unknown (nearest: hash)"),
        (lambda m, p: m.hash.server(), "visit of resource 'hash' 'server' is unknown (nearest: serve)"),
        (lambda m, p: m.me.compute(cycle=5), "operand of me.compute 'cycle' is unknown (nearest: cycles)"),
        (lambda m, p: m.me.compute(), "me.compute needs the operand 'cycles'"),
        (lambda m, p: m.me.compute(5), "me.compute takes its operands by name: cycles"),
        (lambda m, p: m.hash.serve(5), "hash.serve takes its operands by name: member"),
        (lambda m, p: p.packet_byte, "packet column 'packet_byte' is unknown (nearest: packet_bytes)"),
        (lambda m, p: m.me.compute(cycles="many"), "an operand must be a finite number or an expression"),
        (lambda m, p: m.me.compute(cycles=float("inf")), "an operand must be a finite number or an expression"),
        (lambda m, p: m.let(None), "an operand must be a finite number or an expression"),
        (lambda m, p: m.let(p.packet_bytes // 0), "division by zero"),
        (lambda m, p: m.let(p.packet_bytes / 0), "a program divides by numbers other than 0, or by // and ceildiv"),
        (lambda m, p: m.let(64 / p.packet_bytes), "a program divides by numbers, or by // and ceildiv"),
        (lambda m, p: m.let(p.packet_bytes / p.packet_bytes), "a program divides by numbers other than 0"),
        (lambda m, p: m.otherwise().__enter__(), "otherwise() must follow directly after a branch"),
        (lambda m, p: m.branch(1.5, "coin").__enter__(), "probability of branch 'coin' must be in [0, 1], got 1.5"),
        (lambda m, p: m.branch(True).__enter__(), "branch 'branch' needs a condition on the packet or a probability"),
        (
            lambda m, p: m.branch(p.packet_bytes + 4).__enter__(),
            "packet, such as (packet_bytes + 4) > 0, or a probability, got (packet_bytes + 4)",
        ),
        (lambda m, p: 1 if p.packet_bytes > 64 else 2, "used in Python's own `if`; record m.branch"),
        (lambda m, p: 1 if p.packet_bytes == 64 else 2, "used in Python's own `if`; record m.branch"),
        (lambda m, p: 1 if p.packet_bytes else 2, "used in Python's own `if`; record m.branch"),
        (lambda m, p: list(range(p.packet_bytes)), "used as a Python integer; record m.loop"),
        (lambda m, p: m.turn(0, "port"), "turn 'port' needs a whole number of at least 1, got 0"),
        (lambda m, p: m.draw(0, "bank"), "draw 'bank' needs a limit of at least 1, got 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_while_recording(program, message):
    with pytest.raises(ModelError if "unknown" not in message else UnknownNameError) as error:
        recorded(program)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_rate_divides_as_its_reciprocal_multiplies():
    over, times = (
        recorded(lambda m, p, seconds=seconds: m.quiet.wait(seconds=seconds(p)))[0].operands["seconds"]
        for seconds in (lambda p: p.packet_bytes / 1.25e9, lambda p: p.packet_bytes * 0.8e-9)
    )
    assert (over.name, over.left.name, over.right.value) == ("mul", "packet_bytes", times.right.value)


def test_otherwise_twice():
    def program(m, packet):
        with m.branch(packet.packet_bytes > 64):
            m.hash.serve()
        with m.otherwise():
            m.hash.serve()
        with m.otherwise():
            m.hash.serve()

    with pytest.raises(ModelError, match="and only once"):
        recorded(program)


def one_thread(program, *resources, load=None):
    """Return (demands, simulation) of a program."""

    def and_wait(m, packet):
        program(m, packet)
        m.quiet.wait(seconds=US)

    made = machine([FifoServer("hash", 1e-8), Probe("probe"), Delay("quiet"), *resources], and_wait)
    workload = load or packets(40, 64, 200)
    return told(made, workload), solo(made, workload)


def both(program, *resources, load=None):
    found, seen = one_thread(program, *resources, load=load)
    assert found.latency == pytest.approx(seen.latency, rel=1e-9)
    assert {n: found.counts[n] for n in seen.counts} == pytest.approx(seen.counts)
    return found


def test_loop_runs_count_times_and_counts_from_zero():
    def program(m, packet):
        with m.loop(packet.packet_bytes // 40) as i:  # 1, 1, 5 turns
            m.hash.serve()
            m.probe.see(value=i)

    found = both(program)
    assert found.servers["hash"].visits == pytest.approx(7 / 3)
    assert found.counts["probe.sum"] == pytest.approx(10 / 3)


@pytest.mark.parametrize("count", [0, -3])
def test_loop_of_nothing(count):
    def program(m, packet):
        with m.loop(count):
            m.hash.serve()

    assert both(program).servers == {}


def test_branch_takes_one_side_for_each_packet():
    def program(m, packet):
        with m.branch(packet.packet_bytes == 64):
            m.probe.see(value=1)
        with m.otherwise():
            m.probe.see(value=100)

    assert both(program).counts["probe.sum"] == pytest.approx(201 / 3)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (lambda x: x < 64, 1), (lambda x: x <= 64, 2), (lambda x: x == 64, 1), (lambda x: x != 64, 2),
        (lambda x: x >= 64, 2), (lambda x: x > 64, 1),
    ],
)  # fmt: skip
def test_each_condition(condition, holds):
    def program(m, packet):
        with m.branch(condition(packet.packet_bytes)):
            m.probe.see(value=1)

    assert both(program).counts["probe.sum"] == pytest.approx(holds / 3)


@pytest.mark.parametrize(("probability", "times"), [(0, 0), (1, 1), (1.0, 1)])
def test_certain_and_impossible_branches(probability, times):
    def program(m, packet):
        with m.branch(probability):
            m.probe.see(value=1)

    found, seen = one_thread(program)
    assert found.counts.get("probe.sum", 0) == seen.counts["probe.sum"] == times


def test_branch_by_probability():
    def program(m, packet):
        with m.branch(0.3, "coin"):
            m.probe.see(value=1)
        m.quiet.wait(seconds=US)

    made = machine([Probe("probe"), Delay("quiet")], program)
    seen = solo(made, packets(*[64] * 4000), rounds=1)
    assert told(made, packets(64)).counts["probe.sum"] == pytest.approx(0.3)
    assert seen.counts["probe.sum"] == pytest.approx(0.3, abs=4 * (0.21 / 4000) ** 0.5)


def test_turns_are_shared_by_all_threads():
    def program(m, packet):
        m.probe.see(value=m.turn(3, "port"))
        m.quiet.wait(seconds=US)

    made = machine([Probe("probe"), Delay("quiet")], program)
    assert solo(made, packets(*[64] * 6)).counts["probe.sum"] == 1


def test_parallel_lasts_as_long_as_its_longest_part():
    def program(m, packet):
        m.parallel(m.hash.serve, lambda: m.quiet.wait(seconds=3e-8), lambda: None)
        m.parallel()

    assert both(program).latency == pytest.approx(US + 3e-8)


def test_fork_does_not_hold_the_packet_up():
    def program(m, packet):
        with m.fork():
            m.hash.serve()

    found = both(program)
    assert found.latency == pytest.approx(US)
    assert found.servers["hash"].seconds == pytest.approx(1e-8)


def test_a_time_may_have_any_factor_but_a_number_must_be_whole():
    def program(m, packet):
        m.quiet.wait(seconds=packet.packet_bytes * 2.5e-9)

    assert both(program).latency == pytest.approx(US + 304 / 3 * 2.5e-9)
    for value in (lambda p: p.packet_bytes * 0.5, lambda p: 2.5):
        made = machine([Probe("probe"), Delay("quiet")], lambda m, p, v=value: m.probe.see(value=v(p)))
        with pytest.raises(ModelError, match=r"probe.see needs whole numbers here, got (0.5|2.5)"):
            build(made, packets(64))


def test_loop_index_is_gone_behind_its_loop():
    def program(m, packet):
        with m.loop(2) as i:
            m.hash.serve()
        m.probe.see(value=i)

    made = machine([FifoServer("hash", 1e-8), Probe("probe")], program)
    for solver in (bounds, build):
        with pytest.raises(ModelError, match="'index' is used outside the loop or branch that computes it"):
            solver(made, packets(64))


def test_value_of_a_branch_is_gone_behind_it():
    def program(m, packet):
        with m.branch(packet.packet_bytes > 64):
            x = m.let(packet.packet_bytes + 1, "longer")
        m.probe.see(value=x)

    made = machine([Probe("probe")], program)
    for solver in (bounds, build):
        with pytest.raises(ModelError, match="'longer' is used outside"):
            solver(made, packets(64))


def loops(depth, count):
    def program(m, packet):
        with ExitStack() as stack:
            for _ in range(depth):
                stack.enter_context(m.loop(count))
            m.quiet.wait(seconds=1e-9)

    return program


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda m, p: m.loop(m.draw(4, "n")).__enter__(), "the count of a loop must not depend on a random choice"),
        (lambda m, p: m.branch(m.draw(4, "n") > 1).__enter__(), "must not depend on a random choice by its condition"),
        (lambda m, p: m.dram.read(bytes=m.draw(4, "n"), bank=0), "operand 'bytes' of dram.read must not depend on a"),
        (lambda m, p: m.quiet.wait(seconds=m.draw(4, "n")), "operand 'seconds' of quiet.wait must not depend on a"),
        (lambda m, p: m.loop(10**6).__enter__(), "a loop runs 1000000 times; at most 100000 are supported"),
        (loops(30, 2), "the loops of a program, inside each other, run more than 10000000 times"),
        (loops(3, 1000), "the loops of a program, inside each other, run more than 10000000 times"),
        (lambda m, p: m.quiet.wait(seconds=-1e-9), "quiet.wait takes a negative time for some packets"),
        (lambda m, p: m.quiet.wait(seconds=(9 - p.packet_bytes) * 2), "quiet.wait takes a negative time for some"),
        (lambda m, p: m.let(1), "small: the program takes no time at any resource"),
    ],
)  # fmt: skip
def test_what_demands_cannot_tell_is_refused(program, message):
    with pytest.raises(ModelError) as error:
        bounds(machine([dram(), Delay("quiet")], program), packets(64, 128))
    assert message in str(error.value)


def test_turns_that_come_one_by_one_have_a_lower_limit():
    body = recorded(loops(2, 1000))
    assert demands(body, {}, np.ones(1)).latency == pytest.approx(1e-3)
    with pytest.raises(ModelError, match="inside each other, run more than 100000 times"):
        demands(body, {}, np.ones(1), at_once=1)


def test_a_hold_around_uneven_loops_is_the_same_turn_by_turn():
    bus, stage, size = FifoServer("bus", 9e-9), Delay("stage", 5e-9), Variable("packet_bytes")

    def program(m, packet):
        held = m.take("bus")
        with m.loop(packet.packet_bytes):
            m.stage.wait()
        m.give(held)

    body = record(program, {"bus": bus, "stage": stage}, {"packet_bytes": size})
    for at_once in (1, 8192):
        found = demands(body, {size: np.array([1.0, 3.0])}, np.array([0.5, 0.5]), at_once)
        assert found.servers["bus"].seconds == pytest.approx(10e-9, rel=1e-12)


def test_random_bank_counts_as_spread_evenly():
    def program(m, packet):
        m.dram.read(bytes=64, bank=m.draw(4, "bank"))
        m.dram.read(bytes=64, bank=(m.draw(4, "bank") + 1) % 4)
        m.dram.read(bytes=64, bank=2)

    bank = told(machine([dram()], program), packets(64)).servers["dram.bank"]
    assert bank.spread == pytest.approx(2 * bank.members[2])
    assert bank.seconds == pytest.approx(3 * bank.members[2])
    found = told(machine([dram()], program), packets(64))
    assert found.largest("dram.bank", 4) == pytest.approx(1.5 * bank.members[2])


# ---- expressions


def test_functions_of_expressions():
    x = Variable("x")
    at = {x: np.array([0.0, 1.0, 63.0, 64.0, 65.0])}
    assert evaluate(ceildiv(x, 64), at).tolist() == [0, 1, 1, 1, 2]
    assert evaluate(round_up(x, 64), at).tolist() == [0, 64, 64, 64, 128]
    assert evaluate(minimum(x, 64), at).tolist() == [0, 1, 63, 64, 64]
    assert evaluate(maximum(x, 64), at).tolist() == [64, 64, 64, 64, 65]
    assert evaluate(-x + 5, at).tolist() == [5, 4, -58, -59, -60]
    assert evaluate(100 // maximum(x, 1), at).tolist() == [100, 100, 1, 1, 1]
    assert evaluate(100 % maximum(x, 7), at).tolist() == [2, 2, 37, 36, 35]


def test_a_random_choice_makes_everything_unknown():
    x, y = Variable("x"), Variable("y")
    assert evaluate(x + y, {x: np.array([1.0]), y: None}) is None


@pytest.mark.parametrize("factor", [1.0, 1000.0, 333.3, 0.5])
@given(b=st.integers(0, 9000), w=st.integers(0, 200))
def test_fractions_inside_a_time_are_rounded_once(factor, b, w):
    """8 + 0.05 cycles a byte was a number for bounds, and refused by the engine."""
    x, y = Variable("x"), Variable("y")
    for made, exact in (
        (8 + x * 0.05, 8 + b * 0.05),
        ((x * 0.25 + 1.5) * y, (b * 0.25 + 1.5) * w),
        (maximum(x * 0.1, 7.5), max(b * 0.1, 7.5)),
        ((8.5 - x * 0.001) * 2, (8.5 - b * 0.001) * 2),
    ):
        got = evaluate(scaled(made, factor), {x: np.array(float(b)), y: np.array(float(w))})
        assert abs(got - exact * factor) <= 0.5 + (b + 1) * (w + 1) / 65536


@pytest.mark.parametrize("factor", [1.0, 2.5, 1666.67, 1 / 3, 7e-4])
def test_scaled_is_right_to_a_tick_for_ordinary_sizes(factor):
    x = Variable("x")
    values = np.array([0.0, 1.0, 64.0, 1500.0])
    exact = values * factor
    assert np.all(np.abs(evaluate(scaled(x, factor), {x: values}) - exact) <= 0.5 + values / 65536)
    assert np.all(np.abs(evaluate(scaled(x * 3, factor), {x: values}) - 3 * exact) <= 0.5 + values / 65536)


# ---- machines


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: machine([Delay("loop")], None), "no resource can be called 'loop': programs use that word"),
        (lambda: machine([Delay("facts")], None), "no resource can be called 'facts'"),
        (lambda: machine([Delay("receive")], None), "'receive' is the receive side; give the resource another name"),
        (lambda: machine([Delay("think")], None, threads=0), "small: threads must be an integer of at least 1, got 0"),
        (lambda: machine([Delay("think")], None, home="thin"), "small: home of the threads 'thin' is unknown"),
        (lambda: machine([dram()], None, home="dram"), "small: home of the threads 'dram' is unknown (nearest: dram."),
        (lambda: Ingress("receive", 63, 64), "receive: capacity_bytes must be an integer of at least 64, got 63"),
        (lambda: machine([Delay("think")], None, cell_bytes=0), "cell_bytes must be an integer of at least 1, got 0"),
    ],
)  # fmt: skip
def test_machines_that_cannot_be_are_refused(make, message):
    with pytest.raises((ModelError, UnknownNameError)) as error:
        make()
    assert message in str(error.value)


def test_a_resource_under_another_name_is_refused():
    with pytest.raises(ModelError, match="resource 'hash' is listed as 'hush'"):
        Machine("m", Pool("t", 1, None), Ingress("receive", 64, 64), {"hush": FifoServer("hash", 1e-8)})


def test_too_many_numbers_at_once():
    def program(m, packet):
        for k in range(30):
            m.let(packet.packet_bytes + k, f"n{k}")

    with pytest.raises(ModelError, match="keeps more than 23 numbers at once"):
        build(machine([Delay("quiet")], program), packets(64))
