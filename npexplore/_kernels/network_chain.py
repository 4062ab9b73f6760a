"""The Markov chain of a network of stations: which states follow on a state, at what rates, found breadth first.

A state is a row of 32-bit integers: variables (phases of arrivals, turns of round robin, contents of caches, where a
polling server is), the length of each list, and the lists one after the other. A list is a station's customers, those
in service first, or a door's: who waits for room. A customer is one number: class, phase of service + 1 (0: not begun;
of one who is done and keeps its server: 1 + the station it waits for), mark of such a one, and the fork it came from.
What an event leads to by chance (routes, first phases, items) is gone through by playing it again with each combination
of outcomes. `tests/reference/network_chain.py` says the same in plain Python.
"""

from npexplore._kernels.network_chain_layout import *
from npexplore._kernels.network_chain_layout import _bare, _f1, _f2, _i, _i1, _now, _rules, _w1, _w2
from npexplore._kernels.network_chain_moves import _enter, _go, _move, _poll
from npexplore._kernels.network_chain_state import _blank, _choose, _copy, _fork, _next_script, _pack, _phase, _unpack
from npexplore.jit import kernel, types


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


@kernel(_i(_rules, _w2, _w1, _w2, _f1, _f2, _i1))
def follow(
    rules: Rules, states: Array, origin: Array, following: Array, arc_rate: Array, rewards: Array, progress: Array
) -> int:  # fmt: skip
    """Write what follows on states, and their rewards, until all are done or `following` is full; `progress`: done, arcs.

    Events of a state: a phase ends at each of K stations, an arc of each of R classes' arrivals, a phase of the way of
    each station's polling server.
    """
    station, arrival, arrival_begin = rules.station, rules.arrival, rules.arrival_begin
    K, R = rules.size[Z_STATIONS], rules.size[Z_CLASSES]
    here, now = _blank(rules, states.shape[1]), _blank(rules, states.shape[1])
    length, lists, variable, count, odds, meta = (
        here.length, here.lists, here.variable, now.count, now.odds, now.meta,
    )  # fmt: skip
    at_done = 2 * K * R + K
    done, arcs = progress[0], progress[1]
    while done < len(states):
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
                        return ENDLESS
                    if odds[0] > 0.0:
                        flow = rate * odds[0]
                        if ended:
                            rewards[done, K * R + K + k * R + r] += flow
                        for i in range(R):
                            rewards[done, at_done + i] += flow * count[0, i]
                            rewards[done, at_done + R + i] += flow * count[1, i]
                            rewards[done, at_done + 3 * R + i] += flow * count[2, i]
                        if arcs >= len(arc_rate):
                            progress[0], progress[1] = done, begin_arcs
                            return DONE
                        _pack(rules, now, following[arcs])
                        origin[arcs], arc_rate[arcs] = done, flow
                        arcs += 1
                    if not _next_script(now):
                        break
        if not moving:
            progress[0] = done
            return STUCK
        done += 1
    progress[0], progress[1] = done, arcs
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
