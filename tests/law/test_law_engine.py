"""The kernel and the plain engine written from docs/engine.md agree event for event on random programs.

Programs are nested blocks (take .. give, fork .. join, loops, choices) inside loops of threads, so that most runs make
progress; the `careless` ones also forget, overrun and reach outside, and must end with the same status on both sides.
"""

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.engine_arrays import ERRORS, FOREVER, STATUS, Arrays, reference_state, streams
from reference.event_engine import Model, Row

LOG_ROWS = 40_000
SMALL = 4  # registers 1..4 stay small: 1 the thread's number, 2 an index, 3 a size, 4 the result of PICK
WILD = range(5, 15)  # registers that SET and DRAW may fill with anything
COUNTERS = range(15, 24)  # loop counters
DURATIONS = (
    "FIXED", "EXPONENTIAL", "UNIFORM", "ERLANG", "HYPEREXPONENTIAL", "BELOW", "EMPIRICAL", "UNTIL", "WINDOW",
)  # fmt: skip
FUNCTIONS = (
    "ADD", "SUB", "MUL", "DIV", "CEILDIV", "MOD", "MIN", "MAX", "LEFT", "RIGHT", "NOW", "BIRTH", "LINE", "FREE", "READ",
    "WRITE", "FETCH_ADD", "SWAP", "TABLE", "PRIORITY", "BORN", "TO_NEXT",
)  # fmt: skip
CONDITIONS = ("LT", "LE", "EQ", "NE", "GE", "GT")
SHARED = 5  # resources that threads hold; behind them a semaphore, then (items, space) of each ring
SEMAPHORE = SHARED
RINGS = ((2, 2), (3, 0))  # capacity, width
PROCESSORS = {SEMAPHORE + 1 + 2 * len(RINGS) + i: z for i, z in enumerate((0, 3, -3))}  # SHARED resources and their z
GLOBALS = (3, 0, 1, 0, -7, 1)
TABLES = (
    ((4, 2**51), (0, 2**52), (9, 2**53)),
    ((1, 2, 3), (4, 5, 6), (2, 0, 1), (0, 7, 7)),
    ((2**20, 0), (3 * 2**19, 0), (2**19 + 7, 0)),
)
CLASSES = 2
DISCIPLINES = ("FIFO", "KEYED", "CYCLIC")
STALLS = (FOREVER, FOREVER, FOREVER, 60, 15)
BLOCKS = (
    "serve", "serve", "share", "share", "wait", "hold", "hold", "overlap", "attempt", "all", "all", "semaphore", "grab",
    "choose", "repeat", "compute", "compute", "draw", "pick", "load", "message", "spawn", "spawn", "hand over", "join",
    "join", "count", "done", "priority",
)  # fmt: skip
MISTAKES = (
    "resource", "negative units", "empty slot", "used slot", "negative time", "leak", "orphan", "overflow", "division",
    "table", "class", "global", "twice", "off the end",
)  # fmt: skip


class Drawn:
    """Choices of hypothesis: they shrink."""

    def __init__(self, draw):
        self.draw = draw

    def pick(self, low, high):
        return self.draw(st.integers(low, high))

    def one_of(self, items):
        return self.draw(st.sampled_from(items))

    def some(self, low, high):
        return self.draw(st.lists(st.integers(low, high), min_size=1, max_size=3, unique=True))

    def order(self, n):
        return self.draw(st.permutations(range(n)))


class Thrown:
    """Choices of a seed: four programs in the time of one, for many."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.pick, self.one_of = self.random.randint, self.random.choice

    def some(self, low, high):
        return self.random.sample(range(low, high + 1), min(self.pick(1, 3), high + 1 - low))

    def order(self, n):
        return self.random.sample(range(n), n)


class Author:
    """Writes one random program; `choose` is Drawn or Thrown."""

    def __init__(self, choose, careless):
        self.choose = choose
        self.pick, self.one_of = choose.pick, choose.one_of
        self.careless = careless
        self.free = [self.pick(1, 3) for _ in range(SHARED)]
        self.rows = []

    def add(self, op, **values):
        self.rows.append(Row(op, **values))
        return len(self.rows) - 1

    def aim(self, at, **values):
        """Point the jump at row `at` behind everything written so far."""
        self.rows[at] = self.rows[at]._replace(target=len(self.rows), **values)

    def duration(self, operands, low=0, kinds=DURATIONS):
        """Operands of a random duration under the given names (a, b, c)."""
        kind = self.one_of(kinds)
        a, b, c = {
            "FIXED": (self.pick(low, 9), 0, 0),
            "UNIFORM": (self.pick(low, 3), self.pick(3, 9), 0),
            "ERLANG": (self.pick(1, 12), self.pick(1, 4), 0),
            "HYPEREXPONENTIAL": (self.pick(0, 9), self.pick(0, 20), self.pick(0, 2**30)),
            "EMPIRICAL": (0, 0, 0),
            "UNTIL": (self.pick(0, 90), 0, 0),
            "POISSON": (self.pick(0, 60), self.pick(1, 3), 0),
            "WINDOW": (self.pick(0, 12), self.pick(0, 9), self.pick(-3, 20)),
        }.get(kind, (self.pick(1, 12), 0, 0))
        return {"x": kind, **dict(zip(operands, (a, b, c), strict=True))}

    def resource(self, above):
        """A resource with a number over `above` (so that honest programs cannot deadlock), by constant or register."""
        low = 0 if self.careless else above + 1
        number = self.pick(low, SHARED - 1)
        if self.pick(0, 3) == 0:  # one of the resources low.., the register holds an index
            span = SHARED - low
            self.add("SET", ra=self.pick(0, SMALL), B=span, slot=2, x="MOD")
            return number, {"A": low, "ra": 2}
        return number, {"A": number}

    def units(self, where):
        """Units to take, as many as there can be: registers name resources of one unit, register 3 is at most two."""
        most = 3 if self.careless else 1 if "ra" in where else self.free[where["A"]]
        return self.one_of(({"B": 1}, {"B": 1}, {"B": min(most, 2)}, {"B": 0}, {"rb": 3} if most > 1 else {"B": 1}))

    def key(self):
        return self.one_of(({"rc": 1}, {"C": self.pick(-2, 3)}, {}))

    # ---- blocks: `above` is the highest resource held (its number may be any up to that), `slot` the next free one

    def blocks(self, above, slot, depth):
        for _ in range(self.pick(1, 3 if depth else 6)):
            if self.careless and self.pick(0, 11) == 0:
                self.mistake(slot)
            self.block(self.one_of(BLOCKS), above, slot, depth)

    def inside(self, above, slot, depth):
        if depth < 3 and self.pick(0, 1) and len(self.rows) < 120:
            self.blocks(above, slot, depth + 1)
        else:
            self.add("WAIT", **self.duration(("A", "B", "C")))

    def block(self, kind, above, slot, depth):
        room = slot < 6 and (self.careless or above < SHARED - 1)
        top = SHARED - 1  # after an operand by register anything up to the top may be held
        if kind in ("hold", "overlap", "attempt", "all", "hand over", "serve", "pick") and not room:
            kind = "wait"
        if kind == "wait":
            self.add("WAIT", **self.duration(("A", "B", "C")))
        elif kind == "serve":
            _, where = self.resource(above)
            self.add("SERVE", **where, **self.duration(("B", "C", "y")), z=self.pick(-1, 3))
        elif kind == "share":
            processor = self.one_of(tuple(PROCESSORS))
            self.add("SHARE", A=processor, **self.duration(("B", "C", "y")), z=PROCESSORS[processor])
        elif kind in ("hold", "attempt"):
            number, where = self.resource(above)
            units, key = self.units(where), self.key()
            at = self.add("TAKE" if kind == "hold" else "TRY", **where, **units, **key, slot=slot)
            self.inside(top if "ra" in where else number, slot + 1, depth)
            self.add("GIVE", slot=slot)
            if kind == "attempt":
                self.aim(at)
        elif kind == "overlap" and (above < SHARED - 2 or self.careless):
            first = self.pick(0 if self.careless else above + 1, SHARED - 2)
            second = self.pick(0, SHARED - 1) if self.careless else self.pick(first + 1, SHARED - 1)
            self.add("TAKE", A=first, B=1, slot=slot)
            self.add("WAIT", **self.duration(("A", "B", "C")))
            self.add("TAKE", A=second, **self.units({"A": second}), slot=slot + 1)
            self.add("GIVE", slot=slot)
            self.inside(second, slot + 2, depth)
            self.add("GIVE", slot=slot + 1)
        elif kind == "all":
            low = 0 if self.careless else above + 1
            members = self.choose.some(low, SHARED - 1)
            members = members[: 8 - slot]
            self.add("ALL", x=len(members))
            for i, number in enumerate(members):
                self.add("END", A=number, **self.units({"A": number}), slot=slot + i)
            self.inside(max(members), slot + len(members), depth)
            for i in self.choose.order(len(members)):
                self.add("GIVE", slot=slot + i)
        elif kind == "semaphore":
            at = self.add("TRY", A=SEMAPHORE, B=self.pick(0, 2))
            self.add("WAIT", **self.duration(("A", "B", "C")))
            self.aim(at)
            self.add("PUT", A=SEMAPHORE, B=self.pick(0, 2))
            self.add("TAKE" if self.careless else "TRY", A=SEMAPHORE, B=1, target=len(self.rows) + 1)
        elif kind == "grab":
            members = self.choose.some(0, SEMAPHORE)
            most = {"B": self.pick(-1, 2)} if self.pick(0, 3) else {"rb": self.register() if self.careless else 3}
            self.add("GRAB", **most, slot=3, x=len(members))
            for number in members:
                self.add("END", A=number)
            self.add("WAIT", **self.duration(("A", "B", "C")))
            for number in members:
                self.add("PUT", A=number, rb=3)
        elif kind == "choose":
            at = self.add("JUMP", ra=self.register(), rb=self.register(), B=self.pick(-2, 4), x=self.one_of(CONDITIONS))
            self.inside(above, slot, depth)
            self.aim(at)
        elif kind == "repeat":
            counter = COUNTERS[depth]
            self.add("SET", slot=counter, x="ADD")
            start = len(self.rows)
            self.inside(above, slot, depth)
            self.add("SET", ra=counter, B=1, slot=counter, x="ADD")
            self.add("JUMP", ra=counter, B=self.pick(1, 3), target=start, x="LT")
        elif kind == "compute":
            self.compute()
        elif kind == "draw":
            self.add(
                "DRAW", **self.duration(("A", "B", "C"), kinds=(*DURATIONS, "POISSON")), slot=self.one_of((*WILD, -1))
            )
        elif kind == "pick":
            low = 0 if self.careless else above + 1
            choice = self.one_of(("ROTATE", "SHORTEST", "FIRST_FREE", "NEXT_FLAGGED"))
            self.add("PICK", A=low, B=SHARED - low, C=self.pick(0, len(GLOBALS) - 1), slot=4, x=choice)
            self.add("SERVE", A=low, ra=4, **self.duration(("B", "C", "y")))
        elif kind == "load":
            self.add("SET", ra=self.register(), B=4, slot=2, x="MOD")
            self.add("LOAD", A=1, rb=2, slot=self.pick(WILD[0], WILD[-1] - 2))
        elif kind == "message":
            self.message(self.pick(0, len(RINGS) - 1))
        elif kind in ("spawn", "hand over", "join"):
            self.fork(kind, above, slot, depth)
        elif kind == "count":
            self.add("COUNT", A=self.pick(0, 1), B=1, rb=self.register())
        elif kind == "done":
            self.add("DONE", A=self.pick(0, CLASSES - 1), B=self.pick(0, 99), C=64, rc=3)
        elif kind == "priority":
            self.add("SET", A=self.pick(-2, 18), slot=self.one_of((-1, WILD[1])), x="PRIORITY")

    def register(self):
        return self.one_of((0, *range(1, SMALL + 1), *WILD))

    def compute(self):
        name = self.one_of(FUNCTIONS)
        values = {"A": self.pick(-9, 9), "ra": self.register(), "B": self.pick(-9, 9), "rb": self.register()}
        if name in ("DIV", "CEILDIV", "MOD"):
            values |= {"B": self.one_of((-5, -3, 2, 3, 7)), "rb": 0}
        elif name in ("LEFT", "RIGHT"):
            values |= {"B": self.pick(0, 20), "rb": 0}
        elif name in ("LINE", "FREE", "READ", "WRITE", "FETCH_ADD", "SWAP"):
            values |= {"A": self.pick(0, SHARED), "ra": 0}
        elif name == "BORN":
            values |= {"B": self.pick(-1 if self.careless else 0, SHARED), "rb": 0}
        elif name == "TABLE":
            table = self.pick(0, 1)
            values = {"A": table, "B": self.pick(0, 1), "C": self.pick(0, 2)}
        self.add("SET", x=name, slot=self.one_of((*WILD, 0, -1)), **values)

    def message(self, ring):
        items, space = SEMAPHORE + 1 + 2 * ring, SEMAPHORE + 2 + 2 * ring
        push = self.pick(0, 1)
        at = self.add("TRY", A=space if push else items, B=1)
        self.add("PUSH" if push else "POP", A=ring, slot=self.pick(WILD[0], WILD[-1] - 1))
        self.add("PUT", A=items if push else space, B=1)
        self.aim(at)

    def fork(self, kind, above, slot, depth):
        if kind == "hand over":
            number, where = self.resource(above)
            self.add("TAKE", **where, **self.units(where), slot=slot)
            forks = [self.add("FORK", slot=slot, x="DETACHED")]
            above_child, slot_child = (SHARED - 1 if "ra" in where else number), 1
        else:
            mode = "JOINED" if kind == "join" else self.one_of(("DETACHED", "NEW_PACKET"))
            forks = [self.add("FORK", x=mode) for _ in range(self.pick(1, 3) if kind == "join" else 1)]
            above_child, slot_child = (above if kind == "join" else -1), 0
        over = self.add("JUMP", x="ALWAYS")
        for fork in forks:
            self.aim(fork)
        self.inside(above_child, slot_child, depth + 1)
        if kind == "hand over":
            self.add("GIVE", slot=0)
        if self.rows[forks[0]].x == "NEW_PACKET":
            self.add("DONE", B=1)
        self.add("END")
        self.aim(over)
        if kind == "join":
            self.inside(above, slot, depth + 1)
            self.add("JOIN")

    def mistake(self, slot):
        kind = self.one_of(MISTAKES)
        if kind == "resource":
            op = self.one_of(("TAKE", "TRY", "PUT", "SERVE", "SHARE"))
            self.add(op, A=self.one_of((-1, 99)), B=1, ra=self.pick(0, SMALL))
        elif kind == "negative units":
            self.add(self.one_of(("TAKE", "TRY", "PUT")), A=0, B=-1, rb=self.register())
        elif kind == "empty slot":
            self.add(self.one_of(("GIVE", "FORK")), slot=self.pick(0, 7))
        elif kind == "used slot":
            self.add(self.one_of(("TAKE", "TRY")), A=self.pick(0, SHARED - 1), B=1, slot=max(slot - 1, 0))
        elif kind == "negative time":
            values = self.one_of(({"A": -3}, {"A": 5, "B": 3, "x": "UNIFORM"}, {"A": 3, "x": "ERLANG"}, {"x": "BELOW"}))
            self.add(self.one_of(("WAIT", "DRAW")), **values)
        elif kind == "leak":
            self.add("TAKE", A=self.pick(0, SHARED - 1), B=1, slot=slot)
            self.add("END")
        elif kind == "orphan":
            self.add("FORK", x="JOINED", target=len(self.rows) + 1)
            self.add("END")
        elif kind == "overflow":
            self.add(self.one_of(("PUSH", "POP")), A=self.pick(-1, 2), slot=self.one_of((5, 13, 0, 23)))
        elif kind == "division":
            name = self.one_of(("DIV", "CEILDIV", "MOD", "RIGHT"))
            self.add("SET", A=7, rb=self.pick(0, SMALL), B=-1 if name == "RIGHT" else 0, slot=5, x=name)
        elif kind == "table":
            values = self.one_of(
                ({"op": "LOAD", "B": 4, "slot": 5}, {"op": "LOAD", "A": 1, "slot": 22}, {"op": "LOAD", "A": 1})
            )
            self.add(**(values | {"A": self.pick(-1, 2)}))
        elif kind == "class":
            self.add(self.one_of(("DONE", "COUNT")), A=self.one_of((-1, 2)))
        elif kind == "global":
            values = ({"op": "SET", "x": "READ", "A": 6}, {"op": "PICK", "A": 3, "B": 4, "x": "NEXT_FLAGGED"})
            self.add(**self.one_of((*values, {"op": "PICK", "A": 12, "B": 3, "x": "SHORTEST"}, {"op": "PICK"})))
        elif kind == "twice":
            first, second, slots = self.one_of(((1, 1, (6, 7)), (1, 2, (7, 7)), (1, 99, (6, 7)), (1, 2, (-1, -1))))
            self.add(self.one_of(("ALL", "GRAB")), B=1, x=2)
            self.add("END", A=first, B=1, slot=slots[0])
            self.add("END", A=second, B=1, slot=slots[1])
        else:
            self.add("JUMP", ra=1, B=self.pick(0, 3), target=self.one_of((-1, 999)), x="EQ")

    def thread(self):
        """A loop of work, endless or counted, with at least one tick a turn."""
        start = self.add("WAIT", A=self.pick(1, 5))
        self.blocks(-1, 0, 0)
        self.add("DONE", A=self.pick(0, CLASSES - 1), B=64)
        turns = self.one_of((FOREVER, FOREVER, FOREVER, 1, 4))
        self.add("SET", ra=COUNTERS[-1], B=1, slot=COUNTERS[-1], x="ADD")
        self.add("JUMP", ra=COUNTERS[-1], B=turns, target=start, x="LT")
        self.add("END")
        return start


def describe(choose):
    """Return the model of a random program."""
    pick, one_of = choose.pick, choose.one_of
    author = Author(choose, careless=pick(0, 3) == 0)
    starts = [author.thread() for _ in range(pick(1, 3))]
    resources = [(free, one_of(DISCIPLINES)) for free in author.free]
    resources += [(pick(0, 2), one_of(DISCIPLINES))]
    for capacity, _ in RINGS:
        resources += [(0, "FIFO"), (capacity, "FIFO")]
    resources += [(pick(1, 3), "SHARED") for _ in PROCESSORS]
    tokens = [
        (one_of(starts), [i, 0, pick(0, 2)], one_of((8, 8, 8, 0, 3, 15))) for i in range(pick(2, 9))
    ]  # fmt: skip
    return {
        "program": author.rows,
        "resources": resources,
        "tokens": tokens,
        "streams": streams(author.rows, pick(0, 2**32)),
        "spare": one_of((12, 40, 40, 2)),
        "globals_": GLOBALS,
        "tables": TABLES,
        "rings": RINGS,
        "classes": CLASSES,
        "counters": 2,
    }


def cut(choose):
    """Return a list of (until, until_done) with growing times; the last has no count, so that it is the whole run."""
    end = choose.pick(60, 400)
    cuts = [(choose.pick(0, end), choose.one_of((FOREVER, choose.pick(0, 30)))) for _ in range(choose.pick(0, 3))]
    return [*sorted(cuts), (end, FOREVER)]


@st.composite
def runs(draw):
    """Return a model, where its run is cut, and after how long it has stalled."""
    choose = Drawn(draw)
    return describe(choose), cut(choose), choose.one_of(STALLS)


def agree(description, cuts, stall):
    """Compare after each cut, then once more with the kernel run in one piece; returns the last status."""
    places = [1 + k % 3 for k in range(len(description["resources"]))]
    accounted = {**description, "where": [*places, *(k % 4 for k in range(len(description["program"])))]}
    model, cut = Model(**accounted), Arrays(**accounted, log_rows=LOG_ROWS)
    whole = Arrays(**description, log_rows=LOG_ROWS)  # without accounts: they change nothing
    for until, until_done in cuts:
        status = model.advance(until, until_done, stall)
        assert cut.advance(until, until_done, stall) == status
        expected = reference_state(model)
        assert len(expected["log"]) < LOG_ROWS
        got = cut.state()
        assert got == expected, [(name, got[name], expected[name]) for name in got if got[name] != expected[name]]
        assert cut.tallied() == {place: ticks for place, ticks in model.tally.items() if ticks}
        if status in ERRORS or status == "STALL":
            break
    sees_cuts = any(row.x == "TO_NEXT" for row in description["program"])
    for end in cuts[: cuts.index((until, until_done)) + 1] if sees_cuts else [(cuts[-1][0], FOREVER)]:
        last = whole.advance(*end, stall)
    assert last == status
    assert whole.state() == expected
    return status


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(runs())
def test_kernel_and_plain_engine_agree(run):
    agree(*run)


@pytest.mark.slow
def test_kernel_and_plain_engine_agree_on_many():
    """As above, and the programs are worth it: every status but ENDLESS (too long for the plain engine) comes up."""
    ended = Counter()
    for seed in range(1_200):
        choose = Thrown(seed)
        try:
            ended[agree(describe(choose), cut(choose), choose.one_of(STALLS))] += 1
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
    assert set(ended) >= set(STATUS) - {"ENDLESS", "COUNT_UP"}, ended
