"""A net in which firing takes time, as a race: each firing starts at once, and its end is a clock of its own.

Without conflicts no firing can take away what another would start with, so nothing is left to choose, and exponential
durations give a Markov chain whose states also count the firings under way.
"""

from collections import Counter
from dataclasses import replace

from npexplore.errors import RefusedError
from npexplore.machine.petri import Arc, Net, Place, Transition
from npexplore.rows.distributions import Exponential

START = ".start"


def as_race(net: Net) -> Net:
    """Return a net with timing "duration" as one with "race"; more places come behind its own: firings under way.

    Raises RefusedError for a conflict: a place that several transitions take from, or that one inhibits, tests or
    limits; and for durations that are not exponential.
    """
    refuse_conflicts(net)
    places, transitions = list(net.places), []
    for k, one in enumerate(net.transitions):  # without conflicts any order is right: one keeps the markings few
        if one.delay is None:
            transitions.append(replace(one, priority=k))
            continue
        if not isinstance(one.delay, Exponential):
            raise not_exponential(one)
        under_way = Arc(len(places), 1)
        places.append(Place(one.name, 0, None))
        transitions.append(replace(one, name=one.name + START, give=(under_way,), delay=None, rate=None, priority=k))
        transitions.append(Transition(one.name, (under_way,), one.give, delay=one.delay, rate=one.rate, servers=None))
    return Net(net.name, "race", tuple(places), tuple(transitions))


def refuse_conflicts(net: Net) -> None:
    """Raise RefusedError if a net is not free of conflict, with the place and the transitions."""
    takers = Counter(arc.place for one in net.transitions for arc in one.take)
    for place, count in takers.items():
        if count > 1:
            rivals = [one.name for one in net.transitions if place in [arc.place for arc in one.take]]
            raise RefusedError(
                f"durations need a net free of conflict: place {net.places[place].name!r} is taken from by "
                f"{', '.join(rivals[:4])}{', ...' if len(rivals) > 4 else ''}"
            )
    for one in net.transitions:
        if one.inhibit or one.test or one.formulas:
            raise RefusedError(f"durations need a net free of conflict: transition {one.name!r} looks at other tokens")
    for limited in net.places:
        if limited.capacity is not None:
            raise RefusedError(f"durations need a net free of conflict: place {limited.name!r} has a capacity")


def not_exponential(one: Transition) -> RefusedError:
    """Return the refusal of a delay that no Markov chain has."""
    kind = type(one.delay).__name__.lower()
    return RefusedError(f"a Markov chain needs exponential times, got {kind} at transition {one.name!r}")
