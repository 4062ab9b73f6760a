"""A net whose firings take time, as a net with timing "race": a firing starts immediately, and its end is a clock.

Without conflicts no firing takes tokens that another needs, so there is no choice, and exponential durations give a
Markov chain whose states also count the firings in progress.
"""

from collections import Counter
from dataclasses import replace

from npexplore.errors import RefusedError
from npexplore.machine.petri import Arc, Net, Place, Transition
from npexplore.rows.distributions import Exponential

START = ".start"


def as_race(net: Net) -> Net:
    """Return a net with timing "duration" as one with "race"; additional places count firings in progress.

    Raises RefusedError for a conflict (a place that several transitions take from, or that is tested, inhibits or has a
    capacity) and for durations that are not exponential.
    """
    refuse_conflicts(net)
    places, transitions = list(net.places), []
    for k, each in enumerate(net.transitions):  # any order is correct; a fixed one gives fewer markings
        if each.delay is None:
            transitions.append(replace(each, priority=k))
            continue
        if not isinstance(each.delay, Exponential):
            raise not_exponential(each)
        busy = Arc(len(places), 1)
        places.append(Place(each.name, 0, None))
        transitions.append(replace(each, name=each.name + START, give=(busy,), delay=None, rate=None, priority=k))
        transitions.append(Transition(each.name, (busy,), each.give, delay=each.delay, rate=each.rate, servers=None))
    return Net(net.name, "race", tuple(places), tuple(transitions))


def refuse_conflicts(net: Net) -> None:
    """Raise RefusedError if a net is not free of conflict, with the place and the transitions."""
    takers = Counter(arc.place for transition in net.transitions for arc in transition.take)
    for place, count in takers.items():
        if count > 1:
            rivals = [other.name for other in net.transitions if place in [arc.place for arc in other.take]]
            raise RefusedError(
                f"durations need a net free of conflict: place {net.places[place].name!r} is taken from by "
                f"{', '.join(rivals[:4])}{', ...' if len(rivals) > 4 else ''}"
            )
    for transition in net.transitions:
        if transition.inhibit or transition.test or transition.formulas:
            raise RefusedError(
                f"durations need a net free of conflict: transition {transition.name!r} looks at other tokens"
            )
    for limited in net.places:
        if limited.capacity is not None:
            raise RefusedError(f"durations need a net free of conflict: place {limited.name!r} has a capacity")


def not_exponential(one: Transition) -> RefusedError:
    """Return the refusal of a delay that is not exponential."""
    kind = type(one.delay).__name__.lower()
    return RefusedError(f"a Markov chain needs exponential times, got {kind} at transition {one.name!r}")
