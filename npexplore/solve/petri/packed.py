"""The markings of a net without formulas, found by the kernel and packed into words.

Each place has the number of bits that its initial tokens need. If a firing puts more tokens on it than fit, the known
markings are packed again with one more bit, and the search continues.
"""

from dataclasses import dataclass, field

import numpy as np

from npexplore._kernels import markings as kernels
from npexplore.errors import RefusedError
from npexplore.machine.petri import Formula, Net, Transition
from npexplore.solve.chains.explore import refuse_memory
from npexplore.solve.petri.firing import Array, Firing
from npexplore.solve.queueing.inputs import Ints

WORD = 64
MOST_BITS = 31  # of a place, since markings are returned as 32-bit integers
BATCH = 2_048  # firings whose markings are looked up together
INITIAL_MARKINGS = 1 << 14  # initial room for markings
GROWTH = 1.6


class Layout:
    """Position of each place in the words of a marking: `bits` (P,) from `shift` on, and a guard bit above them."""

    def __init__(self, bits: Array) -> None:
        self.bits = bits
        self.word, self.shift = np.zeros_like(bits), np.zeros_like(bits)
        word = used = 0
        for p, wide in enumerate(bits.tolist()):
            if used + wide + 1 > WORD:
                word, used = word + 1, 0
            self.word[p], self.shift[p] = word, used
            used += wide + 1
        self.words = word + 1
        self.guard = np.uint64(1) << (self.shift + bits).astype(np.uint64)  # (P,)
        self.guards = self.sum(range(len(bits)), self.guard)

    def sum(self, places: range | list[int], values: Array) -> Array:
        """Return (words,): the sums of values (one per place), modulo 2^64."""
        total = np.zeros(self.words, np.uint64)
        np.add.at(total, self.word[list(places)], values)
        return total

    def pack(self, rows: Array) -> Array:
        """Return markings (n, P) as words (n, words)."""
        words = np.zeros((len(rows), self.words), np.uint64)
        for p in range(len(self.bits)):
            words[:, self.word[p]] |= rows[:, p].astype(np.uint64) << np.uint64(self.shift[p])
        return words

    def unpack(self, words: Array) -> Array:
        """Return words (n, words) as markings (n, P)."""
        rows = np.empty((len(words), len(self.bits)), np.int32)
        kernels.unpack(words, self.word, self.shift, self.bits, rows)
        return rows

    def at(self, tokens: dict[int, int]) -> Array:
        """Return (words,): the summand of a packed marking for changes of tokens by place, which may be negative."""
        shifted = [(n << int(self.shift[p])) % (1 << WORD) for p, n in tokens.items()]
        return self.sum(list(tokens), np.array(shifted, np.uint64))


@dataclass(frozen=True)
class Rule:
    """The rule of a transition: it needs `least` tokens and fewer than `below` on places, and makes `change`."""

    name: int
    level: int
    least: dict[int, int]
    below: dict[int, int]
    change: dict[int, int]


def can_pack(net: Net) -> bool:
    """Return whether a net has no formulas, so that only the tokens of places decide what fires."""
    return not any(
        each.formulas or isinstance(each.rate, Formula) or isinstance(each.weight, Formula) for each in net.transitions
    )


def rules(firing: Firing) -> list[Rule]:
    """Return the rules of a net's transitions, the highest level first."""
    limits = dict(firing.capacity)
    all_rules = [_rule(t, each, int(firing.level[t]), limits) for t, each in enumerate(firing.net.transitions)]
    return sorted(all_rules, key=lambda rule: -rule.level)


def _rule(number: int, transition: Transition, level: int, limits: dict[int, int]) -> Rule:
    least: dict[int, int] = {}
    below: dict[int, int] = {}
    change: dict[int, int] = {}
    for arc in (*transition.take, *transition.test):
        least[arc.place] = max(least.get(arc.place, 0), _fixed(arc.weight))
    for arcs, sign in ((transition.take, -1), (transition.give, 1)):
        for arc in arcs:
            change[arc.place] = change.get(arc.place, 0) + sign * _fixed(arc.weight)
    for arc in transition.inhibit:
        below[arc.place] = min(below.get(arc.place, _fixed(arc.weight)), _fixed(arc.weight))
    for place, capacity in limits.items():
        if change.get(place, 0) > 0:
            most = capacity - change[place] + 1
            below[place] = min(below.get(place, most), most)
    return Rule(number, level, least, below, {place: n for place, n in change.items() if n})


def _fixed(weight: int | Formula) -> int:
    assert not isinstance(weight, Formula)
    return weight


@dataclass
class Search:
    """The growing arrays of the kernel: markings as words, with their layout.

    In marking i, transition which[a] fires and leads to target[a], a in begin[i]..begin[i + 1] - 1.
    """

    net: Net
    rules: list[Rule]
    most_states: int
    most_bytes: int
    Q: Ints = field(default_factory=lambda: np.zeros(kernels.Q_WIDTH, np.int64))

    def __post_init__(self) -> None:
        most = np.maximum(self.net.initial.astype(np.int64), 1)
        for rule in self.rules:
            for place, change in rule.change.items():
                most[place] = max(most[place], change)
        self.batch = max(BATCH, len(self.rules))
        self.hashes, self.seen = np.zeros(self.batch, np.uint64), np.zeros(self.batch, np.uint64)
        room = max(INITIAL_MARKINGS, 2 * self.batch)
        self.begin = np.zeros(room + 1, np.int64)
        self.target, self.which = np.zeros(4 * room, np.int32), np.zeros(4 * room, np.int32)
        self.slots = np.zeros(1 << (2 * room).bit_length(), np.uint64)
        self.words = np.zeros((room, 0), np.uint64)
        self.Q[kernels.Q_KNOWN] = 1
        self.lay_out(np.array([int(n).bit_length() for n in most], np.int64), self.net.initial[None, :])

    def lay_out(self, bits: Array, rows: Array) -> None:
        """Pack the known markings (rows) and the transitions with `bits` bits per place."""
        too_wide = np.flatnonzero(bits > MOST_BITS)
        if len(too_wide):
            raise RefusedError(f"place {self.net.places[too_wide[0]].name!r} gets more than {2**MOST_BITS - 1} tokens")
        self.layout = layout = Layout(bits)
        words = np.zeros((len(self.words), layout.words), np.uint64)
        words[: len(rows)] = layout.pack(rows)
        self.words = words
        self.slots[:] = 0
        kernels.enter(words, len(rows), self.slots)
        ends: list[int] = []
        word: list[int] = []
        conditions: list[tuple[np.uint64, np.uint64, np.uint64]] = []
        for rule in self.rules:
            capacity = 1 << bits
            binding_limits = {p: n for p, n in rule.below.items() if n < capacity[p]}  # larger limits always hold
            never = any(n >= capacity[p] for p, n in rule.least.items()) or any(n <= 0 for n in binding_limits.values())
            if never:
                word.append(0)
                conditions.append((np.uint64(0), np.uint64(0), np.uint64(1)))
            else:
                for tokens, sign in ((rule.least, 1), (binding_limits, 0)):
                    need, guards = layout.at(tokens), layout.sum(list(tokens), layout.guard[list(tokens)])
                    for w in np.flatnonzero(guards).tolist():
                        word.append(w)
                        conditions.append((need[w], guards[w], guards[w] * np.uint64(sign)))
            ends.append(len(word))
        self.transitions = (
            np.array([rule.name for rule in self.rules], np.int32),
            np.array([rule.level for rule in self.rules], np.int32),
            np.array(ends, np.int64),
            np.array(word, np.int64),
            np.array(conditions, np.uint64).reshape(-1, 3),
            np.array([layout.at(rule.change) for rule in self.rules], np.uint64).reshape(-1, layout.words),
            layout.guards,
        )
        self.following = np.zeros((self.batch, layout.words), np.uint64)
        self.grown = np.zeros(layout.words, np.uint64)

    def go_on(self) -> int:
        """Search until all markings are known, or until the kernel stops; return the kernel's status."""
        return kernels.explore(
            self.words, self.slots, self.begin, self.target, self.which, *self.transitions,
            self.following, self.hashes, self.seen, self.grown, self.most_states, self.Q,
        )  # fmt: skip

    def widen(self) -> None:
        """Give one more bit to the places whose tokens no longer fit."""
        known = int(self.Q[kernels.Q_KNOWN])
        grown_places = (self.grown[self.layout.word] & self.layout.guard) != 0
        self.lay_out(self.layout.bits + grown_places, self.layout.unpack(self.words[:known]))

    def grow(self) -> None:
        """Enlarge the arrays that are nearly full; raises RefusedError if that takes more memory than allowed."""
        known, _, arcs = self.Q.tolist()
        room, arc_room = len(self.words), len(self.target)
        slots = len(self.slots)
        if known + self.batch > room:
            room = int(GROWTH * room) + self.batch
        if arcs + self.batch > arc_room:
            arc_room = int(GROWTH * arc_room) + self.batch
        if 2 * (known + self.batch) > slots:
            slots *= 2
        needs = room * (8 * self.layout.words + 8) + 8 * arc_room + 8 * slots
        refuse_memory(known, needs, self.most_bytes)
        if slots > len(self.slots):
            self.slots = np.zeros(0, np.uint64)
            self.slots = np.zeros(slots, np.uint64)
            kernels.enter(self.words, known, self.slots)
        self.fit(room, arc_room)

    def fit(self, states: int, arcs: int) -> None:
        """Resize the arrays to these numbers of markings and arcs."""
        self.words.resize((states, self.layout.words), refcheck=False)
        self.begin.resize(states + 1, refcheck=False)
        self.target.resize(arcs, refcheck=False)
        self.which.resize(arcs, refcheck=False)


def explore_packed(firing: Firing, most_states: int, most_bytes: int) -> Search:
    """Return all markings of a net for which `can_pack`; raises RefusedError for more states or bytes than allowed."""
    search = Search(firing.net, rules(firing), most_states, most_bytes)
    while True:
        stopped = search.go_on()
        if stopped == kernels.NEEDS_ROOM:
            search.grow()
        elif stopped == kernels.GROWN:
            search.widen()
        else:
            break
    known, _, arcs = search.Q.tolist()
    if known > most_states:
        raise RefusedError(f"chain: more than {most_states} states (known so far: {known})")
    search.slots = np.zeros(0, np.uint64)
    search.fit(known, arcs)
    return search
