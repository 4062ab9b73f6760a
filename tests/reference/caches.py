"""Caches written plainly: a list a set, places fixed, with stamps; closed forms of two ways to use them."""

import math


class Plain:
    """One cache: sets of fixed places; a place holds (line, time of last use)."""

    def __init__(self, sets, ways):
        self.sets = [[None] * ways for _ in range(sets)]

    def ways(self, line):
        return self.sets[line % len(self.sets)]

    def has(self, line, now):
        for k, held in enumerate(self.ways(line)):
            if held and held[0] == line:
                self.ways(line)[k] = (line, now)
                return True
        return False

    def drop(self, line):
        ways = self.ways(line)
        ways[:] = [None if held and held[0] == line else held for held in ways]

    def bring(self, line, now, draw, among=None):
        """Put a line into the first free of some ways, else the oldest, or the one drawn; return who left."""
        ways = self.ways(line)
        places = range(len(ways) if among is None else among)
        free = [k for k in places if ways[k] is None]
        if free:
            k = free[0]
        else:
            k = min(places, key=lambda k: ways[k][1]) if draw is None else draw % len(places)
        left, ways[k] = ways[k], (line, now)
        return left and left[0]


def plain_levels(accesses, levels, cores, inclusive, device_ways, draws=None):
    """Return the level of each access (core or -1, line, write); levels: (sets, ways, shared) from the core on."""
    made = [[Plain(sets, ways) for _ in range(1 if shared else cores)] for sets, ways, shared in levels]
    mine = lambda row, core: row[core % len(row)]  # noqa: E731
    last, found = made[-1][0], []

    def forget(line, keeper=None):
        for row in made[:-1]:
            for one in row:
                if keeper is None or one is not mine(row, keeper):
                    one.drop(line)

    for now, (core, line, write) in enumerate(accesses):
        draw = None if draws is None else draws[now]
        if core < 0:
            hit = last.has(line, now)
            found.append(len(levels) - 1 if hit else len(levels))
            if not hit and write and device_ways:
                left = last.bring(line, now, draw, device_ways)
                if inclusive and left is not None:
                    forget(left)
            if write:
                forget(line)
            continue
        level = next((k for k, row in enumerate(made) if mine(row, core).has(line, now)), len(levels))
        found.append(level)
        for row in reversed(made[:level]):
            left = mine(row, core).bring(line, now, draw)
            if row is made[-1] and inclusive and left is not None:
                forget(left)
        if write:
            forget(line, core)
    return found


def cyclic_miss(lines, capacity):
    """Share of misses of lines used in turn under random replacement: m = 1 - exp(-lines / capacity m)."""
    missed = float(lines > capacity)
    for _ in range(200):
        missed = -math.expm1(-lines / capacity * missed)
    return missed


def uniform_miss(lines, capacity):
    """Share of misses of lines used at random, all alike: what does not fit."""
    return max(0.0, 1 - capacity / lines)
