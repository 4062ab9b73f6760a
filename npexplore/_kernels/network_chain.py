"""The Markov chain of a network of stations: which states follow on a state, at what rates, found breadth first.

A state is a row of 32-bit integers: variables (phases of arrivals, turns of round robin, contents of caches, where a
polling server is), the length of each list, and the lists one after the other. A list is a station's customers, those
in service first, or a door's: who waits for room. A customer is one number: class, phase of service + 1 (0: not begun;
of one who is done and keeps its server: 1 + the station it waits for), mark of such a one, and the fork it came from.
What an event leads to by chance (routes, first phases, items) is gone through by playing it again with each combination
of outcomes. `tests/reference/network_chain.py` says the same in plain Python.
"""

from typing import Any, NamedTuple

import numpy as np
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
DONE, FULL, ENDLESS, STUCK = range(4)  # how a call ends
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


@kernel(_now(_rules, _i))
def _blank(rules, width):
    """Return room for a state of so many numbers."""
    size = rules.size
    lists = size[Z_LISTS]
    return Now(
        np.zeros(size[Z_VARIABLES] + 1, np.int64),
        np.zeros(lists, np.int64),
        np.zeros((lists, width), np.int64),
        np.zeros(4 * width + 8, np.int64),
        np.zeros(DEEP, np.int64),
        np.zeros(DEEP, np.int64),
        np.zeros(3, np.int64),
        np.ones(1),
        np.zeros((3, size[Z_CLASSES])),
        np.zeros(size[Z_CLASSES]),
        np.zeros(2 + size[Z_MOST] * size[Z_BRANCHES] * size[Z_FORKS], np.int64),
    )


@_bare(_i(_now, _i))
def _choose(now, count):
    """Return which of `count` outcomes this playing takes."""
    d = now.meta[0]
    now.meta[0] += 1
    if d >= DEEP:
        now.meta[2] = 1
        return 0
    if d >= now.meta[1]:
        now.script[d] = 0
        now.options[d] = count
        now.meta[1] = d + 1
    return now.script[d]


@_bare(types.boolean(_now))
def _next_script(now):
    """Go to the next combination of outcomes; False where there is none."""
    d = now.meta[1] - 1
    while d >= 0 and now.script[d] + 1 >= now.options[d]:
        d -= 1
    if d >= 0:
        now.script[d] += 1
    now.meta[1] = d + 1
    return d >= 0


@_bare(types.void(_now, _i, _i, _i))
def _insert(now, k, at, code):
    length, lists = now.length, now.lists
    for i in range(length[k], at, -1):
        lists[k, i] = lists[k, i - 1]
    lists[k, at] = code
    length[k] += 1


@_bare(_i(_now, _i, _i))
def _remove(now, k, at):
    length, lists = now.length, now.lists
    code = lists[k, at]
    for i in range(at, length[k] - 1):
        lists[k, i] = lists[k, i + 1]
    length[k] -= 1
    return code


@_bare(_i(_i))
def _phase(code):
    return (code >> CLASS_BITS) & (PHASES - 1)


@_bare(_i(_i))
def _fork(code):
    """Return the number of the fork that a customer, or an entry at a door, came from; 0: none."""
    return (code & CUSTOMER) // FORK


@_bare(_i(_rules, _now, _i))
def _first_phase(rules, now, service):
    """Return 1 + the phase, of its own, that a service begins with."""
    a, b = rules.begin[service], rules.begin[service + 1]
    c = _choose(now, b - a) if b - a > 1 else 0
    now.odds[0] *= rules.chance[a + c]
    return c + 1


@_bare(types.void(_rules, _now, _i, _i))
def _start(rules, now, k, i):
    """Let the customer in slot i of station k begin."""
    code = now.lists[k, i]
    now.lists[k, i] = code + (_first_phase(rules, now, rules.first[k, code & (CLASSES - 1)]) << CLASS_BITS)


@_bare(types.void(_rules, _now, _i, _i, _i))
def _poll(rules, now, k, r, fresh):
    """Let the idle server of polling station k go on at class r; `fresh`: it comes there only now."""
    v, R, visit = rules.station[k, T_VARIABLE], rules.size[Z_CLASSES], rules.station[k, T_VISIT]
    left = now.variable[v + P_LEFT]
    now.variable[v + P_LEFT] = 0
    for _ in range(2 * R + 1):
        if rules.first[k, r] >= 0:
            waiting, head = 0, -1
            for i in range(now.length[k] - 1, -1, -1):
                if now.lists[k, i] & (CLASSES - 1) == r:
                    waiting, head = waiting + 1, i
            if fresh:
                left = waiting if visit == GATED else rules.station[k, T_MOST]
            if waiting and (left or visit == EXHAUSTIVE):
                _insert(now, k, 0, _remove(now, k, head))
                _start(rules, now, k, 0)
                now.variable[v + P_CLASS] = r
                now.variable[v + P_LEFT] = 0 if visit == EXHAUSTIVE else left - 1
                return
            if rules.switch[k, r] >= 0:
                now.variable[v + P_CLASS] = r
                now.variable[v + P_PHASE] = _first_phase(rules, now, rules.switch[k, r])
                return
        r, fresh = (r + 1) % R, 1
    now.variable[v + P_CLASS] = 0  # nobody is there, and ways take no time: where it stands makes no difference


@_bare(types.void(_rules, _now, _i))
def _begin_services(rules, now, k):
    """Let those at the head of station k begin who have not: as many as there are servers."""
    kind, n = rules.station[k, T_KIND], now.length[k]
    if kind >= SHARED:
        return
    if kind == POLLING:
        v = rules.station[k, T_VARIABLE]
        if now.variable[v + P_PHASE] == 0 and (n == 0 or _phase(now.lists[k, 0]) == 0):
            _poll(rules, now, k, now.variable[v + P_CLASS], 0)
        return
    for i in range(min(rules.station[k, T_SERVERS], n)):
        if _phase(now.lists[k, i]) == 0:
            if kind == RANDOM and n - i > 1:
                c = _choose(now, n - i)
                now.odds[0] /= n - i
                _insert(now, k, i, _remove(now, k, i + c))
            _start(rules, now, k, i)


@_bare(types.void(_rules, _now, _i, _i))
def _enter(rules, now, k, code):
    """Put a customer, phase 0, into station k."""
    kind, r, n = rules.station[k, T_KIND], code & (CLASSES - 1), now.length[k]
    if kind >= SHARED:
        _insert(now, k, n, code)
        _start(rules, now, k, n)
        return
    at, fixed = n, min(n, rules.station[k, T_SERVERS])
    if kind == LCFS:
        at = fixed
    elif kind == LAST_PREEMPTS:
        at = 0
    elif kind == PRIORITY or kind == PREEMPTIVE:
        at = 0 if kind == PREEMPTIVE else fixed
        while at < n and rules.klass[now.lists[k, at] & (CLASSES - 1), C_RANK] <= rules.klass[r, C_RANK]:
            at += 1
    elif kind == POLLING:  # the lines of its classes one after the other
        at = 1 if n and _phase(now.lists[k, 0]) else 0
        while at < n and now.lists[k, at] & (CLASSES - 1) <= r:
            at += 1
    _insert(now, k, at, code)
    _begin_services(rules, now, k)


@_bare(types.boolean(_rules, _now, _i))
def _is_full(rules, now, g):
    """Say whether there is no room under limit g."""
    station, length, total = rules.station, now.length, 0
    for k in range(rules.size[Z_STATIONS]):
        if station[k, T_LIMIT] == g or station[k, T_LIMIT2] == g:
            total += length[k]
    return total >= rules.limit[g, M_ROOM]


@_bare(types.void(_rules, _now, _i))
def _left(rules, now, k):
    """Somebody left station k: the next begin, and who waits at a door for the room comes in, and so on."""
    K, stack, top = rules.size[Z_STATIONS], now.stack, 0
    _begin_services(rules, now, k)
    for column in (T_LIMIT, T_LIMIT2):
        if rules.station[k, column] >= 0:
            stack[top] = rules.station[k, column]
            top += 1
    while top > 0:
        top -= 1
        g = stack[top]
        if rules.limit[g, M_POLICY] == DROP:
            continue
        while now.length[K + g] > 0 and not _is_full(rules, now, g):
            entry = _remove(now, K + g, 0)
            # an entry: a customer, its phase 1 + the station it goes to, HELD where it keeps a server; then the keeper
            target, keeper, code = _phase(entry) - 1, entry >> ENTRY, entry & CUSTOMER
            if code & HELD:
                for i in range(now.length[keeper]):
                    if now.lists[keeper, i] == code:
                        _remove(now, keeper, i)
                        break
                _begin_services(rules, now, keeper)
                for column in (T_LIMIT, T_LIMIT2):
                    if rules.station[keeper, column] >= 0 and top < len(stack):
                        stack[top] = rules.station[keeper, column]
                        top += 1
            _enter(rules, now, target, code & ~(HELD | ((PHASES - 1) << CLASS_BITS)))


@_bare(types.void(_rules, _now, _i, _i))
def _go(rules, now, u, s):
    """Take the customer in slot s out of station u, if it is at one."""
    if u >= 0:
        _remove(now, u, s)
        _left(rules, now, u)


@_bare(_i(_rules, _now, _i, _i))
def _target(rules, now, start, r):
    """Return the number of the route that a customer of class r takes from node `start`."""
    size = rules.size
    row = (start if start >= 0 else size[Z_STATIONS] + size[Z_FORKS] + 2 * size[Z_CACHES]) * size[Z_CLASSES] + r
    a, b, how = rules.node[row, N_BEGIN], rules.node[row, N_END], rules.node[row, N_HOW]
    if b - a == 1:
        return a
    if how == TURN:
        v = rules.node[row, N_VARIABLE]
        turn = now.variable[v]
        now.variable[v] = (turn + 1) % (b - a)
        return a + turn
    if how == CHANCE:
        c = a + _choose(now, b - a)
        now.odds[0] *= rules.target_chance[c]
        return c
    best, ties = now.length[rules.target_node[a]], 0
    for i in range(a, b):
        n = now.length[rules.target_node[i]]
        if n < best:
            best, ties = n, 0
        ties += n == best
    chosen = _choose(now, ties) if ties > 1 else 0
    now.odds[0] /= ties
    for i in range(a, b):
        if now.length[rules.target_node[i]] == best:
            if chosen == 0:
                return i
            chosen -= 1
    return a


@_bare(types.boolean(_rules, _now, _i))
def _ask(rules, now, h):
    """Ask cache h for an item; says whether it is kept."""
    places, v, policy = rules.cache[h, H_PLACES], rules.cache[h, H_VARIABLE], rules.cache[h, H_POLICY]
    item = _choose(now, rules.cache[h, H_ITEMS])
    now.odds[0] *= rules.item_chance[rules.cache[h, H_CHANCE] + item]
    kept = now.variable[v : v + places]
    found = -1
    for i in range(places):
        if kept[i] == item:
            found = i
    if policy == RANDOM_OUT and found < 0:
        i = _choose(now, places)
        now.odds[0] /= places
        while i > 0 and kept[i - 1] > item:  # in order, for that says nothing
            kept[i] = kept[i - 1]
            i -= 1
        while i < places - 1 and kept[i + 1] < item:
            kept[i] = kept[i + 1]
            i += 1
        kept[i] = item
    elif policy == LRU or found < 0:
        for i in range(found if found >= 0 else places - 1, 0, -1):
            kept[i] = kept[i - 1]
        kept[0] = item
    return found >= 0


@_bare(types.void(_rules, _now, _i, _i))
def _split(rules, now, f, r):
    """Let a customer of class r enter all stations of fork f."""
    K, F, free = rules.size[Z_STATIONS], rules.size[Z_FORKS], np.int64(1)
    for k in range(rules.size[Z_LISTS]):
        for i in range(now.length[k]):
            free = max(free, (_fork(now.lists[k, i]) + F) // F)
    code = r + (free * F + f) * FORK  # numbers of forks begin with F: 0 is none
    for i in range(rules.fork_begin[f], rules.fork_begin[f + 1]):
        k = rules.fork_station[i]
        g = rules.station[k, T_LIMIT] if rules.station[k, T_LIMIT] >= 0 else rules.station[k, T_LIMIT2]
        if g >= 0 and (now.length[K + g] > 0 or _is_full(rules, now, g)):
            _insert(now, K + g, now.length[K + g], code + ((k + 1) << CLASS_BITS))
        else:
            _enter(rules, now, k, code)


@_bare(types.boolean(_rules, _now, _i, _i, _i, _i))
def _waits(rules, now, t, code, u, s):
    """Let a customer wait who finds no room at station t, at the door or where it is; False where it need not."""
    K = rules.size[Z_STATIONS]
    for column in (T_LIMIT, T_LIMIT2):
        g = rules.station[t, column]
        if g < 0 or rules.limit[g, M_POLICY] == DROP:
            continue
        if rules.limit[g, M_POLICY] == DOOR and u >= 0 and rules.station[u, T_LIMIT2] == g:
            continue
        if now.length[K + g] > 0 or _is_full(rules, now, g):
            entry = code + ((t + 1) << CLASS_BITS)
            if u >= 0 and rules.limit[g, M_POLICY] == BLOCK and u != rules.size[Z_THINK]:
                now.lists[u, s] = entry + HELD
                entry += HELD + (u << ENTRY)
                u = -1
            _insert(now, K + g, now.length[K + g], entry)
            _go(rules, now, u, s)
            return True
    return False


@_bare(types.boolean(_rules, _now, _i))
def _drops(rules, now, t):
    """Say whether who comes to station t now is lost."""
    for column in (T_LIMIT, T_LIMIT2):
        g = rules.station[t, column]
        if g >= 0 and rules.limit[g, M_POLICY] == DROP and _is_full(rules, now, g):
            return True
    return False


@_bare(types.void(_rules, _now, _i, _i, _i, _i, _i))
def _move(rules, now, start, r, fork, u, s):
    """Take a customer of class r on from node `start`; at station u >= 0 it stands in slot s, else nowhere."""
    K, F = rules.size[Z_STATIONS], rules.size[Z_FORKS]
    at = start
    for _ in range(DEEP):
        c = _target(rules, now, at, r)
        t, r = rules.target_node[c], rules.target_class[c]
        if t >= K + F:  # a cache
            h = t - K - F
            at = rules.cache[h, H_HIT] if _ask(rules, now, h) else rules.cache[h, H_MISS]
            continue
        if t >= K:
            _go(rules, now, u, s)
            _split(rules, now, t - K, r)
            return
        if t == OUT:
            _go(rules, now, u, s)
            now.count[0, r] += 1.0
        else:
            code = r + fork * FORK
            if _waits(rules, now, t, code, u, s):
                return
            if u >= 0:
                _remove(now, u, s)
            lost = _drops(rules, now, t)
            if not lost:
                _enter(rules, now, t, code)
            if u >= 0:  # only now: who moves inside a region frees no place
                _left(rules, now, u)
            if not lost:
                return
            now.count[1, r] += 1.0
        if not rules.klass[r, C_CLOSED]:
            return
        if rules.thinks[r]:
            _enter(rules, now, rules.size[Z_THINK], r)
            return
        at, fork, u = IN, 0, -1  # a new pass
    now.meta[2] = 1


@_bare(types.void(_rules, _now, _w1))
def _pack(rules, now, row):
    """Write a state in its one form: those alike in one order, forks numbered as they come."""
    K, F, L = rules.size[Z_STATIONS], rules.size[Z_FORKS], rules.size[Z_LISTS]
    station, variable, length, lists, low, renamed = (
        rules.station,
        now.variable,
        now.length,
        now.lists,
        FORK - 1,
        1 << 20,
    )
    for turn in range(2 if F else 1):
        for k in range(K):
            kind = station[k, T_KIND]
            n = length[k] if kind >= SHARED else min(length[k], station[k, T_SERVERS])
            if kind == PREEMPTIVE or kind == LAST_PREEMPTS:
                continue
            for i in range(1, n):
                code, j = lists[k, i], i
                while j > 0 and (
                    (lists[k, j - 1] & low) > (code & low)
                    or (turn == 1 and (lists[k, j - 1] & low) == (code & low) and lists[k, j - 1] > code)
                ):
                    lists[k, j] = lists[k, j - 1]
                    j -= 1
                lists[k, j] = code
        if F and turn == 0:
            known = 0
            for k in range(L):
                for i in range(length[k]):
                    fork = _fork(lists[k, i])
                    if fork == 0 or fork >= renamed:
                        continue
                    known += 1
                    new = renamed + known * F + fork % F
                    for k2 in range(k, L):
                        for i2 in range(length[k2]):
                            if _fork(lists[k2, i2]) == fork:
                                lists[k2, i2] += (new - fork) * FORK
            for k in range(L):
                for i in range(length[k]):
                    if _fork(lists[k, i]) >= renamed:
                        lists[k, i] -= renamed * FORK
    V, at = rules.size[Z_VARIABLES], rules.size[Z_VARIABLES] + L
    row[:] = 0
    for v in range(V):
        row[v] = variable[v]
    for k in range(L):
        row[V + k] = length[k]
        for i in range(length[k]):
            row[at] = lists[k, i] & 0x7FFFFFFF
            at += 1
            if k >= K:
                row[at] = lists[k, i] >> ENTRY
                at += 1


@_bare(types.void(_rules, _w1, _now))
def _unpack(rules, row, now):
    variable, length, lists = now.variable, now.length, now.lists
    K, V, L = rules.size[Z_STATIONS], rules.size[Z_VARIABLES], rules.size[Z_LISTS]
    at = V + L
    for v in range(V):
        variable[v] = row[v]
    for k in range(L):
        length[k] = row[V + k]
        for i in range(length[k]):
            lists[k, i] = row[at]
            at += 1
            if k >= K:
                lists[k, i] += np.int64(row[at]) << ENTRY
                at += 1


@_bare(types.void(_now, _now))
def _copy(origin, now):
    """Write a state over another, and begin to play."""
    variable, length, lists, count = now.variable, now.length, now.lists, now.count
    variable0, length0, lists0 = origin.variable, origin.length, origin.lists
    for v in range(len(variable)):
        variable[v] = variable0[v]
    for i in range(len(length)):
        length[i] = length0[i]
        for j in range(length[i]):
            lists[i, j] = lists0[i, j]
    for i in range(count.shape[0]):
        for r in range(count.shape[1]):
            count[i, r] = 0.0
    now.meta[0], now.meta[2], now.odds[0] = 0, 0, 1.0


@_bare(_i(_rules, _now))
def _measure(rules, now):
    """Count customers by class, thinkers left out; returns how many there are in all. Of a fork: one."""
    K, F, think, total = rules.size[Z_STATIONS], rules.size[Z_FORKS], rules.size[Z_THINK], 0
    length, lists, inside, seen = now.length, now.lists, now.inside, now.seen
    inside[:] = 0.0
    if F:
        seen[:] = 0
    for k in range(len(length)):
        for i in range(length[k]):
            code = lists[k, i] & CUSTOMER
            fork = code // FORK
            if (k >= K and code & HELD) or (fork and seen[fork]):
                continue
            if fork:
                seen[fork] = 1
            total += 1
            if k != think:
                inside[code & (CLASSES - 1)] += 1.0
    return total


@_bare(types.void(_rules, _now, _f1))
def _reward(rules, now, reward):
    """Write the rewards of being in a state: customers by station and class, work a second, customers in all."""
    K, R = rules.size[Z_STATIONS], rules.size[Z_CLASSES]
    station, speed, length, lists = rules.station, rules.speed, now.length, now.lists
    reward[:] = 0.0
    for k in range(K):
        n, kind = length[k], station[k, T_KIND]
        if kind == POLLING:
            reward[K * R + k] = 1.0 if n and _phase(lists[k, 0]) else 0.0
        elif n and kind != DELAY:
            reward[K * R + k] = speed[k, min(n, speed.shape[1] - 1)]
        for i in range(n):
            reward[k * R + (lists[k, i] & (CLASSES - 1))] += 1.0
    _measure(rules, now)
    for r in range(R):
        reward[2 * K * R + K + 2 * R + r] = now.inside[r]


@_bare(types.float64(_rules, _now, _i, _i))
def _rate(rules, now, k, code):
    """Return the rate at which the phase of a customer in service at station k ends."""
    kind, n, r, lists, weight = rules.station[k, T_KIND], now.length[k], code & (CLASSES - 1), now.lists, rules.weight
    rate = rules.leave[rules.begin[rules.first[k, r]] + _phase(code) - 1]
    speed = rules.speed[k, min(n, rules.speed.shape[1] - 1)]
    if kind == SHARED:
        total = 0.0
        for i in range(n):
            total += weight[k, lists[k, i] & (CLASSES - 1)]
        return rate * speed * weight[k, r] / total
    return rate if kind == DELAY or rules.station[k, T_SERVERS] > 1 else rate * speed


@_bare(_i(_rules, _now, _i, _i))
def _go_on(rules, now, service, phase):
    """Let a phase of a service end: returns 1 + the one that follows, 0 where the service ends."""
    a = rules.begin[service]
    b = rules.next_begin[a + phase - 1]
    n = rules.next_begin[a + phase] - b
    c = b + (_choose(now, n) if n > 1 else 0)
    if n > 1:
        now.odds[0] *= rules.next_chance[c]
    return rules.next_phase[c] - a + 1 if rules.next_phase[c] >= 0 else 0


@_bare(types.boolean(_rules, _now, _i, _i))
def _serve(rules, now, k, slot):
    """Let the phase of the customer in a slot of station k end; says whether its service does."""
    code = now.lists[k, slot]
    r, phase, fork = code & (CLASSES - 1), _phase(code), _fork(code)
    then = _go_on(rules, now, rules.first[k, r], phase)
    if then:
        now.lists[k, slot] += (then - phase) << CLASS_BITS
        return False
    if k == rules.size[Z_THINK]:
        _move(rules, now, IN, r, 0, k, slot)
    elif fork:
        _go(rules, now, k, slot)
        for i in range(rules.size[Z_LISTS]):
            for j in range(now.length[i]):
                if _fork(now.lists[i, j]) == fork:
                    return True
        _move(rules, now, rules.size[Z_STATIONS] + fork % rules.size[Z_FORKS], r, 0, -1, 0)
    else:
        _move(rules, now, k, r, 0, k, slot)
    return True


@_bare(types.void(_rules, _now, _i))
def _walk(rules, now, k):
    """Let a phase of the way of a polling server to its next class end."""
    v = rules.station[k, T_VARIABLE]
    r = now.variable[v + P_CLASS]
    now.variable[v + P_PHASE] = _go_on(rules, now, rules.switch[k, r], now.variable[v + P_PHASE])
    if now.variable[v + P_PHASE] == 0:
        _poll(rules, now, k, (r + 1) % rules.size[Z_CLASSES], 1)


@_bare(types.void(_rules, _now, _i, _i))
def _arrive(rules, now, r, arc):
    """Let an arc of the arrivals of class r happen: another phase, and customers, as far as there is room."""
    klass = rules.klass[r]
    if rules.arrival[r, 1] >= 0:
        now.variable[rules.arrival[r, 1]] = rules.arrival_next[arc]
    if not rules.arrival_comes[arc]:
        return
    come = klass[C_SIZE]
    if klass[C_GEOMETRIC]:
        room, go = rules.size[Z_MOST] - _measure(rules, now), 1.0 - 1.0 / klass[C_SIZE]
        come = 1 + _choose(now, room + 1)
        now.odds[0] *= go ** (come - 1) * (1.0 if come > room else 1.0 - go)
        if come > room:  # the mean number beyond: 1 / (1 - go)
            now.count[2, r] += klass[C_SIZE] - 1.0
    for i in range(come):
        if _measure(rules, now) >= rules.size[Z_MOST]:
            now.count[2, r] += come - i
            return
        _move(rules, now, IN, r, 0, -1, 0)


@_bare(_i(_w1, _w2, _i, _w1))
def _find(row, states, known, slots):
    """Return the number of a state, or -1 - its free slot."""
    mask = np.uint64(len(slots) - 1)
    h = np.uint64(0xCBF29CE484222325)
    for j in range(len(row)):
        h = (h ^ np.uint64(np.uint32(row[j]))) * np.uint64(0x9E3779B97F4A7C15)
        h = h ^ (h >> np.uint64(29))
    at = h & mask
    while slots[at] > 0:
        other, j = slots[at] - 1, 0
        while j < len(row) and states[other, j] == row[j]:
            j += 1
        if j == len(row):
            return other
        at = (at + np.uint64(1)) & mask
    return -1 - np.int64(at)


@kernel(_i(_rules, _w2, _w1, _f2, _w1, _w1, _f1, _i1))
def grow(
    rules: Rules, states: Array, slots: Array, rewards: Array,
    arc_source: Array, arc_target: Array, arc_rate: Array, progress: Array,
) -> int:  # fmt: skip
    """Go on finding states and arcs until all are found or an array is full; `progress`: known, done, arcs.

    states has to begin with the start. Events of a state: a phase ends at each of K stations, an arc of each of R
    classes' arrivals, a phase of the way of each station's polling server.
    """
    station, arrival, arrival_begin = rules.station, rules.arrival, rules.arrival_begin
    K, R = rules.size[Z_STATIONS], rules.size[Z_CLASSES]
    here, now = _blank(rules, states.shape[1]), _blank(rules, states.shape[1])
    length, lists, variable, count, odds, meta = (
        here.length, here.lists, here.variable, now.count, now.odds, now.meta,
    )  # fmt: skip
    row = np.zeros(states.shape[1], np.int32)
    at_done = 2 * K * R + K
    known, done, arcs = progress[0], progress[1], progress[2]
    while done < known:
        begin_arcs = arcs
        _unpack(rules, states[done], here)
        _reward(rules, here, rewards[done])
        moving = False
        for event in range(2 * K + R):
            slot, same = 0, 0
            while True:
                # the next customer in service, with those alike; or the next arc of an arrival process
                k, rate, arc, r = event, 0.0, -1, 0
                if event < K:
                    n, kind = length[k], station[k, T_KIND]
                    served = n if kind >= SHARED else min(n, station[k, T_SERVERS])
                    slot += same
                    if slot >= served:
                        break
                    code, same = lists[k, slot], 1
                    if kind != PREEMPTIVE and kind != LAST_PREEMPTS:
                        while slot + same < served and lists[k, slot + same] == code:
                            same += 1
                    if code & HELD or _phase(code) == 0:
                        continue
                    r = code & (CLASSES - 1)
                    rate = same * _rate(rules, here, k, code)
                elif event < K + R:
                    r = event - K
                    if arrival[r, 0] < 0:
                        break
                    phase = arrival[r, 0]
                    if arrival[r, 1] >= 0:
                        phase += variable[arrival[r, 1]]
                    arc = arrival_begin[phase] + slot
                    slot += 1
                    if arc >= arrival_begin[phase + 1]:
                        break
                    rate = rules.arrival_rate[arc]
                else:
                    k, v = event - K - R, station[event - K - R, T_VARIABLE]
                    slot += 1
                    if slot > 1 or v < 0 or variable[v + P_PHASE] == 0:
                        break
                    way = rules.begin[rules.switch[k, variable[v + P_CLASS]]]
                    rate = rules.leave[way + variable[v + P_PHASE] - 1]
                if rate <= 0.0:
                    continue
                moving = True
                meta[1] = 0
                while True:
                    _copy(here, now)
                    ended = False
                    if event < K:
                        ended = _serve(rules, now, k, slot)
                    elif event < K + R:
                        _arrive(rules, now, r, arc)
                    else:
                        _walk(rules, now, k)
                    if meta[2]:
                        progress[3] = done
                        return ENDLESS
                    if odds[0] > 0.0:
                        flow = rate * odds[0]
                        if ended:
                            rewards[done, K * R + K + k * R + r] += flow
                        for i in range(R):
                            rewards[done, at_done + i] += flow * count[0, i]
                            rewards[done, at_done + R + i] += flow * count[1, i]
                            rewards[done, at_done + 3 * R + i] += flow * count[2, i]
                        _pack(rules, now, row)
                        found = _find(row, states, known, slots)
                        lacks = found < 0 and (known >= len(states) or 2 * known + 2 > len(slots))
                        if lacks or arcs >= len(arc_rate):
                            progress[0], progress[1], progress[2] = known, done, begin_arcs
                            return FULL
                        if found < 0:
                            states[known, :] = row
                            slots[-1 - found] = known + 1
                            found = known
                            known += 1
                        if found != done:
                            arc_source[arcs], arc_target[arcs], arc_rate[arcs] = done, found, flow
                            arcs += 1
                    if not _next_script(now):
                        break
        if not moving:
            progress[3] = done
            return STUCK
        done += 1
    progress[0], progress[1], progress[2] = known, done, arcs
    return DONE


@kernel(_i(_rules, _i1, _i1, _w1))
def begin(rules: Rules, variables: Array, population: Array, row: Array) -> int:
    """Write the state of closed customers that came in one after the other, each by the first of its choices."""
    now = _blank(rules, len(row))
    now.variable[: len(variables)] = variables
    for r in range(rules.size[Z_CLASSES]):
        for _ in range(population[r]):
            now.meta[0], now.meta[1] = 0, 0
            if rules.thinks[r]:
                _enter(rules, now, rules.size[Z_THINK], r)
            else:
                _move(rules, now, IN, r, 0, -1, 0)
            if now.meta[2]:
                return ENDLESS
    _pack(rules, now, row)
    return DONE
