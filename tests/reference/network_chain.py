"""The Markov chain of a closed network in plain Python: states are tuples, what follows is written out case by case.

Stations hold customers (class, phase of service or -1); those who wait for room stand in the door of the full station,
with the station whose server they keep. Disciplines fifo, priority, ps and delay; limits that drop or block.
"""

from collections import defaultdict

import numpy as np
from reference.markov import stationary

from npexplore.networks.times import phases

THINK = "think"


class Plain:
    """Explores all states of a network of closed classes that think; `answer` solves it."""

    def __init__(self, network):
        self.network, self.names = network, list(network.station)
        self.ways = {c: network.routes(c) for c in network.classes}
        self.done = defaultdict(float)

    def service(self, station, c):
        return phases(
            self.network.classes[c].think_time if station == THINK else self.network.classes[c].service[station]
        )

    def served(self, station, line):
        kind = self.network.station.get(station)
        return len(line) if kind is None or kind.discipline in ("ps", "delay") else min(len(line), kind.servers)

    def settle(self, station, line):
        """All ways in which those who may begin do so: (probability, line)."""
        for i in range(self.served(station, line)):
            c, phase, *rest = line[i]
            if phase == -1:
                found = []
                for first, chance in enumerate(self.service(station, c).first):
                    if chance > 0:
                        after = (*line[:i], (c, first, *rest), *line[i + 1 :])
                        found += [(chance * p, one) for p, one in self.settle(station, after)]
                return found
        return [(1.0, line)]

    def put(self, state, station, c):
        """A customer comes into a station with room."""
        lines, doors = state
        line, fixed = lines[station], self.served(station, lines[station])
        at, kind = len(line), self.network.station.get(station)
        if kind is not None and kind.discipline == "priority":
            rank = self.network.classes[c].priority
            at = fixed + sum(self.network.classes[one[0]].priority <= rank for one in line[fixed:])
        line = (*line[:at], (c, -1), *line[at:])
        return [(p, (lines | {station: one}, doors)) for p, one in self.settle(station, line)]

    def full(self, state, station, when_full):
        kind = self.network.station[station]
        if kind.capacity is None or kind.when_full != when_full:
            return False
        return len(state[0][station]) >= kind.capacity or bool(state[1].get(station))

    def leave(self, state, station, customer):
        """A customer is taken from a station: others begin, and who waits at the door comes in."""
        lines, doors = state
        line = list(lines[station])
        line.remove(customer)
        found = []
        for p, one in self.settle(station, tuple(line)):
            after = (lines | {station: one}, doors)
            if doors.get(station):
                (keeper, c, token), *rest = doors[station]
                after = (after[0], doors | {station: tuple(rest)})
                ways = [(p, after)]
                if keeper:
                    ways = [(p * q, s) for q, s in self.leave(after, keeper, token)]
                found += [(q * w, s) for q, one in ways for w, s in self.put(one, station, c)]
            else:
                found.append((p, after))
        return found

    def move(self, state, start, c, station=None, customer=None):
        """A customer goes on from `start`, and may still keep a server: (probability, state, passes ended by class)."""
        found = []
        for target, other, chance in self.ways[c][start]:
            gone = [(1.0, state)] if station is None else self.leave(state, station, customer)
            if target == "out":
                for p, one in gone:
                    found += [(chance * p * q, s, {other: 1}) for q, s in self.put(one, THINK, other)]
            elif self.full(state, target, "block"):
                lines, doors = state
                if station in (None, THINK):
                    for p, (after, doors) in gone:
                        door = (*doors.get(target, ()), (None, other, None))
                        found.append((chance * p, (after, doors | {target: door}), {}))
                else:
                    token = (other, "held", target)
                    line = list(lines[station])
                    line[line.index(customer)] = token
                    door = (*doors.get(target, ()), (station, other, token))
                    found.append((chance, (lines | {station: tuple(line)}, doors | {target: door}), {}))
            else:
                for p, one in gone:
                    if self.full(one, target, "drop"):
                        found += [(chance * p * q, s, {}) for q, s in self.put(one, THINK, other)]
                    else:
                        found += [(chance * p * q, s, {}) for q, s in self.put(one, target, other)]
        return found

    def events(self, state):
        for station, line in state[0].items():
            kind = self.network.station.get(station)
            count = self.served(station, line)
            for customer in line[:count]:
                c, phase = customer[:2]
                if phase == "held":
                    continue
                rates = self.service(station, c).rates
                speed = (
                    min(len(line), kind.servers) / len(line) if kind is not None and kind.discipline == "ps" else 1.0
                )
                end = -rates[phase].sum()
                for after, rate in enumerate(rates[phase]):
                    if after != phase and rate > 0:
                        new = list(line)
                        new[new.index(customer)] = (c, after)
                        yield speed * rate, (state[0] | {station: tuple(new)}, state[1]), {}
                if end > 1e-12:
                    start = "in" if station == THINK else station
                    for p, one, done in self.move(state, start, c, station, customer):
                        yield speed * end * p, one, done

    def key(self, state):
        """One form for states that differ in the order of those in service only."""
        lines = []
        for station, line in state[0].items():
            count = self.served(station, line)
            lines.append((station, tuple(sorted(map(str, line[:count]))), line[count:]))
        return str((sorted(lines, key=str), sorted((s, d) for s, d in state[1].items() if d)))

    def answer(self):
        """Return {(station, class): mean number} and {class: passes a second}."""
        start = [(1.0, (dict.fromkeys([*self.names, THINK], ()), {}))]
        for c, customers in self.network.classes.items():
            for _ in range(customers.population or 0):
                start = [(p * q, s) for p, one in start for q, s in self.put(one, THINK, c)][:1]
        states, index, arcs = [start[0][1]], {self.key(start[0][1]): 0}, []
        passes = defaultdict(lambda: defaultdict(float))
        for here, state in enumerate(states):
            for rate, after, done in self.events(state):
                key = self.key(after)
                if key not in index:
                    index[key] = len(states)
                    states.append(after)
                arcs.append((here, index[key], rate))
                for c, n in done.items():
                    passes[c][here] += rate * n
        Q = np.zeros((len(states), len(states)))
        for a, b, rate in arcs:
            Q[a, b] += rate
        p = stationary(Q)
        numbers = defaultdict(float)
        for share, (lines, _) in zip(p, states, strict=True):
            for station, line in lines.items():
                for one in line:
                    numbers[station, one[0]] += share
        return dict(numbers), {c: sum(p[k] * x for k, x in rows.items()) for c, rows in passes.items()}
