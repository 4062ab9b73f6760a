"""Drop policies of a class's queue: tail drop by packets and bytes, weighted RED by colour (Floyd, Jacobson 1993).

average += (length - average) / 2^shift at each arrival; while the queue is empty the average decays as if small packets
were sent. The drop probability is chance * (average - low) / (high - low) between low and high, and 1 from high on.
Averages are integers in units of 2^-16 packets, so that reference and kernel agree; drops are independent draws.
"""

from dataclasses import dataclass
from fractions import Fraction

from npexplore.errors import InputError
from npexplore.golden.police.colour import Colour

UNIT = 1 << 16  # units of an average per packet
DRAWS = 1 << 24  # random draws are integers below this
UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Thresholds:
    """Early drop of one colour: begins at an average of `low` packets; `chance` just below `high`, 1 from `high` on."""

    low: int
    high: int
    chance: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high < UNIT:
            raise InputError(f"thresholds must be 0 <= low < high < {UNIT} packets, got {self.low} and {self.high}")
        if not 0 < self.chance <= 1:
            raise InputError(f"chance of an early drop must be greater than 0 and at most 1, got {self.chance}")

    def row(self) -> tuple[int, int, int]:
        """Return low and high in units of an average, and the chance in draws."""
        return self.low * UNIT, self.high * UNIT, int(self.chance * DRAWS)


@dataclass(frozen=True)
class EarlyDrop:
    """Thresholds for green, yellow, red; shift: of the average; idle_ns: transmission time of a small packet."""

    colours: tuple[Thresholds, Thresholds, Thresholds]
    shift: int
    idle_ns: int

    def __post_init__(self) -> None:
        if not 0 <= self.shift <= 16:
            raise InputError(f"shift of a queue's average must be 0 to 16, got {self.shift}")
        if self.idle_ns < 1:
            raise InputError(f"time of a small packet must be at least 1 ns, got {self.idle_ns}")


@dataclass(frozen=True)
class QueueLimits:
    """Capacity of a queue in packets and bytes (None: unlimited), and early drop (None: off)."""

    packets: int | None = 64
    bytes: int | None = None
    early: EarlyDrop | None = None

    def __post_init__(self) -> None:
        for name, limit in (("packets", self.packets), ("bytes", self.bytes)):
            if limit is not None and limit < 1:
                raise InputError(f"limit of a queue in {name} must be at least 1, got {limit}")


class DropPolicy:
    """Decides which packets may join a queue: the reference. The caller passes the queue's occupancy."""

    def __init__(self, limits: QueueLimits) -> None:
        self.limits = limits
        self.average = 0
        self.empty_since = 0

    def emptied(self, time_ns: int) -> None:
        """Record the time at which the queue became empty."""
        self.empty_since = time_ns

    def early(self, packets: int, time_ns: int, colour: Colour, draw: int) -> bool:
        """Return whether a packet is dropped early; `draw` is a random integer below 2^24."""
        rule = self.limits.early
        if rule is None:
            return False
        if packets:
            self.average += (packets * UNIT - self.average) >> rule.shift
        else:
            virtual_packets = (time_ns - self.empty_since) // rule.idle_ns
            self.empty_since += virtual_packets * rule.idle_ns
            for _ in range(virtual_packets):
                decrement = self.average >> rule.shift
                if not decrement:
                    break
                self.average -= decrement
        low, high, chance = rule.colours[colour].row()
        if self.average < low:
            return False
        return self.average >= high or draw * (high - low) < chance * (self.average - low)

    def full(self, packets: int, bytes_held: int, length_bytes: int) -> bool:
        """Return whether a packet does not fit behind the queued packets and bytes."""
        limit, most = self.limits.packets, self.limits.bytes
        return (limit is not None and packets >= limit) or (most is not None and bytes_held + length_bytes > most)
