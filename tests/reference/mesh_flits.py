"""A wormhole mesh moved flit by flit, cycle by cycle; written from the rules alone, simple and slow.

Rules of a cycle t:
1. A link (entry, between neighbours, exit) is free again the cycle after its tail crossed it, and goes to a head that
   has waited since an earlier cycle: the oldest, the next in turn, or the least input; then, if it is still free, to
   the heads that are new in this cycle in the order of inputs. A head asks when it is there and first in its FIFO.
   Entries are asked for by senders, in the order of their list.
2. The message that has a link moves a flit over it if one is there (at the entry: always) and the FIFO behind the link
   has a place: a flit that crosses in cycle t is there in cycle t + hop, a place left in cycle t can be used in cycle
   t + 1. Exits have no FIFO: they take what comes.
"""

from dataclasses import dataclass, field

NORTH, EAST, SOUTH, WEST, LOCAL = range(5)


@dataclass
class Message:
    """`flits` from one tile to another, handed over at a cycle; what happened to it, in cycles."""

    at: int
    source: int
    target: int
    flits: int
    crossed: list = field(default_factory=list)  # per hop of the route, the cycle in which each flit crossed
    granted: list = field(default_factory=list)  # per hop, the cycle in which it got the link
    route: list = field(default_factory=list)

    @property
    def released(self):
        """When the sender may go on: the cycle after the tail has crossed the entry."""
        return self.crossed[0][-1] + 1

    def arrived(self, flit, hop):
        return self.crossed[-1][flit] + hop


def route(columns, tiles, ports, source, target):
    """Links (from, to, input at `to`) from one terminal to another: x first, then y; terminals follow the tiles."""
    here, goal, local = source, target, LOCAL
    if source >= tiles:
        here = ports[source - tiles]
        local += 1 + ports[: source - tiles].count(here)
    if target >= tiles:
        goal = ports[target - tiles]
    x, y = here % columns, here // columns
    goal_x, goal_y = goal % columns, goal // columns
    links = [("in", source, local)]
    while (x, y) != (goal_x, goal_y):
        if x != goal_x:
            step, came = (1, WEST) if x < goal_x else (-1, EAST)
            x += step
        else:
            step, came = (1, NORTH) if y < goal_y else (-1, SOUTH)
            y += step
        there = y * columns + x
        links.append((here, there, came))
        here = there
    return [*links, (target, "out", None)]


def play(columns, rows, ports, depth, hop, messages, arbitration="oldest"):
    """Move all messages (a list in the order of sending); returns them with their crossings filled in.

    ports: tiles that have a terminal more each.
    """
    owner, waiting, turn, fifo, last_tail = {}, {}, {}, {}, {}
    for m in messages:
        m.route = route(columns, columns * rows, ports, m.source, m.target)
        m.crossed = [[] for _ in m.route]
        m.granted = [None] * len(m.route)
    asked = set()
    t, left = 0, sum(m.flits * len(m.route) for m in messages)

    def pick(link, line):
        if arbitration == "oldest":
            return line[0]
        if arbitration == "fixed":
            return min(line, key=lambda entry: entry[0])
        later = [entry for entry in line if entry[0] > turn.get(link, 0)]
        return min(later or line, key=lambda entry: entry[0])

    def own(link, entry):
        turn[link], number, k = entry
        owner[link] = number, k
        messages[number].granted[k] = t

    while left:
        for link, line in waiting.items():
            if line and link not in owner and last_tail.get(link, -1) < t:
                chosen = pick(link, line)
                line.remove(chosen)
                own(link, chosen)
        new = []
        for number, m in enumerate(messages):
            if m.at <= t and (number, 0) not in asked:
                new.append((0, number, 0))
            for k in range(1, len(m.route)):
                behind = fifo.get(m.route[k - 1], [])
                here = m.crossed[k - 1] and m.crossed[k - 1][0] + hop <= t
                if here and (number, k) not in asked and behind[0][0] == number:
                    new.append((1 + m.route[k - 1][2], number, k))
        for entry in sorted(new):
            _, number, k = entry
            asked.add((number, k))
            link = messages[number].route[k]
            if link not in owner and last_tail.get(link, -1) < t and not waiting.get(link):
                own(link, entry)
            else:
                waiting.setdefault(link, []).append(entry)
        moves = []
        for link, (number, k) in owner.items():
            m, i = messages[number], len(messages[number].crossed[k])
            there = k == 0 or (len(m.crossed[k - 1]) > i and m.crossed[k - 1][i] + hop <= t)
            place = link[1] == "out" or len(fifo.get(link, [])) < depth
            if there and place:
                moves.append((link, number, k, i))
        for link, number, k, i in moves:
            m = messages[number]
            m.crossed[k].append(t)
            left -= 1
            if k:
                assert fifo[m.route[k - 1]].pop(0) == (number, i)
            if link[1] != "out":
                fifo.setdefault(link, []).append((number, i))
            if i == m.flits - 1:
                del owner[link]
                last_tail[link] = t
        t += 1
        assert t < 100_000, "the mesh stands still"
    return messages


def intervals(messages):
    """Per link (from, to), the cycles (granted, free again) of every message that crossed it."""
    found = {}
    for m in messages:
        for (a, b, _), took, crossed in zip(m.route, m.granted, m.crossed, strict=True):
            found.setdefault((a, b), []).append((took, crossed[-1] + 1))
    return found
