"""A pool of alike buffers: a packet waits until enough are free, keeps them, and gives them back.

Demand of a packet = sum of buffers x the time that it has them: the pool limits the packets that hold buffers.
Any packet may give buffers back, in several parts.

Alone, kept for a constant time: M/D/c with as many servers as buffers.
"""

from npexplore.machine.resources.base import Example, Resource, Server, count_of
from npexplore.machine.visits import Operands, VisitRecorder


class BufferPool(Resource, kind="pool"):
    """`count` buffers that anybody may take and give.

    Example:
        >>> from npexplore.machine import BufferPool
        >>> BufferPool("buffers", count=512)
        BufferPool('buffers', count=512)
    """

    EXAMPLE = Example({"count": 4}, "take", {"count": 1}, more={"count": 16})
    VISITS = {"take": ("count",), "give": ("count",)}

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name)
        self.count = count_of(f"{name}: count", count)

    def servers(self) -> list[Server]:
        """Return the buffers."""
        return [Server(self.name, units=self.count, role="pool")]

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> None:
        """Record a take or a give of buffers."""
        (m.open if visit == "take" else m.close)(self.name, v.count)
