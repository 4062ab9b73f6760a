"""A plain interpreter of nets: one marking at a time, as the definitions say, with rates solved as a jump chain."""

import numpy as np
from reference.markov import stationary

from npexplore.machine.petri import Formula


def amount(said, marking):
    if isinstance(said, Formula):
        return float(said(np.array(marking)[:, None]).ravel()[0])
    return said


def may_fire(net, one, marking):
    if any(marking[arc.place] < amount(arc.weight, marking) for arc in (*one.take, *one.test)):
        return False
    if any(marking[arc.place] >= amount(arc.weight, marking) for arc in one.inhibit):
        return False
    if not all(amount(guard, marking) for guard in one.guards):
        return False
    after = fired(one, marking)
    for arc in one.give:
        capacity = net.places[arc.place].capacity
        if capacity is not None and after[arc.place] > max(capacity, marking[arc.place]):
            return False
    return True


def fired(one, marking):
    after = list(marking)
    for arc in one.take:
        after[arc.place] -= int(amount(arc.weight, marking))
    for arc in one.give:
        after[arc.place] += int(amount(arc.weight, marking))
    return tuple(after)


def speed(one, marking):
    if one.rate is None:
        return amount(one.weight, marking)
    degree = 1
    if one.servers != 1:
        degree = min(marking[arc.place] // amount(arc.weight, marking) for arc in one.take)
        degree = degree if one.servers is None else min(degree, one.servers)
    return amount(one.rate, marking) * degree


def fires(net, marking):
    """Return the transitions that may fire next: among those enabled the most urgent."""
    able = [one for one in net.transitions if may_fire(net, one, marking) and speed(one, marking) > 0]
    if net.timing == "race" and any(not one.timed for one in able):
        able = [one for one in able if not one.timed]
    return [one for one in able if one.priority == max(other.priority for other in able)]


def graph(net, most=2000):
    """Return {marking: [(transition, following, speed)]}; None where there are more than `most`."""
    start = tuple(place.tokens for place in net.places)
    found, waiting = {}, [start]
    while waiting:
        marking = waiting.pop(0)
        if marking in found:
            continue
        found[marking] = [(one, fired(one, marking), speed(one, marking)) for one in fires(net, marking)]
        waiting += [after for _, after, _ in found[marking] if after not in found]
        if len(found) > most:
            return None
    return found


def steady(net, ways):
    """Return (mean tokens, throughput by name) of a race net whose jump chain never dies and has one recurrent class.

    pi P = pi over all markings; each is stayed in for 1 / its rate, for no time where no time passes.
    """
    markings = list(ways)
    n, number = len(markings), {marking: k for k, marking in enumerate(markings)}
    P, stay = np.zeros((n, n)), np.zeros(n)
    for marking, arcs in ways.items():
        total = sum(s for _, _, s in arcs)
        stay[number[marking]] = 1 / total if arcs[0][0].timed else 0.0
        for _, after, s in arcs:
            P[number[marking], number[after]] += s / total
    visits = stationary(P)
    visits /= visits @ stay
    rates = {one.name: 0.0 for one in net.transitions}
    for marking, arcs in ways.items():
        total = sum(s for _, _, s in arcs)
        for one, _, s in arcs:
            rates[one.name] += visits[number[marking]] * s / total
    return (visits * stay) @ np.array(markings, dtype=float), rates
