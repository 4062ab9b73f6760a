"""A balancer chooses one of alike servers and tells the program the member (policies: rows/choices.py).

    m.engine.serve(member=m.balance.choose())

Bounds know the member that a key chooses, and that the shortest line goes where there is room; queueing takes all but a
key as spread evenly at random (turns and the shortest line wait less).
"""

from __future__ import annotations

from npexplore.errors import one_of
from npexplore.machine.resources.base import Example, Resource, Server, count_of
from npexplore.machine.visits import Operands, VisitRecorder
from npexplore.rows.choices import POLICIES, Policy, check_key
from npexplore.rows.expressions import Expression


class Balancer(Resource, kind="balancer"):
    """Chooses one of the `members` of the server called `over`.

    Example:
        >>> from npexplore.machine import Balancer
        >>> Balancer("choice", over="core", members=4)
        Balancer('choice', over='core', members=4)
    """

    EXAMPLE = Example(alone="it chooses among the members of another resource", more={"over": "other", "members": 2})
    VISITS = {"choose": ("key",)}
    OPTIONAL = {"key": 0}
    CHANCE = frozenset({"key"})
    RESULTS = frozenset({"choose"})

    def __init__(self, name: str, over: str, members: int, policy: Policy = "in_turn") -> None:
        super().__init__(name)
        self.over, self.members = over, count_of(f"{name}: members", members)
        self.policy = one_of(f"{name}: policy", policy, POLICIES)

    def servers(self) -> list[Server]:
        """None of its own."""
        return []

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> Expression:
        """The choice; where several visits of a program choose, they take turns together."""
        check_key(f"{self.name}.{visit}", self.policy, v)
        return m.choose(self.over, self.members, self.policy, v.key if "key" in v else None, counter="last")
