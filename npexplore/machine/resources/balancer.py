"""A balancer chooses one of alike servers and tells the program the member (policies: rows/choices.py).

    m.engine.serve(member=m.balance.choose())

Bounds use the member that a key chooses, and assume for the shortest queue that load goes to the least loaded member.
Queueing assumes a uniform random choice unless there is a key (turns and the shortest queue wait less).
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
        """Return none: it has no servers."""
        return []

    def act(self, m: VisitRecorder, visit: str, v: Operands) -> Expression:
        """Record and return the choice; all visits of a program share one round-robin counter."""
        check_key(f"{self.name}.{visit}", self.policy, v)
        return m.choose(self.over, self.members, self.policy, v.key if "key" in v else None, counter="last")
