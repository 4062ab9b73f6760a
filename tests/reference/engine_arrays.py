"""The kernel behind the interface of `event_engine.Model`: the same description as arrays, both states in one form."""

import numpy as np
from reference.event_engine import Row, mix

from npexplore._kernels import engine as e

STATUS = (
    "TIME_UP", "COUNT_UP", "FINISHED", "DEADLOCK", "STALL", "SATURATION", "LEAK", "ENDLESS", "BAD_OPERAND", "OVERFLOW",
)  # fmt: skip
ERRORS = STATUS[5:]
FOREVER = 2**62


def code(value):
    """The number of a name of the kernel."""
    return getattr(e, value) if isinstance(value, str) else value


def streams(program, seed):
    """One stream key a row; the package derives them from names, tests only need them to differ."""
    return [mix(seed * 1_000_003 + i) for i in range(len(program))]


class Arrays:
    """Takes what `Model` takes, of controllers their blocks; `log_rows` is the room for the log."""

    def __init__(
        self, program, resources, tokens, streams, spare=0, globals_=(), tables=(), rings=(), classes=1, counters=0,
        log_rows=0, where=(), blocks=(),
    ):  # fmt: skip
        live, total = len(tokens), len(tokens) + spare
        self.P = np.array([[code(value) for value in Row(*row)] for row in program], np.int64).reshape(-1, e.ROW)
        self.streams = np.array(streams, np.uint64)
        self.draws = np.zeros(len(program), np.int64)
        self.S = np.zeros((len(resources), e.S_WIDTH), np.int64)
        for r, (free, discipline) in enumerate(resources):
            self.S[r, [e.S_FREE, e.S_CAP, e.S_DISCIPLINE]] = free, free, code(discipline)
        self.S[:, [e.S_HEAD, e.S_TAIL]] = -1
        self.T = np.zeros((total, e.T_WIDTH), np.int64)
        self.T[:, [e.T_NEXT, e.T_RELEASE, e.T_PARENT, e.T_SLOT, e.T_WAITS]] = -1
        self.T[live:, e.T_NEXT] = [*range(live + 1, total), -1][:spare]
        self.R = np.zeros((total, e.REGISTERS), np.int64)
        self.H = np.zeros((total, 2 * e.SLOTS), np.int64)
        for i, (row, registers, priority) in enumerate(tokens):
            self.T[i, [e.T_ROW, e.T_PRIORITY, e.T_ALIVE]] = row, priority, 1
            self.R[i, 1 : 1 + len(registers)] = registers
        self.G = np.array(globals_, np.int64)
        self.clock = np.zeros(e.K_WIDTH, np.int64)
        self.clock[[e.K_FREE_TOKEN, e.K_POOL_HEAD, e.K_POOL_TAIL]] = live if spare else -1, -1, -1
        self.clock[[e.K_LIVE, e.K_PEAK, e.K_READY, e.K_SEQUENCE]] = live
        self.heap = np.zeros((3, total + len(blocks) + 1), np.int64)
        self.D = np.array([*(value for block in blocks for value in block), 0], np.int64)
        self.D_at = np.cumsum([0, *map(len, blocks)], dtype=np.int64)[: len(blocks)]
        self.ready = np.zeros((2, total + 1), np.int64)
        keys = sorted((priority << 48 | i, i) for i, (_, _, priority) in enumerate(tokens))
        self.ready[:, :live] = np.array(keys, np.int64).reshape(-1, 2).T
        self.table = np.array([value for table in tables for row in table for value in row], np.int64)
        self.table_at = np.zeros((len(tables), 3), np.int64)
        start = 0
        for at, table in zip(self.table_at, tables, strict=True):
            at[:] = start, len(table), len(table[0]) if table else 0
            start += at[1] * at[2]
        self.ring_at = np.zeros((len(rings), 5), np.int64)
        start = 0
        for at, (capacity, width) in zip(self.ring_at, rings, strict=True):
            at[:3] = start, capacity, width
            start += capacity * (width + 1)
        self.ring = np.zeros(start, np.int64)
        self.hist = np.zeros((classes, e.BINS), np.int64)
        self.done = np.zeros((classes, 4), np.int64)
        self.counters = np.zeros(counters, np.int64)
        self.log = np.zeros((log_rows, 4), np.int64)
        places = 3 * (1 + max(where, default=0))
        room = 2 * e.FEW_ACCOUNTS + total + sum(capacity for capacity, _ in rings) if where else 0
        self.where = np.array(where, np.int64)
        self.account = np.zeros((room, e.C_FIRST + places), np.int64)
        self.tally = np.zeros((classes, e.BINS, places), np.int64)
        self.ring_account = np.zeros(start, np.int64)
        self.T[:, e.T_ACCOUNT] = self.clock[e.K_PACKETS] = -1
        if where:
            self.account[:, e.C_NEXT] = [*range(1, room), -1]
            self.T[:live, e.T_ACCOUNT] = range(live)
            self.clock[[e.K_FREE_ACCOUNT, e.K_SPARE_ACCOUNTS]] = live, room - live

    def advance(self, until=FOREVER, until_done=FOREVER, stall=FOREVER):
        status = e.advance(
            e.Model(self.P, self.streams, self.table, self.table_at),
            e.State(self.S, self.T, self.R, self.H, self.G, self.draws, self.ring, self.ring_at, self.log),
            e.Agenda(self.clock, *self.heap, *self.ready),
            e.Totals(self.hist, self.done, self.counters),
            e.Accounts(
                self.account, self.where, self.tally, self.ring_account, np.zeros((0, e.F_FIRST), np.int64)
            ),
            e.Controllers(self.D, self.D_at, np.zeros((1, 4), np.int64)) if len(self.D_at) else None,
            until, until_done, stall,
        )  # fmt: skip
        self.status = STATUS[status]
        return self.status

    # ---- what tests read

    @property
    def now(self):
        return int(self.clock[e.K_NOW])

    @property
    def error(self):
        return int(self.clock[e.K_TOKEN]), int(self.clock[e.K_ERROR_ROW])

    def integrals(self, r):
        """(free, waiting, blocked) of resource r integrated up to now."""
        row = self.S[r]
        present = row[e.S_FREE], row[e.S_LINE] + row[e.S_POOL], row[e.S_BLOCKED]
        passed = self.now - row[e.S_SINCE]
        columns = e.S_INT_FREE, e.S_INT_LINE, e.S_INT_BLOCKED
        return tuple(int(row[column] + passed * value) for column, value in zip(columns, present, strict=True))

    def logged(self):
        return [tuple(row) for row in self.log[: self.clock[e.K_LOG]].tolist()]

    def chain(self, token):
        """The tokens linked from this one on."""
        found = []
        while token >= 0:
            found.append(int(token))
            token = self.T[token, e.T_NEXT]
        return found

    def line(self, row):
        """The tokens that wait at a resource; all that are there if it is SHARED."""
        n = row[e.S_LINE] + (row[e.S_CAP] - row[e.S_FREE] if row[e.S_DISCIPLINE] == e.SHARED else 0)
        return self.chain(row[e.S_HEAD])[:n] if n else []

    def messages(self, at):
        start, capacity, width, head, count = at.tolist()
        places = [start + (head + i) % capacity * (width + 1) for i in range(count)]
        return [(self.ring[place + 1 : place + 1 + width].tolist(), int(self.ring[place])) for place in places]

    def state(self):
        """Everything the contract speaks of, in the form of `reference_state`."""
        clock, S, T, H = self.clock, self.S, self.T, self.H
        blame = self.error[0] if self.status in ERRORS else None
        names = {e.RUNNING: None, e.SLEEPING: None, e.JOINING: "children", e.POOLED: "pool"}
        return {
            "clock": clock[[e.K_NOW, e.K_SEQUENCE, e.K_EVENTS, e.K_DONE, e.K_LAST_DONE, e.K_LIVE, e.K_BEFORE]].tolist(),
            "error": None if blame is None else self.error,
            "resources": [
                {
                    "free": int(row[e.S_FREE]),
                    "line": self.line(row),
                    "left": self.T[self.line(row), e.T_KEY].tolist() if row[e.S_DISCIPLINE] == e.SHARED else [],
                    "counts": row[[e.S_POOL, e.S_BLOCKED, e.S_MAX_LINE, e.S_GRANTS, e.S_REFUSED]].tolist(),
                    "integrals": self.integrals(r),
                }
                for r, row in enumerate(S)
            ],
            "pool": self.chain(clock[e.K_POOL_HEAD]),
            "tokens": {
                i: {
                    "row": None if i == blame else int(T[i, e.T_ROW]),
                    "registers": self.R[i].tolist(),
                    "held": {
                        slot: (int(H[i, slot]), int(H[i, e.SLOTS + slot]))
                        for slot in range(e.SLOTS)
                        if T[i, e.T_HELD] >> slot & 1
                    },
                    "waits": names.get(int(T[i, e.T_WAITS]), int(T[i, e.T_WAITS])),
                    "family": T[i, [e.T_PARENT, e.T_CHILDREN]].tolist(),
                    "birth, priority": T[i, [e.T_BIRTH, e.T_PRIORITY]].tolist(),
                }
                for i in np.flatnonzero(T[:, e.T_ALIVE]).tolist()
            },
            "globals": self.G.tolist(),
            "rings": [self.messages(at) for at in self.ring_at],
            "draws": self.draws.tolist(),
            "done": self.done.tolist(),
            "histogram": [{int(i): int(row[i]) for i in np.flatnonzero(row)} for row in self.hist],
            "counters": self.counters.tolist(),
            "log": self.logged(),
        }

    def tallied(self):
        """By class, bin and place: the ticks served, waited and held up of finished packets."""
        return {
            (c, b, k // 3, k % 3): int(self.tally[c, b, k]) for c, b, k in zip(*np.nonzero(self.tally), strict=True)
        }


def reference_state(model):
    """The state of an `event_engine.Model` in the form of `Arrays.state`."""
    blame = model.error[0] if model.error else None

    def resource_state(resource):
        resource.touch(model.now)
        line = resource.line if resource.discipline == "FIFO" else sorted(resource.line, key=lambda token: token.key)
        sharing = sorted(resource.sharing, key=lambda token: token.priority if resource.in_order else token.left)
        return {
            "free": resource.free,
            "line": [token.number for token in line + sharing],
            "left": [token.left for token in sharing],
            "counts": [resource.pool, resource.blocked, resource.longest, resource.grants, resource.refusals],
            "integrals": (resource.free_time, resource.waiting_time, resource.blocked_time),
        }

    def token_state(token):
        return {
            "row": None if token.number == blame else token.row,
            "registers": token.registers,
            "held": {slot: (hold[0].number, hold[1]) for slot, hold in enumerate(token.holds) if hold},
            "waits": getattr(token.waits, "number", token.waits),
            "family": [token.parent.number if token.parent else -1, token.children],
            "birth, priority": [token.birth, token.priority],
        }

    return {
        "clock": [
            model.now,
            model.sequence,
            model.events,
            model.packets,
            model.last_done,
            len(model.tokens),
            model.before,
        ],
        "error": model.error,
        "resources": [resource_state(resource) for resource in model.resources],
        "pool": [token.number for token in model.pool],
        "tokens": {token.number: token_state(token) for token in sorted(model.tokens, key=lambda t: t.number)},
        "globals": model.globals,
        "rings": [ring.messages for ring in model.rings],
        "draws": model.draws,
        "done": model.done,
        "histogram": model.histogram,
        "counters": model.counters,
        "log": model.log,
    }
