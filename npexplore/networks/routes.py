"""Routing that depends on the state, as rows of the event engine: round robin, and the shortest line."""

from collections.abc import Mapping

from npexplore.errors import RefusedError
from npexplore.networks.checks import turn_of
from npexplore.networks.records import Station
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.expressions import Variable


def in_turn(asm: Assembler, shares: list[float], labels: list[Label]) -> None:
    """Go to the labels in turn, to each as often per round as its share."""
    counts = turn_of(shares) or []
    with asm.scope():
        passes = Variable("turn")
        asm.fetch_add(passes, asm.new_global(), 1)
        place = asm.value_of(passes % sum(counts))
        below = 0
        for label, count in list(zip(labels, counts, strict=True))[:-1]:
            below += count
            asm.jump(label, place < below)
        asm.jump(labels[-1])


def shortest(
    asm: Assembler, stations: Mapping[str, Station], targets: list[str], labels: list[Label], tie: str
) -> None:
    """Go to the label of the station with the fewest customers; ties are broken at random with equal probability.

    tie: the name of the source of random numbers.
    """
    with asm.scope():
        fewest, chosen, ties = Variable("fewest"), Variable("chosen"), Variable("ties")
        asm.let(fewest, 1 << 40)
        asm.let(chosen, 0)
        asm.let(ties, 0)
        for k, target in enumerate(targets):
            if stations[target].discipline == "polling":
                raise RefusedError(f"station {target!r}: the shortest line of a polling server is not simulated")
            fewer, next_station, choose = Label(), Label(), Label()
            with asm.scope():
                queued = asm.value_of(asm.line(target) - asm.free(target))
                units = asm.servers[target][0].units
                count = asm.value_of(queued + units)
                asm.jump(fewer, count < fewest)
                asm.jump(next_station, count > fewest)
                asm.assign(ties, ties + 1)
                with asm.scope():
                    chance = Variable("chance")
                    asm.draw(chance, ties, tie)
                    asm.jump(choose, chance == 0)
                asm.jump(next_station)
                asm.place(fewer)
                asm.assign(ties, 1)
                asm.assign(fewest, count)
                asm.place(choose)
                asm.assign(chosen, k)
                asm.place(next_station)
        for k, label in list(enumerate(labels))[:-1]:
            asm.jump(label, chosen == k)
        asm.jump(labels[-1])
