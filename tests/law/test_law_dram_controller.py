"""The scheduling DRAM controller equals one written apart, command for command, and keeps every rule of its device."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.dram_clock import Access, Asked, Controller
from reference.engine_arrays import FOREVER, Arrays, reference_state, streams
from reference.event_engine import Model, Row

from npexplore.machine.resources.dram_device import dram_devices
from npexplore.machine.resources.dram_policy import DramPolicy, block
from npexplore.machine.resources.dram_run import run_accesses


@st.composite
def cases(draw, name):
    """A device with few banks and frequent refreshes, a policy, and accesses that meet."""
    device = dram_devices()[name]
    groups = draw(st.sampled_from([1, 2, 4]))
    device = msgspec.structs.replace(
        device, groups=groups, banks=groups * draw(st.sampled_from([2, 1 if groups > 1 else 2])), t_refi=1500.0
    )
    writes = draw(st.sampled_from([0, 4, 8]))
    high = draw(st.integers(1, writes)) if writes else 0
    policy = DramPolicy(
        page=draw(st.sampled_from(["open", "closed", "adaptive"])), cap=draw(st.sampled_from([0, 1, 4])),
        close_after_s=draw(st.sampled_from([0.0, 0.0, 50e-9])), reads=draw(st.integers(1, 8)), writes=writes, high=high,
        low=draw(st.integers(0, high - 1)) if writes else 0, bank_queue=draw(st.sampled_from([0, 0, 1, 3])),
        entries_until=draw(st.sampled_from(["column", "row"])), refresh_holds=draw(st.sampled_from(["banks", "all"])),
        refresh=draw(st.sampled_from(["none", "all-bank"] + ["bank"] * (device.bank_refresh != "none"))),
    )  # fmt: skip
    n, rng = draw(st.integers(1, 60)), np.random.default_rng(draw(st.integers(0, 10**6)))
    gap = draw(st.sampled_from([0, 3, 20, 400]))
    times = np.cumsum(rng.integers(0, gap + 1, n))
    share, rows = draw(st.sampled_from([0.0, 0.4, 1.0])), draw(st.sampled_from([1, 2, 30]))
    bursts = rng.integers(1, draw(st.sampled_from([2, 4])), n)
    banks = rng.integers(0, device.banks * device.pseudo_channels, n)
    return device, policy, times, banks, rng.integers(0, rows, n), rng.random(n) < share, bursts


def assert_same_commands(device, policy, clocks, bank, row, write, bursts):
    """Assert commands, times and outcomes of accesses to be those of the controller written apart."""
    plain = Controller(device, policy)
    edge = device.t_ck * 1e-9 / plain.half
    accesses = zip(clocks * plain.half, bank, row, write, bursts, strict=True)
    accepted, finished, outcome, log = plain.run(
        [Access(k, int(t), int(b), int(r), bool(w), int(n)) for k, (t, b, r, w, n) in enumerate(accesses)]
    )
    run = run_accesses(
        device,
        policy,
        bank=bank,
        row=row,
        write=write,
        bursts=bursts,
        time_s=clocks * device.t_ck * 1e-9,
        commands=4000,
    )
    c = run.commands
    assert [*zip(np.rint(c.seconds / edge).astype(int).tolist(), c.names, c.bank.tolist(), strict=True)] == log
    assert np.rint(run.accepted_s / edge).tolist() == accepted
    assert np.rint(run.finished_s / edge).tolist() == finished
    assert run.outcome.tolist() == outcome


@pytest.mark.parametrize("name", sorted(dram_devices()))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_commands_are_those_of_a_controller_written_apart(name, data):
    assert_same_commands(*data.draw(cases(name)))


@pytest.mark.parametrize("name", sorted(dram_devices()))
def test_after_a_pause_reads_are_first(name):
    """A write and a read come together, up to 100 clocks after the last: between them nobody is inside."""
    random = np.random.default_rng(24)
    clocks = np.repeat(np.cumsum(random.integers(0, 101, 100)), 2)
    n, banks = len(clocks), dram_devices()[name].banks
    policy = DramPolicy(reads=4, writes=8, high=6, low=0, refresh="none")
    write = np.arange(n) % 2 == 0
    assert_same_commands(
        dram_devices()[name], policy, clocks, random.integers(0, banks, n), np.arange(n) % 3, write, np.ones(n, int)
    )


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_tokens_that_ask_go_on_when_those_of_the_plain_engine_do(data):
    """Threads wait, ask for a random bank and row, write or read, and finish packets: the same times to the tick."""
    plain = [name for name in sorted(dram_devices()) if Controller(dram_devices()[name], DramPolicy()).half == 1]
    device, policy, *_ = data.draw(cases(data.draw(st.sampled_from(plain))))
    pick = lambda low, high: data.draw(st.integers(low, high))  # noqa: E731
    ticks, units, program, starts = pick(1, 7), device.banks * device.pseudo_channels, [], []
    for _ in range(pick(1, 3)):
        starts.append(len(program))
        for _ in range(pick(1, 3)):
            program += [
                Row("DRAW", A=units, slot=5, x="BELOW"), Row("DRAW", A=pick(1, 3), slot=6, x="BELOW"),
                Row("WAIT", B=pick(0, 1) * pick(1, 4000), x="UNIFORM"), Row("SET", A=pick(1, 3), slot=7, x="ADD"),
                Row("ASK", rb=5, rc=6, slot=data.draw(st.sampled_from([-1, 7])), x=pick(0, 1)),
            ]  # fmt: skip
        program += [
            Row("DONE"), Row("SET", ra=15, B=1, slot=15, x="ADD"),
            Row("JUMP", ra=15, B=pick(1, 8), target=starts[-1], x="LT"), Row("END"),
        ]  # fmt: skip
    tokens = [(data.draw(st.sampled_from(starts)), [], data.draw(st.sampled_from([8, 8, 3, 14]))) for _ in range(9)]
    made = {"program": program, "resources": [(1, "FIFO")], "tokens": tokens, "streams": streams(program, pick(0, 99))}
    made["where"] = [0, *(k % 4 for k in range(len(program)))]
    assert_same_ends(made, device, policy, ticks, [pick(0, 20_000), FOREVER])


def assert_same_ends(made, device, policy, ticks, untils):
    """Assert that tokens that ask a controller are where those of the plain engine are, at ticks and at the end."""
    block_ = block(device, policy, device.t_ck * 1e-9 / ticks, len(made["tokens"]))
    model, kernel = Model(**made, controllers=[Asked(device, policy, ticks)]), Arrays(**made, blocks=[block_])
    for until in untils:
        assert kernel.advance(until) == model.advance(until, FOREVER, FOREVER)
        got, expected = kernel.state(), reference_state(model)
        for state in (got, expected):
            del state["clock"][1:3]  # how often a controller wakes
            state.pop("log")
        assert got == expected, [(k, got[k], expected[k]) for k in got if got[k] != expected[k]]
        assert kernel.tallied() == {place: spent for place, spent in model.tally.items() if spent}
    assert kernel.status == "FINISHED"


@pytest.mark.parametrize("pause", [200, 2000])
@pytest.mark.parametrize("first", ["write", "read"])
def test_tokens_that_ask_twice_after_a_pause(first, pause):
    """Both asks come at one tick, behind edges at which nobody was inside; of short pauses some end before any such."""
    device, policy = dram_devices()["ddr4_2400"], DramPolicy(reads=1, writes=4, high=3, low=0, refresh="none")
    program = [Row("WAIT", B=pause, x="UNIFORM")]
    for write in (first == "write", first == "read"):
        program += [
            Row("DRAW", A=device.banks, slot=5, x="BELOW"), Row("DRAW", A=2, slot=6, x="BELOW"),
            Row("ASK", rb=5, rc=6, slot=-1, x=int(write)),
        ]  # fmt: skip
    program += [
        Row("DONE"), Row("SET", ra=15, B=1, slot=15, x="ADD"), Row("JUMP", ra=15, B=100, target=0, x="LT"), Row("END")
    ]  # fmt: skip
    made = {"program": program, "resources": [(1, "FIFO")], "tokens": [(0, [], 8)] * 2}
    made |= {"streams": streams(program, 7), "where": [k % 4 for k in range(len(program) + 1)]}
    assert_same_ends(made, device, policy, 3, [FOREVER])
