"""The numbers and records of a network's chain: columns of its tables, tables that stay, a state in play."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from npexplore.jit import kernel, types

Array = NDArray[Any]
FIFO, LCFS, RANDOM, PRIORITY, PREEMPTIVE, LAST_PREEMPTS, POLLING, SHARED, DELAY = range(9)  # disciplines
DROP, BLOCK, DOOR = range(3)  # what a limit does when it is reached
CHANCE, TURN, SHORTEST = range(3)  # how a route is chosen
LRU, FIRST_OUT, RANDOM_OUT = range(3)  # which item of a cache gives way
EXHAUSTIVE, GATED, LIMITED = range(3)  # how long a polling server stays with a class
CLASS_BITS, PHASE_BITS = 6, 10
CLASSES, PHASES = 1 << CLASS_BITS, 1 << PHASE_BITS
HELD = 1 << (CLASS_BITS + PHASE_BITS)
FORK = HELD << 1  # one fork more
ENTRY = 48  # bits of a customer; above them, at a door, the station whose server it keeps
CUSTOMER = (1 << ENTRY) - 1
DEEP = 200  # choices in one event; moves in one instant
DONE, ENDLESS, STUCK = range(3)  # how a call ends
# columns of `station`; T_VARIABLE of a polling one: the first of P_...
T_KIND, T_SERVERS, T_VISIT, T_MOST, T_VARIABLE, T_LIMIT, T_LIMIT2, T_COLUMNS = range(8)
# variables of a polling station: the class it is at, phase + 1 of the way on from there (0: it is not on it), how many
# more it serves there (of gated and limited visits)
P_CLASS, P_PHASE, P_LEFT, P_COLUMNS = range(4)
# columns of `limit`
M_ROOM, M_POLICY, M_COLUMNS = range(3)
# columns of `node`, a row a node and class: where its targets begin and end, how and by which variable one is chosen
N_BEGIN, N_END, N_HOW, N_VARIABLE, N_COLUMNS = range(5)
# columns of `klass`
C_RANK, C_CLOSED, C_VARIABLE, C_SIZE, C_GEOMETRIC, C_COLUMNS = range(6)
# columns of `cache`: places, items, policy, first variable, nodes that a hit and a miss go on from, first item's chance
H_PLACES, H_ITEMS, H_POLICY, H_VARIABLE, H_HIT, H_MISS, H_CHANCE, H_COLUMNS = range(8)
# columns of `size`
Z_VARIABLES, Z_STATIONS, Z_LISTS, Z_CLASSES, Z_THINK, Z_FORKS, Z_CACHES, Z_MOST, Z_BRANCHES, Z_COLUMNS = range(10)
# nodes: stations, then forks, then caches; IN of class r is node -1 (its routes stand in the last rows), OUT is -2
IN, OUT = -1, -2


class Rules(NamedTuple):
    """A network's tables, that no event changes."""

    station: Array
    limit: Array
    klass: Array
    first: Array  # (K, R): number of the service, -1 none
    switch: Array  # (K, R): number of the way on from a class at a polling station, -1 none or no time
    begin: Array  # first phase of each service
    chance: Array  # that a service begins with a phase
    leave: Array  # rate of each phase
    next_begin: Array  # next_*: where a phase leads (-1: the service ends)
    next_phase: Array
    next_chance: Array
    speed: Array  # (K, n): work a second with n customers
    weight: Array  # (K, R): shares of those who are served at once
    node: Array
    target_node: Array
    target_class: Array
    target_chance: Array
    fork_begin: Array
    fork_station: Array
    cache: Array
    item_chance: Array
    arrival: Array  # (R, 2): first phase of the arrivals of a class, its variable
    arrival_begin: Array  # arrival_*: rates from phase to phase, and whether somebody comes
    arrival_next: Array
    arrival_rate: Array
    arrival_comes: Array
    size: Array
    thinks: Array


class Now(NamedTuple):
    """A state while an event is played, and the play: which outcomes were taken, and what they are worth."""

    variable: Array
    length: Array
    lists: Array
    stack: Array  # limits under which a place may have become free
    script: Array  # outcome of each choice
    options: Array  # how many it had
    meta: Array  # next choice; choices in the script; 1: too many
    odds: Array  # (1,): probability of the outcomes
    count: Array  # (3, R): passes done, lost inside, not let in
    inside: Array  # (R,): customers, thinkers left out
    seen: Array  # forks


_i1, _i2 = types.int64[::1], types.int64[:, ::1]
_w1, _w2 = types.int32[::1], types.int32[:, ::1]
_f1, _f2 = types.float64[::1], types.float64[:, ::1]
_i = types.int64
_rules = types.NamedTuple(
    (
        _i2, _i2, _i2, _i2, _i2, _i1, _f1, _f1, _i1, _i1, _f1, _f2, _f2, _i2, _i1, _i1, _f1, _i1, _i1, _i2, _f1, _i2,
        _i1, _i1, _f1, _i1, _i1, _i1,
    ), Rules,
)  # fmt: skip
_now = types.NamedTuple((_i1, _i1, _i2, _i1, _i1, _i1, _i1, _f1, _f2, _f1, _i1), Now)


def _bare(signature: Any) -> Any:
    """Compile a function that takes no memory: nothing is counted when it is handed the arrays of `Rules` and `Now`."""
    return kernel(signature, _nrt=False)
