"""Routes that look before they go, as rows of the event engine: in turn, and where the line is shortest."""

from collections.abc import Mapping

from npexplore.errors import RefusedError
from npexplore.networks.checks import turn_of
from npexplore.networks.records import Station
from npexplore.rows.assembler import Assembler, Label
from npexplore.rows.expressions import Variable


def in_turn(asm: Assembler, shares: list[float], labels: list[Label]) -> None:
    """Go to the labels one after the other, to each as often in a round as its share says."""
    counts = turn_of(shares) or []
    with asm.scope():
        turn = Variable("turn")
        asm.fetch_add(turn, asm.new_global(), 1)
        place = asm.value_of(turn % sum(counts))
        below = 0
        for label, count in list(zip(labels, counts, strict=True))[:-1]:
            below += count
            asm.jump(label, place < below)
        asm.jump(labels[-1])


def shortest(
    asm: Assembler, stations: Mapping[str, Station], targets: list[str], labels: list[Label], tie: str
) -> None:
    """Go to the label of the station where the fewest are; of several, to each with equal probability.

    tie: the name of the source of random numbers.
    """
    with asm.scope():
        best, chosen, ties = Variable("fewest"), Variable("chosen"), Variable("ties")
        asm.let(best, 1 << 40)
        asm.let(chosen, 0)
        asm.let(ties, 0)
        for k, target in enumerate(targets):
            if stations[target].discipline == "polling":
                raise RefusedError(f"station {target!r}: the shortest line of a polling server is not simulated")
            fewer, other, take = Label(), Label(), Label()
            with asm.scope():
                there = asm.value_of(asm.line(target) - asm.free(target))
                units = asm.servers[target][0].units
                count = asm.value_of(there + units)
                asm.jump(fewer, count < best)
                asm.jump(other, count > best)
                asm.assign(ties, ties + 1)
                with asm.scope():
                    chance = Variable("chance")
                    asm.draw(chance, ties, tie)
                    asm.jump(take, chance == 0)
                asm.jump(other)
                asm.place(fewer)
                asm.assign(ties, 1)
                asm.assign(best, count)
                asm.place(take)
                asm.assign(chosen, k)
                asm.place(other)
        for k, label in list(enumerate(labels))[:-1]:
            asm.jump(label, chosen == k)
        asm.jump(labels[-1])
