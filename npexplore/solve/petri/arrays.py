"""A net as the arrays of its kernel (`_kernels/petri`): transitions, arcs, conditions by place, formulas, state.

The number of ticks in the net's unit of time is a power of ten; the shortest mean has at least a million ticks.
"""

import math
from collections.abc import Sequence

import numpy as np

from npexplore._kernels import petri as kernel
from npexplore.errors import InputError, RefusedError
from npexplore.machine.petri import Arc, Formula, Net, Transition
from npexplore.rows.distributions import Deterministic, Erlang, Exponential, Hyperexponential, Uniform
from npexplore.solve.petri.firing import Array
from npexplore.solve.petri.postfix import Postfix
from npexplore.solve.petri.program import Program

FINE = 6  # decimal digits of the shortest mean, in ticks


class _Tables:
    """Rows of one table; the rows of each transition are consecutive."""

    def __init__(self, width: int) -> None:
        self.width, self.rows = width, list[tuple[int, ...]]()

    def span(self, rows: Sequence[tuple[int, ...]]) -> tuple[int, int]:
        self.rows += rows
        return len(self.rows) - len(rows), len(self.rows)

    def array(self) -> Array:
        return np.array(self.rows, dtype=np.int64).reshape(len(self.rows), self.width)


def program(net: Net) -> Program:
    """Return the arrays of a net; raises RefusedError for features that the kernel does not support."""
    return _Build(net).program()


class _Build:
    def __init__(self, net: Net) -> None:
        self.net = net
        self.race = net.timing == "race"
        self.slots = {name: k for k, name in enumerate(net.fields)}
        self.postfix = Postfix(self.slots, {name: k for k, name in enumerate(net.feed)})
        self.ticks = _ticks_of(net)
        self.by_data = [place.of is not None for place in net.places]
        self.A, self.L, self.C, self.D = _Tables(7), _Tables(5), _Tables(6), _Tables(2)
        self.copies, self.sets, self.guards = _Tables(1), _Tables(4), _Tables(1)
        self.met: list[list[tuple[int, int, int, int]]] = [[] for _ in net.places]
        self.readers: list[list[int]] = [[] for _ in net.places]
        self.endings: list[int] = []

    def program(self) -> Program:
        net, n = self.net, len(self.net.transitions)
        T = np.full((n, kernel.T_WIDTH), -1, dtype=np.int64)
        TF = np.zeros((n, 3))
        for t, transition in enumerate(net.transitions):
            self.transition(t, transition, T[t], TF[t])
        levels, order, words = self.levels(T)
        N, plain = self.plain(T, TF)
        widest = max((len(transition.take) + len(transition.give) for transition in net.transitions), default=0)
        self.D.rows += [(0, 0)] * (2 * widest)
        P = np.zeros((len(net.places), kernel.P_WIDTH), dtype=np.int64)
        P[:, kernel.P_TOKENS] = net.initial
        P[:, kernel.P_LIMITED] = [place.capacity is not None for place in net.places]
        for first, lists in ((kernel.P_MET, self.met), (kernel.P_READ, self.readers)):
            ends = np.cumsum([len(rows) for rows in lists])
            P[:, first], P[:, first + 1] = ends - [len(rows) for rows in lists], ends
        met = np.array([row for rows in self.met for row in rows], dtype=np.int64).reshape(-1, 4)
        readers = np.array([t for rows in self.readers for t in rows], dtype=np.int64)
        weights = [1.0 if isinstance(each.weight, Formula) else each.weight for each in net.transitions]
        postfix = self.postfix
        rules = kernel.Rules(
            T, TF, N.ravel(), self.A.array(), self.copies.array().ravel(), self.sets.array(), self.L.array(),
            self.C.array(), met, readers, self.guards.array().ravel(), self.D.array(), levels, order,
        )  # fmt: skip
        formulas = kernel.Formulas(
            np.array(postfix.rows, dtype=np.int64).reshape(-1, 2), np.array(postfix.numbers, dtype=float),
            np.array(postfix.begins, dtype=np.int64), self.table(),
        )  # fmt: skip
        gives = max((len(transition.give) for transition in net.transitions), default=0)
        return Program(
            net, rules, formulas, self.ticks, self.slots, self.endings, P, np.array(weights, dtype=float), plain, words,
            gives,
        )  # fmt: skip

    def table(self) -> Array:
        """Return the feed's values (rows, columns)."""
        columns = list(self.net.feed.values())
        return np.ascontiguousarray(np.stack(columns, axis=1), dtype=float) if columns else np.zeros((1, 1))

    def transition(self, t: int, transition: Transition, row: Array, params: Array) -> None:
        """Write a transition's row, and the rows of other tables that it refers to."""
        formulas = self.postfix.formula
        takes_data = any(self.by_data[arc.place] for arc in transition.take)
        gives_data = any(self.by_data[arc.place] for arc in transition.give)
        at_once = self.race or not transition.timed
        simple = not (takes_data or gives_data or transition.sets) and not any(
            arc.target or isinstance(arc.weight, Formula) for arc in (*transition.take, *transition.give)
        )
        flags = kernel.TIMED * transition.timed | kernel.DATA * takes_data | kernel.FAST * (simple and at_once)
        flags |= kernel.FEEDS * any(isinstance(value, Formula) and value.fed for _, value in transition.sets)
        if simple and at_once:
            row[kernel.T_DELTA : kernel.T_DELTA_END + 1] = self.changes((transition.take, -1), (transition.give, 1))
        bound: set[str] = set()
        row[kernel.T_TAKE : kernel.T_TAKE_END + 1] = self.A.span([self.arc(arc, bound) for arc in transition.take])
        row[kernel.T_GIVE : kernel.T_GIVE_END + 1] = self.A.span([self.arc(arc, None) for arc in transition.give])
        row[kernel.T_GUARD : kernel.T_GUARD_END + 1] = self.guards.span([(formulas(g),) for g in transition.guards])
        row[kernel.T_SET : kernel.T_SET_END + 1] = self.sets.span([self.setting(*entry) for entry in transition.sets])
        looks, limits = self.conditions(t, transition), self.limits(transition)
        row[kernel.T_LOOK : kernel.T_LOOK_END + 1] = self.L.span(looks)
        row[kernel.T_LIMIT : kernel.T_LIMIT_END + 1] = self.C.span(limits)
        if isinstance(transition.weight, Formula):
            row[kernel.T_WEIGHT] = formulas(transition.weight)
        if isinstance(transition.rate, Formula):
            row[kernel.T_RATE] = formulas(transition.rate)
        servers = transition.servers if self.race and transition.timed else 1
        row[kernel.T_SERVERS] = np.iinfo(np.int64).max if servers is None else servers
        row[kernel.T_KIND], row[kernel.T_STAGES], params[:] = self.delay(transition)
        if row[kernel.T_SERVERS] != 1 and row[kernel.T_KIND] != kernel.EXPONENTIAL:
            raise RefusedError(f"transition {transition.name!r}: several servers in a race need exponential times")
        read = (*transition.formulas, transition.weight, transition.rate)
        if (
            looks
            or limits
            or transition.guards
            or row[kernel.T_SERVERS] != 1
            or any(isinstance(f, Formula) for f in read)
        ):
            flags |= kernel.CHECKED
            self.reads(t, transition, looks, takes_data)
        if takes_data and not gives_data:
            flags |= kernel.ENDS
            row[kernel.T_HISTOGRAM] = len(self.endings)
            self.endings.append(t)
        row[kernel.T_FLAGS] = flags
        if isinstance(transition.delay, Formula):
            row[kernel.T_DELAY] = formulas(transition.delay)

    def plain(self, T: Array, TF: Array) -> tuple[Array, bool]:
        """Return rows of plain firings (no formulas, capacities, data), and whether all of the net's are."""
        N = np.zeros((len(T), kernel.N_WIDTH), dtype=np.int64)
        flags, kinds = T[:, kernel.T_FLAGS], T[:, kernel.T_KIND]
        if self.race or self.slots or (flags & kernel.CHECKED).any() or (kinds == kernel.FORMULA).any():
            return N, False
        for transition, row, full, (fixed, *_) in zip(self.net.transitions, N, T, TF, strict=True):
            at_once = full[kernel.T_FLAGS] & kernel.FAST
            begin = full[kernel.T_DELTA : kernel.T_DELTA_END + 1] if at_once else self.changes((transition.take, -1))
            row[kernel.N_BEGIN : kernel.N_BEGIN_END + 1] = begin
            row[kernel.N_END : kernel.N_END_END + 1] = (0, 0) if at_once else self.changes((transition.give, 1))
            row[kernel.N_LEVEL] = full[kernel.T_LEVEL] * 4 + kernel.V_COUNT
            row[kernel.N_WORD] = full[kernel.T_WORD]
            row[kernel.N_MASK] = np.uint64(1 << full[kernel.T_BIT].item()).astype(np.int64)
            row[kernel.N_WAIT] = 0 if at_once else fixed if full[kernel.T_KIND] == kernel.FIXED else -1
        return N, True

    def changes(self, *arcs: tuple[Sequence[Arc], int]) -> tuple[int, int]:
        """Write the change of tokens of each place, for arcs without formulas; return the span of rows."""
        change: dict[int, int] = {}
        for arcs_of_sign, sign in arcs:
            for arc in arcs_of_sign:
                assert not isinstance(arc.weight, Formula)
                change[arc.place] = change.get(arc.place, 0) + sign * arc.weight
        return self.D.span([(p, d) for p, d in change.items() if d])

    def arc(self, arc: Arc, bound: set[str] | None) -> tuple[int, ...]:
        """Return an arc's row; an arc that takes data also binds the fields that no earlier arc has bound (`bound`)."""
        data = self.by_data[arc.place]
        bound_slots: list[tuple[int, ...]] = []
        if data and bound is not None:
            fields = self.net.types[self.net.places[arc.place].of or ""]
            bound_slots = [(self.slots[name],) for name in fields if name not in bound]
            bound |= set(fields)
        formula = self.postfix.formula(arc.weight) if isinstance(arc.weight, Formula) else -1
        target = self.postfix.target(arc.target) if arc.target else -1
        weight = 0 if isinstance(arc.weight, Formula) else arc.weight
        return (arc.place, weight, formula, target, int(data), *self.copies.span(bound_slots))

    def setting(self, key: str, value: int | Formula) -> tuple[int, ...]:
        """Return the row that sets a field."""
        number = self.postfix.formula(value) if isinstance(value, Formula) else self.postfix.number(value)
        high = self.net.fields[key].high
        return self.slots[key], number, 0, -1 if high is None else high

    def conditions(self, t: int, transition: Transition) -> list[tuple[int, ...]]:
        """Note the conditions on fixed places in `met`; return those with a formula or a place chosen by a token."""
        looks: list[tuple[int, ...]] = []
        for arcs, fewer in (((*transition.take, *transition.test), 0), (transition.inhibit, 1)):
            for arc in arcs:
                if arc.target or isinstance(arc.weight, Formula):
                    place, weight, formula, target, *_ = self.arc(arc, None)
                    looks.append((place, weight, formula, target, fewer))
                elif arc.weight or fewer:
                    self.met[arc.place].append((t, arc.weight, 1 - fewer, 0))
        return looks

    def limits(self, transition: Transition) -> list[tuple[int, ...]]:
        """Return the conditions that capacities of places set."""
        rows = []
        for give in transition.give:
            capacity = self.net.places[give.place].capacity
            if capacity is None:
                continue
            row = [give.place, capacity, 0, -1, 0, -1]
            for at, arcs in ((2, [give]), (4, [arc for arc in transition.take if arc.place == give.place])):
                for arc in arcs:
                    if isinstance(arc.weight, Formula):
                        row[at + 1] = self.postfix.formula(arc.weight)
                    else:
                        row[at] = arc.weight
            rows.append(tuple(row))
        return rows

    def reads(self, t: int, transition: Transition, looks: list[tuple[int, ...]], takes_data: bool) -> None:
        """Note the places whose changes require a transition to be checked again."""
        read: set[int] = set()
        for value in (*transition.formulas, transition.weight, transition.rate):
            if isinstance(value, Formula):
                read |= value.reads
        for arc in transition.arcs:
            if arc.target:
                read |= set(range(arc.place, arc.place + math.prod(arc.target.sizes)))
                read |= {p for index in arc.target.at if isinstance(index, Formula) for p in index.reads}
        read |= {look[0] for look in looks}
        read |= {arc.place for arc in transition.give if self.net.places[arc.place].capacity is not None}
        if takes_data or transition.servers != 1:
            read |= {arc.place for arc in transition.take}
        for place in read:
            self.readers[place].append(t)

    def delay(self, transition: Transition) -> tuple[int, int, tuple[float, float, float]]:
        """Return kind, stages and parameters of a delay, in ticks."""
        match transition.delay:
            case Deterministic(mean=mean):
                return kernel.FIXED, 0, (float(round(mean * self.ticks)), 0, 0)
            case Exponential(mean=mean):
                return kernel.EXPONENTIAL, 0, (mean * self.ticks, 0, 0)
            case Uniform(low=low, high=high):
                return kernel.UNIFORM, 0, (low * self.ticks, high * self.ticks, 0)
            case Erlang(mean=mean, stages=stages):
                return kernel.ERLANG, stages, (mean * self.ticks / stages, 0, 0)
            case Hyperexponential(means=(first, second), probability=p):
                return kernel.HYPEREXPONENTIAL, 0, (first * self.ticks, second * self.ticks, p)
            case Formula():
                return kernel.FORMULA, 0, (0, 0, 0)
        return (kernel.EXPONENTIAL if transition.rate is not None else kernel.NONE), 0, (0, 0, 0)

    def levels(self, T: Array) -> tuple[Array, Array, int]:
        """Number the priority levels, the highest first, and assign each transition a bit.

        Return the rows of levels, the transitions by bit, and the number of words.
        """
        net = self.net
        ranks = [(self.race and not transition.timed, transition.priority) for transition in net.transitions]
        rows, order, words = [], [], 0
        for v, rank in enumerate(sorted(set(ranks), reverse=True)):
            members = [t for t in range(len(ranks)) if ranks[t] == rank]
            word_count = -(-len(members) // 64)
            for k, t in enumerate(members):
                T[t, [kernel.T_LEVEL, kernel.T_WORD, kernel.T_BIT]] = v, words + k // 64, k % 64
            weights = {net.transitions[t].weight for t in members}
            equal = len(weights) == 1 and not isinstance(next(iter(weights)), Formula)
            rows.append((words, words + word_count, int(equal), 0))
            order += members + [-1] * (64 * word_count - len(members))
            words += word_count
        return np.array(rows, dtype=np.int64).reshape(-1, 4), np.array(order, dtype=np.int64), words


def _ticks_of(net: Net) -> float:
    """Return the ticks in a unit of time: a power of ten."""
    means = [1.0]
    for transition in net.transitions:
        match transition.delay:
            case Deterministic(mean=mean) | Exponential(mean=mean) | Erlang(mean=mean):
                means.append(mean)
            case Hyperexponential(means=both):
                means += both
            case Uniform(low=low, high=high):
                means += [low or high, high]
    if min(means) < 1e-9:
        raise InputError(f"times must be at least 1e-9 of the unit, got {min(means):g}: choose a smaller unit")
    return float(10 ** (FINE - math.floor(math.log10(min(means)))))
