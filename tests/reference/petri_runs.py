"""A plain interpreter of running nets: lists and dictionaries, one firing after the other, by docs/petri.md."""

import math

import numpy as np

from npexplore.machine.petri import Formula
from npexplore.rows.distributions import Deterministic, Erlang, Exponential, Hyperexponential, Uniform

MASK = 2**64 - 1


class Stream:
    """SplitMix64."""

    def __init__(self, state):
        self.state = int(state)

    def __call__(self):
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53


class EndlessError(Exception):
    """Firings without end in no time."""


class PlainRun:
    def __init__(self, net, seed, ticks):
        self.net, self.ticks, self.race = net, ticks, net.timing == "race"
        states = np.random.SeedSequence(seed).generate_state(len(net.transitions) + 1, np.uint64)
        *self.own, self.choice = [Stream(state) for state in states]
        self.now = self.number = self.instant = 0
        self.tokens = [place.tokens for place in net.places]
        self.coming = [0] * len(net.places)
        self.line = [[(0, dict(place.carried))] * place.tokens if place.of else None for place in net.places]
        self.under_way = []  # (time, number, transition, carried, birth, gives)
        self.clock = {}  # transition -> (time, tie, transition, mean)
        self.log = []
        self.ages = {}
        self.area = [0] * len(net.places)
        self.row = 0  # of the feed

    def amount(self, said, carried=None, random=None, row=None):
        if not isinstance(said, Formula):
            return said
        names = {key: (carried or {}).get(key, 0) for key in self.net.fields}
        return float(said(np.array(self.tokens, dtype=float)[:, None], names, random, row).ravel()[0])

    def place(self, arc, carried):
        at = arc.place
        if arc.target:
            flat = 0
            for index, size in zip(arc.target.at, arc.target.sizes, strict=True):
                flat = flat * size + int(self.amount(index, carried)) % size
            at += flat
        return at

    def carried(self, one):
        found = {}
        for arc in one.take:
            if self.line[arc.place]:
                for key in self.net.types[self.net.places[arc.place].of]:
                    found.setdefault(key, self.line[arc.place][0][1][key])
        return found

    def may_fire(self, one):
        for arc in (*one.take, *one.test, *one.inhibit):  # arcs of fixed places and weights first: no token is read
            if not arc.target and not isinstance(arc.weight, Formula):
                enough = self.tokens[arc.place] >= arc.weight
                if enough == (arc in one.inhibit and arc not in (*one.take, *one.test)):
                    return False
        carried = self.carried(one)
        for arcs, inhibits in ((one.take, False), (one.test, False), (one.inhibit, True)):
            for arc in arcs:
                enough = self.tokens[self.place(arc, carried)] >= self.amount(arc.weight, carried)
                if enough == inhibits:
                    return False
        if not all(self.amount(guard, carried) for guard in one.guards):
            return False
        for arc in one.give:
            capacity = self.net.places[arc.place].capacity
            if capacity is not None:
                taken = sum(self.amount(other.weight, carried) for other in one.take if other.place == arc.place)
                change = self.amount(arc.weight, carried) - taken
                if change > 0 and self.tokens[arc.place] + self.coming[arc.place] + change > capacity:
                    return False
        return self.amount(one.weight, carried) > 0

    def mean(self, one):
        """Return the mean of an exponential clock in ticks, with all that run at once."""
        mean = one.delay.mean * self.ticks if isinstance(one.delay, Exponential) else 0.0
        if isinstance(one.rate, Formula):
            rate = self.amount(one.rate, self.carried(one))
            mean = self.ticks / rate if rate > 0 else math.inf
        if one.servers != 1:
            carried = self.carried(one)
            held = [
                self.tokens[self.place(arc, carried)] // max(int(self.amount(arc.weight, carried)), 1)
                for arc in one.take
            ]
            degree = min(held, default=2**63 - 1)
            mean /= min(degree, 2**63 - 1 if one.servers is None else one.servers)
        return mean

    def wait(self, one, mean, random):
        match one.delay:
            case Deterministic(mean=fixed):
                return round(fixed * self.ticks)
            case Uniform(low=low, high=high):
                x = low * self.ticks + random() * (high * self.ticks - low * self.ticks)
            case Erlang(mean=whole, stages=stages):
                x = 0.0
                for _ in range(stages):
                    x -= math.log1p(-random())
                x *= whole * self.ticks / stages
            case Hyperexponential(means=means, probability=p):
                first = random() < p
                x = -math.log1p(-random()) * (means[0 if first else 1] * self.ticks)
            case _:
                x = -math.log1p(-random()) * mean
        return int(x + 0.5)

    def step(self):
        """Let one firing begin or end; return False where nothing is left."""
        ones = self.net.transitions
        while True:
            due = [event for event in self.under_way if event[0] == self.now]
            if due:
                self.end(min(due))
                return True
            able = [t for t, one in enumerate(ones) if not (self.race and one.timed) and self.may_fire(one)]
            if able:
                highest = max(ones[t].priority for t in able)
                self.begin(self.chosen([t for t in able if ones[t].priority == highest], highest))
                return True
            if self.race:
                self.set_clocks()
            events = list(self.clock.values()) if self.race else self.under_way
            if not events:
                return False
            event = min(events)
            if event[0] != self.now:
                self.now, self.instant = event[0], 0
            if self.race:
                self.begin(event[2])
                return True

    def chosen(self, able, highest):
        if len(able) == 1:
            return able[0]
        level = [
            one.weight for one in self.net.transitions
            if one.priority == highest and not (self.race and one.timed)
        ]  # fmt: skip
        if not any(isinstance(w, Formula) for w in level) and len(set(level)) == 1:
            return able[min(int(self.choice() * len(able)), len(able) - 1)]
        weights = [self.amount(self.net.transitions[t].weight, self.carried(self.net.transitions[t])) for t in able]
        total = 0.0
        for w in weights:
            total += w
        x = self.choice() * total
        for t, w in zip(able, weights, strict=True):
            x -= w
            if x < 0:
                return t
        return able[-1]

    def set_clocks(self):
        for t, one in enumerate(self.net.transitions):
            if not one.timed:
                continue
            able = self.may_fire(one)
            exponential = one.delay is None or isinstance(one.delay, Exponential)
            mean = self.mean(one) if able and exponential else 1.0
            able = able and mean < math.inf
            if t in self.clock and (not able or (exponential and mean != self.clock[t][3])):
                del self.clock[t]
            if able and t not in self.clock:
                wait = self.wait(one, mean, self.own[t])
                tie = 0 if exponential else int(self.own[t]() * 2**53)
                self.clock[t] = (self.now + wait, tie, t, mean)

    def begin(self, t):
        one, random = self.net.transitions[t], self.own[t]
        carried = dict.fromkeys(self.net.fields, 0) | self.carried(one)
        row = {name: column[self.row % len(column)] for name, column in self.net.feed.items()}
        self.row += any(isinstance(said, Formula) and said.fed for _, said in one.sets)
        for key, said in one.sets:
            carried[key] = int(self.amount(said, carried, random, row))
        takes = [(self.place(arc, carried), int(self.amount(arc.weight, carried))) for arc in one.take]
        gives = [(self.place(arc, carried), int(self.amount(arc.weight, carried))) for arc in one.give]
        wait = 0
        if one.timed and not self.race:
            if isinstance(one.delay, Formula):
                wait = int(self.amount(one.delay, carried) * self.ticks + 0.5)
            else:
                wait = self.wait(
                    one, one.delay.mean * self.ticks if isinstance(one.delay, Exponential) else 0.0, random
                )
        birth = None
        for place, many in takes:
            for _ in range(many if self.line[place] is not None else 0):
                born, _ = self.line[place].pop(0)
                birth = born if birth is None else birth
            self.change(place, -many)
        birth = self.now if birth is None else birth
        self.clock.pop(t, None)
        event = (self.now + wait, self.number, t, carried, birth, gives)
        if wait == 0:
            self.finish(event, 2)
        else:
            for place, many in gives:
                self.coming[place] += many
            self.under_way.append(event)
            self.log.append((self.now, t, self.number, 0, *carried.values()))
        self.number += 1
        self.instant += 1
        if self.instant > 1000:
            raise EndlessError

    def end(self, event):
        self.under_way.remove(event)
        for place, many in event[5]:
            self.coming[place] -= many
        self.finish(event, 1)

    def finish(self, event, how):
        _, number, t, carried, birth, gives = event
        for place, many in gives:
            self.change(place, many)
            if self.line[place] is not None:
                self.line[place] += [(birth, carried)] * many
        one = self.net.transitions[t]
        of = [[self.net.places[arc.place].of for arc in arcs] for arcs in (one.take, one.give)]
        if any(of[0]) and not any(of[1]):
            self.ages.setdefault(t, []).append(self.now - birth)
        self.log.append((self.now, t, number, how, *carried.values()))

    def change(self, place, many):
        self.tokens[place] += many
        self.area[place] -= many * self.now  # area = sum of tokens x time, once tokens x the end is added
