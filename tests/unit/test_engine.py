"""Each operation and each status of the event engine by a small example whose answer is worked out by hand.

Every example also runs on the plain reference, whose whole state must be the same.
"""

import math

import numpy as np
import pytest
from reference.engine_arrays import FOREVER, Arrays, reference_state, streams
from reference.event_engine import Model, Row

from npexplore._kernels import engine as e

GOLDEN = 0x9E3779B97F4A7C15
SERVER = (1, "FIFO")


def run(program, resources=(), tokens=1, until=FOREVER, until_done=FOREVER, stall=FOREVER, plain=True, **more):
    """Run on the kernel (and check the plain engine); `tokens` start at row 0 with their number in register 1."""
    if isinstance(tokens, int):
        tokens = [(0, [i], 8) for i in range(tokens)]
    more.setdefault("streams", streams(program, 0))
    description = {"program": program, "resources": resources, "tokens": tokens, **more}
    arrays = Arrays(**description, log_rows=1000)
    arrays.advance(until, until_done, stall)
    if plain:
        model = Model(**description)
        assert model.advance(until, until_done, stall) == arrays.status
        assert arrays.state() == reference_state(model)
    return arrays


def takes(arrays, resource=0):
    """(time, token) of each take and grant."""
    return [(time, token) for time, r, units, token in arrays.logged() if r == resource and units > 0]


def each(*programs):
    """Programs one behind the other, and one token at the start of each; jumps inside are relative to the start."""
    rows, tokens = [], []
    for i, program in enumerate(programs):
        tokens.append((len(rows), [i], 8))
        rows += [row._replace(target=row.target + len(rows)) for row in program]
    return rows, tokens


def hold(resource, ticks, units=1, at=0, **more):
    """Come at a time, hold units for a while, leave."""
    return [
        Row("WAIT", A=at),
        Row("TAKE", A=resource, B=units, slot=0, **more),
        Row("WAIT", A=ticks),
        Row("GIVE", slot=0),
        Row("END"),
    ]


def hold_all(members, ticks, at=0):
    """As `hold`, for several resources at once."""
    return [
        Row("WAIT", A=at),
        Row("ALL", x=len(members)),
        *(Row("END", A=resource, B=1, slot=i) for i, resource in enumerate(members)),
        Row("WAIT", A=ticks),
        *(Row("GIVE", slot=i) for i in range(len(members))),
        Row("END"),
    ]


# ---- taking and giving


def test_take_and_give_serve_one_after_the_other():
    arrays = run(hold(0, 5), [SERVER], tokens=3)
    assert arrays.status == "FINISHED"
    assert arrays.logged() == [(0, 0, 1, 0), (5, 0, -1, 0), (5, 0, 1, 1), (10, 0, -1, 1), (10, 0, 1, 2), (15, 0, -1, 2)]


def test_head_of_the_line_blocks_those_behind_it():
    program, tokens = each(hold(0, 10), hold(0, 4, units=2, at=1), hold(0, 1, at=2))
    assert takes(run(program, [(2, "FIFO")], tokens)) == [(0, 0), (10, 1), (14, 2)]


def test_newcomer_does_not_overtake_though_its_need_would_fit():
    program, tokens = each(hold(0, 10), hold(0, 4, units=2, at=1), hold(0, 1, at=14))
    assert takes(run(program, [(2, "FIFO")], tokens)) == [(0, 0), (10, 1), (14, 2)]
    program, tokens = each(hold(0, 20), hold(0, 4, units=2, at=1), hold(0, 1, at=14))
    assert takes(run(program, [(2, "FIFO")], tokens)) == [(0, 0), (20, 1), (24, 2)]


def test_try_goes_elsewhere_and_counts_a_refusal():
    attempt = [
        Row("TRY", B=1, slot=2, target=4),
        Row("WAIT", A=9),
        Row("GIVE", slot=2),
        Row("END"),
        Row("COUNT", B=1),
        Row("END"),
    ]
    arrays = run(attempt, [SERVER], tokens=3, counters=1)
    assert takes(arrays) == [(0, 0)]
    assert (arrays.counters[0], arrays.S[0, e.S_REFUSED], arrays.S[0, e.S_GRANTS]) == (2, 2, 1)


def test_put_feeds_a_semaphore():
    producer = [Row("WAIT", A=7), Row("PUT", B=2), Row("END")]
    consumer = [Row("TAKE", B=1), Row("END")]
    program, tokens = each(producer, consumer, consumer, consumer)
    arrays = run(program, [(0, "FIFO")], tokens)
    assert takes(arrays) == [(7, 1), (7, 2)]
    assert arrays.status == "DEADLOCK"


def test_taking_no_units_waits_its_turn_all_the_same():
    program, tokens = each(hold(0, 5), hold(0, 3, at=1), hold(0, 1, units=0, at=2))
    assert run(program, [SERVER], tokens).logged()[1:4] == [(5, 0, -1, 0), (5, 0, 1, 1), (5, 0, 0, 2)]


def test_all_waits_in_one_pool_where_whoever_fits_goes():
    program, tokens = each(hold(0, 10), hold(1, 5), hold_all([0, 1], 1, at=1), hold_all([1], 20, at=2))
    arrays = run(program, [SERVER, SERVER], tokens)
    assert takes(arrays, 0) == [(0, 0), (25, 2)]
    assert takes(arrays, 1) == [(0, 1), (5, 3), (25, 2)]


def test_all_that_wait_for_the_same_go_in_order_of_coming():
    program, tokens = each(hold(0, 10), *(hold_all([0, 1], 3, at=at) for at in (4, 2, 3)))
    assert takes(run(program, [SERVER, SERVER], tokens), 1) == [(10, 2), (13, 3), (16, 1)]


def test_all_does_not_pass_a_line_and_the_line_is_served_before_the_pool():
    program, tokens = each(hold(0, 10), hold(0, 4, units=2, at=1), hold_all([0, 1], 3, at=2))
    assert takes(run(program, [(2, "FIFO"), SERVER], tokens), 1) == [(14, 2)]


def test_pool_is_scanned_without_regard_to_lines():
    program, tokens = each(hold(0, 20), hold(1, 8), hold(0, 1, units=2, at=1), hold_all([0, 1], 3, at=2))
    assert takes(run(program, [(2, "FIFO"), SERVER], tokens), 1) == [(0, 1), (8, 3)]


# ---- lines


def line_of(discipline, keys, last=None):
    """Tokens come at 1, 2, ... with these keys while a first one (key `last`) holds the server; their order."""
    programs = [hold(0, 50, C=last or 0), *(hold(0, 1, at=i + 1, C=key) for i, key in enumerate(keys))]
    program, tokens = each(*programs)
    return [token - 1 for _, token in takes(run(program, [(1, discipline)], tokens))[1:]]


@pytest.mark.parametrize(
    ("discipline", "keys", "last", "order"),
    [
        ("FIFO", [3, 1, 2], 0, [0, 1, 2]),
        ("KEYED", [3, 1, 2], 0, [1, 2, 0]),
        ("KEYED", [2, 1, 2, 1], 0, [1, 3, 0, 2]),
        ("CYCLIC", [3, 1, 2], 0, [1, 2, 0]),
        ("CYCLIC", [3, 1, 2], 1, [2, 0, 1]),
        ("CYCLIC", [3, 1, 2], 3, [1, 2, 0]),
        ("CYCLIC", [1, 2, 1, 3], 1, [1, 3, 0, 2]),
    ],
)
def test_order_of_a_line(discipline, keys, last, order):
    assert line_of(discipline, keys, last) == order


def test_a_service_turns_a_cyclic_line_by_its_constant_key():
    serve = [Row("SERVE", B=50, z=2), Row("END")]
    program, tokens = each(serve, hold(0, 1, at=1, C=1), hold(0, 1, at=2, C=3))
    assert [token for _, token in takes(run(program, [(1, "CYCLIC")], tokens))] == [0, 2, 1]


def test_smaller_need_with_the_smaller_key_waits_for_the_next_release():
    program, tokens = each(hold(0, 10, units=2), hold(0, 4, units=3, at=1, C=5), hold(0, 1, at=2, C=1))
    assert takes(run(program, [(3, "KEYED")], tokens)) == [(0, 0), (10, 2), (11, 1)]


# ---- time


def note(number):
    """Append the token's number to global 0, as a digit."""
    return [
        Row("SET", x="READ", slot=2),
        Row("SET", ra=2, B=10, x="MUL", slot=2),
        Row("SET", ra=2, B=number, x="ADD", slot=2),
        Row("SET", rb=2, x="WRITE"),
    ]


def order_of(*programs, priorities=None, resources=()):
    """The digits noted by tokens that run these programs."""
    program, tokens = each(*programs)
    if priorities:
        tokens = [(row, registers, priority) for (row, registers, _), priority in zip(tokens, priorities, strict=True)]
    return run(program, resources, tokens, globals_=[0]).G[0]


def test_a_wait_of_nothing_does_not_give_way_but_a_service_of_nothing_does():
    wait = [Row("WAIT", A=0), *note(1), Row("END")]
    serve = [Row("SERVE", A=0, B=0), *note(2), Row("END")]
    assert order_of(serve, wait, resources=[SERVER]) == 12
    assert order_of(wait, serve, resources=[SERVER]) == 12


def test_tokens_of_one_instant_run_in_the_order_they_went_to_sleep():
    programs = [
        [Row("WAIT", A=first), Row("WAIT", A=10 - first), *note(number), Row("END")]
        for number, first in ((1, 3), (2, 1), (3, 2))
    ]
    assert order_of(*programs) == 231


def test_a_smaller_priority_goes_first_within_an_instant():
    programs = [[Row("WAIT", A=4), *note(number), Row("END")] for number in (1, 2, 3)]
    assert order_of(*programs, priorities=[8, 15, 0]) == 312


def test_initial_tokens_go_by_priority_then_index():
    assert order_of(*([*note(number), Row("END")] for number in (1, 2, 3, 4)), priorities=[8, 3, 8, 3]) == 2413


def test_a_granted_token_runs_behind_those_already_due_unless_its_priority_is_smaller():
    give = [Row("TAKE", B=1, slot=0), Row("WAIT", A=5), Row("GIVE", slot=0), *note(1), Row("END")]
    get = [Row("WAIT", A=1), Row("TAKE", B=1, slot=0), *note(2), Row("GIVE", slot=0), Row("END")]
    other = [Row("WAIT", A=5), *note(3), Row("END")]
    assert order_of(give, get, other, resources=[SERVER]) == 132
    assert order_of(give, get, other, resources=[SERVER], priorities=[8, 7, 8]) == 123


def test_own_priority_counts_from_the_next_scheduling_on():
    change = [Row("SET", A=99, x="PRIORITY", slot=3), *note(1), Row("WAIT", A=2), *note(2), Row("END")]
    other = [*note(3), Row("WAIT", A=2), *note(4), Row("END")]
    assert order_of(change, other) == 1342
    arrays = run(change, globals_=[0], until=1)
    assert (arrays.R[0, 3], arrays.T[0, e.T_PRIORITY]) == (8, 15)


def test_a_packet_may_be_born_again():
    """A latency counts from the time that is set; one that lies ahead is now."""
    later = [Row("SET", A=99, x="BORN", slot=3), Row("SET", x="BIRTH", slot=4), Row("WAIT", A=2), Row("DONE")]
    arrays = run([Row("WAIT", A=7), Row("SET", A=3, x="BORN"), Row("DONE"), *later, Row("END")])
    assert arrays.R[0, 3:5].tolist() == [7, 7]
    assert arrays.done[0, e.D_LATENCY] == 7 - 3 + 2


def test_a_service_is_drawn_on_arrival_and_granted_into_sleep():
    program = [Row("SERVE", A=0, B=10, x="EXPONENTIAL"), Row("END")]
    arrays = run(program, [SERVER], tokens=4, until=0)
    assert arrays.draws[0] == 4
    arrays.advance()
    assert arrays.clock[e.K_EVENTS] == 8  # four arrivals, four ends


@pytest.mark.parametrize(("start", "end"), [(2, 2), (3, 7), (6, 7), (7, 7), (12, 12), (13, 17), (29, 29), (33, 37)])
def test_window_sleeps_to_its_end(start, end):
    program = [
        Row("WAIT", A=start, x="UNTIL"),
        Row("WAIT", A=10, B=4, C=3, x="WINDOW"),
        Row("SET", x="NOW", slot=1),
        Row("END"),
    ]
    assert run(program).R[0, 1] == end


def test_window_without_a_period_and_a_time_that_is_past_are_no_wait():
    program = [
        Row("WAIT", A=9),
        Row("WAIT", B=4, x="WINDOW"),
        Row("WAIT", A=5, x="UNTIL"),
        Row("SET", x="NOW", slot=1),
        Row("END"),
    ]
    assert run(program).R[0, 1] == 9


# ---- processor sharing


def share(work, at=0, **more):
    """Come at a time with work for resource 0, write down when it is done."""
    return [Row("WAIT", A=at), Row("SHARE", B=work, **more), Row("SET", x="NOW", slot=5), Row("END")]


def ends(*programs, units=1, **more):
    """When each of these programs is done."""
    program, tokens = each(*programs)
    return run(program, [(units, "SHARED")], tokens, **more).R[:, 5].tolist()


def test_equal_jobs_share_and_end_together():
    assert ends(share(10), share(10)) == [20, 20]
    assert ends(share(10), share(10), units=2) == [10, 10]
    assert ends(share(10), share(10), share(10), units=2) == [16, 16, 16]  # two thirds, rounded down: 15 is too short


def test_a_short_job_overtakes_a_long_one():
    assert ends(share(100), share(5, at=20)) == [105, 30]
    assert ends(share(4), share(0, at=2)) == [4, 2]


def test_a_job_alone_on_many_processors_is_no_faster():
    assert ends(share(10), units=4) == [10]


def test_speeds_by_the_number_there():
    table = [[2**21], [3 * 2**20], [2**20]]  # 2, 3, 1 units of work a tick in all, the last from three on
    assert ends(share(20, z=1), tables=[table]) == [10]
    assert ends(share(30, z=1), share(30, z=1), tables=[table]) == [20, 20]
    assert ends(*[share(10, z=1)] * 4, tables=[table]) == [40] * 4


def test_negative_work_is_a_bad_operand():
    assert run(share(-1), [(1, "SHARED")]).error == (0, 1)


def test_in_order_of_coming_one_is_served_at_a_speed_that_depends_on_how_many_are_there():
    speeds = [[1 << 20, 0], [2 << 20, 0]]
    assert ends(share(10, z=-1), share(10, z=-1), tables=[speeds]) == [5, 15]
    assert ends(share(10, z=-1), share(3, at=4, z=-1), share(0, at=4, z=-1), tables=[speeds]) == [7, 9, 9]


def test_who_goes_first_interrupts_and_the_rest_of_the_work_waits():
    def urgent(priority, job):
        return [Row("SET", A=priority, x="PRIORITY"), *job]

    jobs = [share(10, z=-1), share(4, at=3, z=-1), urgent(2, share(5, at=2, z=-1)), urgent(0, share(1, at=4, z=-1))]
    assert ends(*jobs, tables=[[[1 << 20, 0]]]) == [16, 20, 8, 5]


def test_a_shared_resource_counts_who_is_there():
    program, tokens = each(share(10), share(10), share(10, at=5))
    arrays = run(program, [(2, "SHARED")], tokens, until=5)
    assert arrays.S[0, [e.S_FREE, e.S_LINE, e.S_MAX_LINE, e.S_GRANTS]].tolist() == [0, 1, 1, 3]
    assert arrays.T[:2, e.T_KEY].tolist() == [5 << 20, 5 << 20]
    arrays.advance()
    assert arrays.clock[e.K_EVENTS] == 3 + 1 + 3  # at the start, after the wait of 5, at the ends


@pytest.mark.slow
def test_md1_with_sharing_responds_like_mm1():
    """Poisson arrivals at load 0.8: the mean response is service / (1 - load), whatever the distribution."""
    source = [Row("WAIT", A=1250, x="EXPONENTIAL"), Row("FORK", x="NEW_PACKET", target=3), Row("JUMP")]
    job = [Row("SHARE", B=1000), Row("DONE"), Row("END")]
    arrays = run([*source, *job], [(1, "SHARED")], spare=2000, until_done=400_000, plain=False)
    assert arrays.done[0, 1] / arrays.done[0, 0] == pytest.approx(5000, rel=0.03)


# ---- numbers


@pytest.mark.parametrize(
    ("x", "a", "b", "value"),
    [
        ("ADD", 7, -9, -2),
        ("SUB", 7, 9, -2),
        ("MUL", -7, 9, -63),
        ("DIV", -7, 2, -4),
        ("DIV", 7, -2, -4),
        ("CEILDIV", 7, 2, 4),
        ("CEILDIV", -7, 2, -3),
        ("MOD", -7, 3, 2),
        ("MOD", 7, -3, -2),
        ("MIN", -1, 4, -1),
        ("MAX", -1, 4, 4),
        ("LEFT", 3, 5, 96),
        ("RIGHT", -5, 1, -3),
        ("NOW", 0, 0, 6),
        ("BIRTH", 0, 0, 2),
        ("LINE", 0, 0, 1),
        ("FREE", 1, 0, 3),
        ("READ", 1, 0, 20),
        ("WRITE", 1, 5, 5),
        ("FETCH_ADD", 1, 5, 20),
        ("SWAP", 1, 5, 20),
        ("PRIORITY", 3, 0, 8),
        ("ADD", 2**63 - 1, 1, -(2**63)),
    ],
)
def test_functions_of_set(x, a, b, value):
    main = [Row("WAIT", A=2), Row("DONE"), Row("WAIT", A=4), Row("SET", A=a, B=b, x=x, slot=5), Row("END")]
    program, tokens = each(main, hold(0, 90), hold(0, 90))
    arrays = run(program, [SERVER, (3, "FIFO")], tokens, globals_=[10, 20], until=6)
    assert arrays.R[0, 5] == value
    assert arrays.G[1] == {"WRITE": 5, "FETCH_ADD": 25, "SWAP": 5}.get(x, 20)


def test_table_takes_column_and_row_and_register_0_stays_0():
    program = [
        Row("SET", A=1, B=2, C=1, x="TABLE", slot=5),
        Row("SET", A=9, x="ADD", slot=0),
        Row("DRAW", A=9, slot=0),
        Row("DRAW", A=9, slot=-1),
        Row("END"),
    ]
    arrays = run(program, tables=[[[1]], [[1, 2, 3], [4, 5, 6]]])
    assert arrays.R[0].tolist() == [0, 0, 0, 0, 0, 6] + [0] * 18


@pytest.mark.parametrize(
    ("x", "true"), [("ALWAYS", "<=>"), ("LT", "<"), ("LE", "<="), ("EQ", "="), ("NE", "<>"), ("GE", "=>"), ("GT", ">")]
)
def test_conditions_of_jump(x, true):
    for sign, a in (("<", -1), ("=", 0), (">", 1)):
        program = [Row("JUMP", A=a, B=0, x=x, target=2), Row("END"), Row("COUNT", B=1), Row("END")]
        assert run(program, counters=1).counters[0] == (sign in true), (x, sign)


def test_random_numbers_are_splitmix64_of_the_row():
    """The generator's well-known first three outputs from state 0; tokens share the row's stream as they come."""
    program = [Row("DRAW", A=2**53, x="BELOW", slot=5), Row("END")]
    arrays = run(program, tokens=3, streams=[GOLDEN, 0])
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert arrays.R[:, 5].tolist() == [value >> 11 for value in known]
    assert arrays.draws.tolist() == [3, 0]


def drawn(kind, n=2000, **operands):
    """n draws of one row."""
    table = [[7, 2**51], [3, 2**52], [5, 2**53]]
    program = [
        Row("DRAW", x=kind, slot=5, **operands),
        Row("COUNT", ra=5, B=1),
        Row("SET", ra=1, B=1, slot=1),
        Row("JUMP", ra=1, B=n, x="LT"),
        Row("END"),
    ]
    return run(program, counters=64, tables=[table]).counters


@pytest.mark.parametrize(
    ("kind", "operands", "shares"),
    [
        ("UNIFORM", {"A": 3, "B": 6}, {3: 0.25, 4: 0.25, 5: 0.25, 6: 0.25}),
        ("BELOW", {"A": 2}, {0: 0.5, 1: 0.5}),
        ("EMPIRICAL", {"A": 0}, {7: 0.25, 3: 0.25, 5: 0.5}),
        ("HYPEREXPONENTIAL", {"A": 0, "B": 0, "C": 2**29}, {0: 1}),
        ("FIXED", {"A": 4}, {4: 1}),
    ],
)
def test_shares_of_discrete_draws(kind, operands, shares):
    counts = drawn(kind, **operands)
    assert set(np.flatnonzero(counts)) == set(shares)
    for value, share in shares.items():  # four standard errors
        assert abs(counts[value] / 2000 - share) <= 4 * (share * (1 - share) / 2000) ** 0.5


@pytest.mark.parametrize(("a", "b"), [(1, 2), (19, 2), (10, 1), (25, 1)])
def test_poisson_draws_have_the_shares_of_their_mean(a, b):
    """Chi-square of 2000 draws over the values that are expected at least five times."""
    mean = a / b
    expected = 2000 * np.array([math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(64)])
    counts, often = np.array(drawn("POISSON", A=a, B=b)), expected >= 5
    chi = ((counts - expected)[often] ** 2 / expected[often]).sum() + (counts - expected)[~often].sum() ** 2 / 5
    assert chi < often.sum() + 4 * (2 * often.sum()) ** 0.5


@pytest.mark.parametrize("last", [Row("END"), Row("WAIT", A=900)])
def test_the_next_event_is_another_tokens_or_the_end(last):
    """Of two tokens ready at once the first sees the other; alone for 7 ticks; then nothing up to the end at 100."""
    other = [Row("WAIT", A=9), last, Row("END")]
    program = [
        *(Row("SET", A=50, x="TO_NEXT", slot=1), Row("WAIT", A=2), Row("SET", A=50, x="TO_NEXT", slot=2)),
        *(Row("SET", A=5, x="TO_NEXT", slot=3), Row("WAIT", A=60), Row("SET", A=50, x="TO_NEXT", slot=4), Row("END")),
    ]
    arrays = run([*program, *other], tokens=[(0, [], 8), (len(program), [], 8)], until=100)
    assert arrays.R[0, 1:5].tolist() == [0, 7, 5, 38]


def test_empirical_weight_must_exceed_the_number():
    number = 0xE220A8397B1DCDAF >> 11
    program = [Row("DRAW", x="EMPIRICAL", slot=5), Row("END")]
    assert run(program, tables=[[[7, number], [3, number + 1], [5, 2**53]]], streams=[GOLDEN, 0]).R[0, 5] == 3


def test_empirical_weights_that_do_not_reach_the_end_give_the_last_row():
    program = [Row("DRAW", x="EMPIRICAL", slot=5), Row("END")]
    assert run(program, tables=[[[7, 0], [3, 0]]]).R[0, 5] == 3


# ---- packets


@pytest.mark.parametrize(
    ("latency", "place"),
    [
        (0, 0),
        (31, 31),
        (32, 32),
        (63, 63),
        (64, 64),
        (65, 64),
        (66, 65),
        (127, 95),
        (128, 96),
        (1000, 190),
        (2**40, 32 * 35 + 32),
    ],
)
def test_histogram_is_exact_below_64_then_32_bins_an_octave(latency, place):
    arrays = run([Row("WAIT", A=latency), Row("DONE", A=1, B=60, C=64), Row("END")], classes=2)
    assert np.flatnonzero(arrays.hist[1]).tolist() == [place]
    assert arrays.done.tolist() == [[0, 0, 0, 0], [1, latency, 60, 64]]


def test_done_starts_the_next_packet():
    arrays = run([Row("WAIT", A=5), Row("DONE"), Row("JUMP")], until=23)
    assert arrays.done[0].tolist() == [4, 20, 0, 0]
    assert arrays.hist[0, 5] == 4


def test_fork_copies_registers_and_runs_behind_all_that_is_ready():
    parent = [Row("SET", A=6, slot=7), Row("FORK", target=4), *note(1), Row("END")]
    parent[1] = parent[1]._replace(target=len(parent))
    parent += [Row("SET", ra=7, A=1, slot=8), *note(2), Row("END")]
    other = [*note(3), Row("END")]
    program, tokens = each(parent, other)
    arrays = run(program, tokens=tokens, globals_=[0], spare=1)
    assert arrays.G[0] == 132
    assert (arrays.R[0, 8], arrays.R[2, 7], arrays.R[2, 8]) == (0, 6, 7)


@pytest.mark.parametrize(("mode", "latency"), [("DETACHED", 8), ("NEW_PACKET", 3)])
def test_birth_of_a_forked_token(mode, latency):
    program = [Row("WAIT", A=5), Row("FORK", x=mode, target=3), Row("END"), Row("WAIT", A=3), Row("DONE"), Row("END")]
    assert run(program, spare=1).done[0, 1] == latency


def test_fork_hands_a_hold_over_into_the_childs_slot_0():
    program = [
        Row("TAKE", B=1, slot=5),
        Row("FORK", slot=5, target=4),
        Row("TAKE", A=1, B=1, slot=5),
        Row("JUMP", target=7),
        Row("WAIT", A=10),
        Row("GIVE", slot=0),
        Row("END"),
        Row("GIVE", slot=5),
        Row("END"),
    ]
    arrays = run(program, [SERVER, SERVER], tokens=2, spare=2)
    assert arrays.status == "FINISHED"
    assert [row[:3] for row in arrays.logged() if row[1] == 0] == [(0, 0, 1), (10, 0, -1), (10, 0, 1), (20, 0, -1)]


def test_token_rows_are_used_again_last_freed_first():
    program = [
        *[Row("FORK", target=4)] * 2,
        Row("WAIT", A=10),
        Row("JUMP", target=6),
        Row("TAKE", B=1),
        Row("END"),
        Row("FORK", target=4),
        Row("WAIT", A=10),
        Row("END"),
    ]
    assert takes(run(program, [(9, "FIFO")], spare=4)) == [(0, 1), (0, 2), (10, 2)]


def test_join_waits_for_the_last_joined_child_only():
    program = [
        *[Row("FORK", x="JOINED", target=5)] * 2,
        Row("FORK", x="DETACHED", target=8),
        Row("JOIN"),
        Row("JUMP", target=9),
        Row("SERVE", A=0, B=7),
        Row("END"),
        Row("END"),
        Row("WAIT", A=99),
        Row("SET", x="NOW", slot=5),
        Row("END"),
    ]
    arrays = run(program, [SERVER], spare=3)
    assert arrays.R[0, 5] == 14


def test_join_without_children_goes_on():
    assert run([Row("JOIN"), Row("DONE"), Row("END")]).status == "FINISHED"


def test_load_fills_registers():
    arrays = run([Row("LOAD", A=1, B=1, slot=20), Row("END")], tables=[[[9]], [[1, 2, 3, 4], [5, 6, 7, 8]]])
    assert arrays.R[0, 20:].tolist() == [5, 6, 7, 8]


def test_ring_keeps_order_and_carries_the_birth():
    sender = [Row("WAIT", A=3), Row("DONE", A=1), *[Row("SET", ra=4, A=1, slot=4), Row("PUSH", slot=3)] * 2, Row("END")]
    receiver = [Row("WAIT", A=10), Row("POP", slot=6), Row("DONE"), Row("POP", slot=8), Row("END")]
    program, tokens = each(sender, receiver)
    arrays = run(program, tokens=tokens, rings=[(2, 2)], classes=2)
    assert arrays.R[1, 6:10].tolist() == [0, 1, 0, 2]
    assert arrays.done[0, 1] == 7


@pytest.mark.parametrize(
    ("choice", "busy", "last", "index"),
    [
        ("ROTATE", [], 0, 1),
        ("ROTATE", [], 2, 0),
        ("SHORTEST", [1, 1], 0, 2),
        ("SHORTEST", [0, 1, 2], 1, 2),
        ("SHORTEST", [0, 1, 2, 2, 1], 1, 0),
        ("FIRST_FREE", [0], 1, 1),
        ("FIRST_FREE", [0, 1, 2], 1, 2),
        ("NEXT_FLAGGED", [], 0, 2),
        ("NEXT_FLAGGED", [], 2, 0),
        ("NEXT_FLAGGED", [], 1, 2),
    ],
)
def test_pick(choice, busy, last, index):
    flags = [1, 0, 1]
    first = 1 if choice == "NEXT_FLAGGED" else 0
    main = [Row("WAIT", A=1), Row("PICK", A=first, B=3, C=0, x=choice, slot=5), Row("WAIT", A=1), Row("END")]
    program, tokens = each(main, *(hold(r, 9) for r in busy))
    arrays = run(program, [SERVER] * 3, tokens, globals_=[last, *flags], until=2)
    assert (arrays.R[0, 5], arrays.G[0]) == (index, index)


def test_next_flagged_without_a_flag_rotates():
    program = [Row("PICK", A=1, B=3, x="NEXT_FLAGGED", slot=5), Row("END")]
    assert run(program, globals_=[1, 0, 0, 0]).R[0, 5] == 2


# ---- statistics


def test_integrals_of_a_line():
    arrays = run(hold(0, 5), [(1, "FIFO")], tokens=3, until=20)
    assert arrays.clock[e.K_LIVE] == 0
    free, waiting, blocked = arrays.integrals(0)
    assert (free, waiting, blocked) == (0, 2 * 5 + 1 * 5, 0)  # to the end of the run at 15
    assert arrays.S[0, [e.S_MAX_LINE, e.S_GRANTS]].tolist() == [2, 3]


def test_units_are_blocked_while_their_holder_waits():
    first = [
        Row("TAKE", A=0, B=2, slot=0),
        Row("WAIT", A=3),
        Row("TAKE", A=1, B=1, slot=1),
        Row("GIVE", slot=0),
        Row("WAIT", A=6),
        Row("GIVE", slot=1),
        Row("END"),
    ]
    program, tokens = each(first, hold(1, 10))
    arrays = run(program, [(2, "FIFO"), SERVER], tokens)
    assert arrays.integrals(0) == (2 * 6, 0, 2 * 7)  # holds 2 units over 0..10, waits over 3..10, the end is at 16
    assert arrays.integrals(1) == (0, 7, 0)


def test_units_are_blocked_while_their_holder_waits_for_children_or_in_the_pool():
    join = [
        Row("TAKE", B=1, slot=0),
        Row("FORK", x="JOINED", target=5),
        Row("JOIN"),
        Row("GIVE", slot=0),
        Row("END"),
        Row("WAIT", A=8),
        Row("END"),
    ]
    assert run(join, [SERVER], spare=1).integrals(0) == (0, 0, 8)
    wish = [Row("TAKE", B=1, slot=7), *hold_all([1, 2], 1)[1:-1], Row("GIVE", slot=7), Row("END")]
    program, tokens = each(hold(2, 5), wish)
    arrays = run(program, [SERVER] * 3, tokens)
    assert [arrays.integrals(r) for r in range(3)] == [(0, 0, 5), (5, 5, 0), (0, 5, 0)]


def test_longest_line_counts_the_pool():
    program, tokens = each(hold(0, 9), hold_all([0, 1], 1, at=1), hold(0, 1, at=2))
    assert run(program, [SERVER, SERVER], tokens).S[:, e.S_MAX_LINE].tolist() == [2, 1]


# ---- how a run ends


@pytest.mark.parametrize(("until", "done"), [(4, 0), (5, 1), (9, 1), (10, 2)])
def test_time_up_includes_the_events_of_that_time(until, done):
    arrays = run([Row("WAIT", A=5), Row("DONE"), Row("JUMP")], until=until)
    assert (arrays.status, arrays.now, arrays.done[0, 0]) == ("TIME_UP", until, done)


def test_count_up_lets_the_token_run_until_it_stops():
    arrays = run([Row("WAIT", A=5), *[Row("DONE")] * 3, Row("COUNT", B=1), Row("JUMP")], until_done=2, counters=1)
    assert (arrays.status, arrays.now, arrays.done[0, 0], arrays.counters[0]) == ("COUNT_UP", 5, 3, 1)
    assert arrays.advance(until_done=3) == "COUNT_UP"
    assert arrays.advance(until_done=4) == "COUNT_UP"
    assert arrays.now == 10


def test_finished_and_deadlock():
    assert run([Row("WAIT", A=5), Row("END")]).status == "FINISHED"
    cross = [
        [Row("TAKE", A=i, B=1, slot=0), Row("WAIT", A=1), Row("TAKE", A=1 - i, B=1, slot=1), Row("END")] for i in (0, 1)
    ]
    program, tokens = each(*cross)
    arrays = run(program, [SERVER, SERVER], tokens)
    assert (arrays.status, arrays.now) == ("DEADLOCK", 1)
    assert arrays.T[:, e.T_WAITS].tolist() == [1, 0]


@pytest.mark.parametrize(("stall", "status", "now"), [(19, "STALL", 25), (20, "TIME_UP", 40)])
def test_stall_is_more_than_so_many_ticks_without_a_packet(stall, status, now):
    worker = [Row("WAIT", A=5), Row("DONE"), Row("WAIT", A=20), Row("DONE"), Row("WAIT", A=99), Row("END")]
    ticker = [Row("WAIT", A=5), Row("JUMP")]
    program, tokens = each(worker, ticker)
    arrays = run(program, tokens=tokens, until=40, stall=stall)
    assert (arrays.status, arrays.now) == (status, now)


def test_saturation_leak_and_overflow_name_token_and_row():
    arrays = run([Row("FORK", target=0), Row("WAIT", A=1), Row("JUMP")], spare=3)
    assert (arrays.status, arrays.error) == ("SATURATION", (3, 0))
    arrays = run([Row("TAKE", B=1, slot=3), Row("END")], [SERVER])
    assert (arrays.status, arrays.error) == ("LEAK", (0, 1))
    arrays = run([Row("FORK", x="JOINED", target=1), Row("END")], spare=1)
    assert (arrays.status, arrays.error) == ("LEAK", (0, 1))
    arrays = run([Row("PUSH", slot=1), Row("JUMP")], rings=[(2, 1)])
    assert (arrays.status, arrays.error) == ("OVERFLOW", (0, 0))
    arrays = run([Row("POP", slot=1)], rings=[(2, 1)])
    assert (arrays.status, arrays.error) == ("OVERFLOW", (0, 0))


def test_a_free_row_is_enough_to_avoid_saturation():
    program = [Row("FORK", target=3), Row("WAIT", A=1), Row("JUMP"), Row("END")]
    assert run(program, spare=1, until=50).status == "TIME_UP"


@pytest.mark.parametrize("program", [[Row("JUMP")], [Row("TRY", B=9)], [Row("TRY", B=9, target=1), Row("JUMP")]])
def test_a_loop_that_takes_no_time_is_endless(program):
    arrays = run(program, [SERVER], plain=False)
    assert (arrays.status, arrays.error) == ("ENDLESS", (0, len(program) - 1))


@pytest.mark.slow
def test_a_loop_of_activations_that_take_no_time_is_endless():
    program = [Row("WAIT", A=1), Row("SERVE", B=0), Row("JUMP", target=1)]
    arrays = run(program, [SERVER], plain=False)
    assert (arrays.status, arrays.now, arrays.clock[e.K_EVENTS]) == ("ENDLESS", 1, 20_000_001)


BAD = {
    "resource of TAKE": [Row("TAKE", A=2, B=1)],
    "resource of TRY": [Row("TRY", A=-1, B=1)],
    "resource of SERVE": [Row("SERVE", A=2)],
    "resource of SHARE": [Row("SHARE", A=2)],
    "SHARE at a server": [Row("SHARE", B=1)],
    "resource of PUT": [Row("PUT", A=2)],
    "resource of LINE": [Row("SET", A=2, x="LINE")],
    "resource of FREE": [Row("SET", A=-1, x="FREE")],
    "resource of PICK": [Row("PICK", A=1, B=2)],
    "flag of PICK": [Row("PICK", A=0, B=2, x="NEXT_FLAGGED")],
    "nothing to PICK": [Row("PICK", A=0, B=0)],
    "global of PICK": [Row("PICK", A=0, B=1, C=1)],
    "resource of ALL": [Row("ALL", x=1), Row("END", A=2)],
    "units of ALL": [Row("ALL", x=1), Row("END", B=-1)],
    "resource twice in ALL": [Row("ALL", x=2), Row("END", A=1), Row("END", A=1)],
    "slot twice in ALL": [Row("ALL", x=2), Row("END", A=0, slot=1), Row("END", A=1, slot=1)],
    "slot in use in ALL": [Row("TAKE", slot=1), Row("ALL", x=1), Row("END", A=1, slot=1)],
    "slot in use": [Row("TAKE", slot=1), Row("TAKE", A=1, slot=1)],
    "slot in use in TRY": [Row("TAKE", slot=1), Row("TRY", A=1, slot=1)],
    "slot empty": [Row("GIVE", slot=1)],
    "slot empty in FORK": [Row("FORK", slot=1)],
    "slot given twice": [Row("TAKE", slot=1), Row("GIVE", slot=1), Row("GIVE", slot=1)],
    "negative units": [Row("TAKE", B=-1)],
    "negative units in TRY": [Row("TRY", B=-1)],
    "negative units in PUT": [Row("PUT", B=-1)],
    "negative wait": [Row("WAIT", A=-1)],
    "negative service": [Row("SERVE", B=-1)],
    "negative draw": [Row("DRAW", A=-1, slot=1)],
    "uniform upside down": [Row("WAIT", A=4, B=3, x="UNIFORM")],
    "Erlang without stages": [Row("WAIT", A=4, x="ERLANG")],
    "below nothing": [Row("DRAW", A=0, x="BELOW")],
    "Poisson of no time between": [Row("DRAW", A=4, B=0, x="POISSON")],
    "Poisson of a negative time": [Row("DRAW", A=-1, B=1, x="POISSON")],
    "empirical table": [Row("DRAW", A=1, x="EMPIRICAL")],
    "empirical table of one column": [Row("DRAW", A=0, x="EMPIRICAL")],
    "table": [Row("LOAD", A=1, slot=1)],
    "row of a table": [Row("LOAD", B=1, slot=1)],
    "registers of LOAD": [Row("LOAD", slot=0)],
    "registers of PUSH": [Row("PUSH", slot=23)],
    "registers of POP": [Row("PUSH", slot=1), Row("POP", slot=0)],
    "table of SET": [Row("SET", A=1, x="TABLE")],
    "column of a table": [Row("SET", A=0, B=1, x="TABLE")],
    "row of a table in SET": [Row("SET", A=0, C=1, x="TABLE")],
    "global": [Row("SET", A=1, x="READ")],
    "global written": [Row("SET", A=-1, x="WRITE")],
    "division by zero": [Row("SET", A=1, x="DIV")],
    "ceiling division by zero": [Row("SET", A=1, x="CEILDIV")],
    "modulo zero": [Row("SET", A=1, x="MOD")],
    "shift": [Row("SET", A=1, B=64, x="LEFT")],
    "shift back": [Row("SET", A=1, B=-1, x="RIGHT")],
    "ring": [Row("PUSH", A=1, slot=1)],
    "class": [Row("DONE", A=1)],
    "class below": [Row("DONE", A=-1)],
    "counter": [Row("COUNT", A=1)],
    "row below": [Row("JUMP", target=-1)],
}


@pytest.mark.parametrize("program", BAD.values(), ids=BAD)
def test_bad_operands(program):
    resources, tables = [(9, "FIFO"), (9, "FIFO")], [[[5]]]
    arrays = run([*program, Row("END")], resources, globals_=[0], tables=tables, rings=[(4, 2)], counters=1, spare=1)
    assert arrays.status == "BAD_OPERAND"
    row = -1 if program[0].op == "JUMP" else len(program) - 1
    assert arrays.error == (0, row)


def test_the_end_of_the_program_is_no_row():
    arrays = run([Row("WAIT", A=1)])
    assert (arrays.status, arrays.error) == ("BAD_OPERAND", (0, 1))


# ---- accounts


def test_an_account_tells_service_from_waiting_and_from_waiting_behind_who_waits():
    """A holds 0 and waits for 1 until B leaves it at 6; C, who comes for 0 at 2, waits 4 ticks for B and 3 for A."""
    a = [Row("TAKE", A=0, B=1, slot=0), Row("SERVE", A=1, B=3), Row("GIVE", slot=0), Row("DONE", A=0), Row("END")]
    b = [Row("SERVE", A=1, B=6), Row("DONE", A=1), Row("END")]
    c = [Row("WAIT", A=2), Row("TAKE", A=0, B=1, slot=0), Row("WAIT", A=5), Row("GIVE", slot=0), Row("DONE", A=2),
         Row("END")]  # fmt: skip
    program, tokens = each(b, a, c)
    place_of_row = [3 if row.op == "WAIT" else 0 for row in program]
    arrays = run(program, [SERVER, SERVER], tokens, classes=3, where=[1, 2, *place_of_row])
    found = {}
    for (number, _, place, kind), ticks in arrays.tallied().items():
        found.setdefault(int(number), {})[int(place), int(kind)] = ticks
    assert found == {0: {(2, 0): 3, (2, 1): 6}, 1: {(2, 0): 6}, 2: {(3, 0): 7, (1, 2): 4, (1, 1): 3}}
