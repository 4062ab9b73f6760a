"""How customers move in a network's chain: services begin, limits are asked, routes, forks and caches chosen."""

import numpy as np

from npexplore._kernels.network_chain_layout import *
from npexplore._kernels.network_chain_layout import _bare, _i, _now, _rules
from npexplore._kernels.network_chain_state import _choose, _fork, _insert, _phase, _remove
from npexplore.jit import types


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
    """Ask cache h for an item; says whether it is there."""
    places, v, policy = rules.cache[h, H_PLACES], rules.cache[h, H_VARIABLE], rules.cache[h, H_POLICY]
    item = _choose(now, rules.cache[h, H_ITEMS])
    now.odds[0] *= rules.item_chance[rules.cache[h, H_CHANCE] + item]
    contents = now.variable[v : v + places]
    place = -1
    for i in range(places):
        if contents[i] == item:
            place = i
    if policy == RANDOM_OUT and place < 0:
        i = _choose(now, places)
        now.odds[0] /= places
        while i > 0 and contents[i - 1] > item:  # in order, for that says nothing
            contents[i] = contents[i - 1]
            i -= 1
        while i < places - 1 and contents[i + 1] < item:
            contents[i] = contents[i + 1]
            i += 1
        contents[i] = item
    elif policy == LRU or place < 0:
        for i in range(place if place >= 0 else places - 1, 0, -1):
            contents[i] = contents[i - 1]
        contents[0] = item
    return place >= 0


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
