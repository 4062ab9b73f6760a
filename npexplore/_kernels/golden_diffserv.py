"""DiffServ over columns of packets: policers, finite receivers, and policing, marking, queueing, scheduling, sending.

Whole numbers alone: times in ns, tokens in units of 1/denominator of their rate, the end of a transmission in ns and a
remainder of 1/numerator ns. No product leaves 63 bits, since times are cut to what fills a bucket before they are
multiplied. Rules of the order of events: golden/diffserv/reference.py, which this equals (a law compares).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore.jit import kernel

Array = NDArray[Any]
END = np.iinfo(np.int64).max

# columns of a policer
P_KIND, P_AWARE, P_TICK = 0, 1, 2
P_PACKETS1, P_NUMERATOR1, P_DENOMINATOR1, P_BURST1 = 3, 4, 5, 6
P_PACKETS2, P_NUMERATOR2, P_DENOMINATOR2, P_BURST2 = 7, 8, 9, 10
POLICER_COLUMNS = 11
LEAKY, SINGLE, TWO, DIFFERENTIATED = 1, 2, 3, 4
# columns of a treatment; three code points, one a colour
T_CLASS, T_COLOUR, T_POLICER, T_DROP_FROM, T_DSCP = 0, 1, 2, 3, 4
TREATMENT_COLUMNS = 7
# columns of a port
O_SCHEDULER, O_NUMERATOR, O_DENOMINATOR, O_PREAMBLE, O_GAP = 0, 1, 2, 3, 4
O_SHAPED, O_SHAPE_NUMERATOR, O_SHAPE_DENOMINATOR, O_SHAPE_BURST, O_SHAPE_NEED = 5, 6, 7, 8, 9
PORT_COLUMNS = 10
STRICT, DRR, PRIORITY_DRR, WRR, SCFQ = 0, 1, 2, 3, 4
# columns of a queue; of its early drop for a colour
Q_WEIGHT, Q_PACKETS, Q_BYTES, Q_STEP, Q_EARLY, Q_SHIFT, Q_IDLE = 0, 1, 2, 3, 4, 5, 6
QUEUE_COLUMNS = 7
E_LOW, E_HIGH, E_CHANCE = 0, 1, 2
# fates
SENT, POLICED, QUEUE_FULL, EARLY = 0, 1, 2, 3
# what a scheduler knows of a port beside its classes
S_FIRST, S_ACTIVE, S_FRESH, S_CURRENT, S_CREDIT, S_VIRTUAL = 0, 1, 2, 3, 4, 5


@kernel()
def _police(policers: Array, last: Array, tokens: Array, k: int, time: int, length: int, came: int) -> int:
    kind = policers[k, P_KIND]
    now = time - time % policers[k, P_TICK]
    passed = now - last[k] if last[k] >= 0 else np.int64(0)
    last[k] = now
    first = tokens[k, 0]
    second = tokens[k, 1]
    rate1 = policers[k, P_NUMERATOR1]
    room1 = policers[k, P_BURST1] - first
    room2 = policers[k, P_BURST2] - second
    cost1 = (np.int64(1) if policers[k, P_PACKETS1] else length) * policers[k, P_DENOMINATOR1]
    cost2 = (np.int64(1) if policers[k, P_PACKETS2] else length) * policers[k, P_DENOMINATOR2]
    if not policers[k, P_AWARE] and kind != LEAKY:
        came = 0
    verdict = 2
    if kind == SINGLE:
        room = room1 + room2
        grown = min(min(passed, room // rate1 + 1) * rate1, room)
        into = min(grown, room1)
        first += into
        second += grown - into
    else:
        first += min(min(passed, room1 // rate1 + 1) * rate1, room1)
        if kind != LEAKY:
            rate2 = policers[k, P_NUMERATOR2]
            second += min(min(passed, room2 // rate2 + 1) * rate2, room2)
    if kind == LEAKY:
        if came < 2 and cost1 <= first:
            verdict = 0
            first -= cost1
    elif kind == TWO:
        if came < 2 and cost1 <= first:
            first -= cost1
            verdict = 1
            if came == 0 and cost2 <= second:
                second -= cost2
                verdict = 0
    elif came == 0 and cost1 <= first:
        verdict = 0
        first -= cost1
    elif came <= 1 and cost2 <= second:
        verdict = 1
        second -= cost2
    tokens[k, 0] = first
    tokens[k, 1] = second
    return verdict


@kernel()
def police(policers: Array, last: Array, tokens: Array, number: Array, time: Array, length: Array, colour: Array,
           out: Array) -> None:  # fmt: skip
    """Fill out (uint8) with colours; change last and tokens, the policers' states."""
    for i in range(len(time)):
        if number[i] < 0:
            out[i] = colour[i]
        else:
            out[i] = _police(policers, last, tokens, number[i], time[i], length[i], colour[i])


@kernel()
def receive(time: Array, port: Array, service: Array, servers: Array, room: Array, ready: Array) -> None:
    """Fill ready (int64) with the times at which receivers are done with packets, -1 for those the MAC buffer lost.

    service (ns): one a packet; servers, room (packets that wait in the MAC buffer; -1: any number): one a port.
    A packet that a receiver takes at the very time of an arrival has left the buffer.
    """
    ports = len(servers)
    free = np.full((ports, max(1, servers.max())), -1, np.int64)
    # start times of the packets that a port took last, one for each place of its buffer: they never decrease
    places = max(1, room.max())
    starts = np.full((ports, places), -1, np.int64)
    at = np.zeros(ports, np.int64)
    for i in range(len(time)):
        q = port[i]
        best = 0
        for k in range(1, servers[q]):
            if free[q, k] < free[q, best]:
                best = k
        start = max(time[i], free[q, best])
        if room[q] >= 0 and start > time[i]:
            # it has to wait: is a place left, that is, was the packet `room` before it taken by now?
            if room[q] == 0 or starts[q, at[q]] > time[i]:
                ready[i] = -1
                continue
        if room[q] > 0:
            starts[q, at[q]] = start
            at[q] = (at[q] + 1) % room[q]
        free[q, best] = start + service[i]
        ready[i] = free[q, best]


@kernel()
def _choose(kind: int, p: int, count: Array, head: Array, length: Array, tag: Array, queues: Array, deficit: Array,
            ring: Array, state: Array) -> int:  # fmt: skip
    """Return the class whose first packet is sent next; at least one has a packet."""
    classes = count.shape[1]
    if kind == STRICT:
        c = 0
        while count[p, c] == 0:
            c += 1
        return c
    if kind == DRR:
        while True:
            c = ring[p, state[p, S_FIRST]]
            if state[p, S_FRESH]:
                deficit[p, c] += queues[p, c, Q_WEIGHT]
                state[p, S_FRESH] = 0
            need = length[head[p, c]]
            if need <= deficit[p, c]:
                deficit[p, c] -= need
                if count[p, c] == 1:
                    deficit[p, c] = 0
                    state[p, S_FIRST] = (state[p, S_FIRST] + 1) % classes
                    state[p, S_ACTIVE] -= 1
                    state[p, S_FRESH] = 1
                return c
            behind = (state[p, S_FIRST] + state[p, S_ACTIVE]) % classes
            state[p, S_FIRST] = (state[p, S_FIRST] + 1) % classes
            ring[p, behind] = c
            state[p, S_FRESH] = 1
    if kind == PRIORITY_DRR:
        while True:
            for c in range(classes):
                if count[p, c] > 0 and length[head[p, c]] <= deficit[p, c]:
                    deficit[p, c] -= length[head[p, c]]
                    return c
            for c in range(classes):
                deficit[p, c] = queues[p, c, Q_WEIGHT] + (deficit[p, c] if count[p, c] > 0 else 0)
    if kind == WRR:
        while True:
            c = state[p, S_CURRENT]
            if count[p, c] > 0 and state[p, S_CREDIT] > 0:
                state[p, S_CREDIT] -= 1
                return c
            c = (c + 1) % classes
            state[p, S_CURRENT] = c
            state[p, S_CREDIT] = queues[p, c, Q_WEIGHT]
    best = -1
    for c in range(classes):
        if count[p, c] > 0 and (best < 0 or tag[head[p, c]] < tag[head[p, best]]):
            best = c
    state[p, S_VIRTUAL] = tag[head[p, best]]
    return best


@kernel()
def _joined(kind: int, p: int, c: int, i: int, alone: bool, count: Array, length: Array, tag: Array, queues: Array,
            last_tag: Array, ring: Array, state: Array) -> None:  # fmt: skip
    """Tell the scheduler that packet i joins class c; `alone`: no class had a packet."""
    if kind == DRR:
        if count[p, c] == 0:
            ring[p, (state[p, S_FIRST] + state[p, S_ACTIVE]) % count.shape[1]] = c
            state[p, S_ACTIVE] += 1
    elif kind == SCFQ:
        if alone:
            state[p, S_VIRTUAL] = 0
            last_tag[p, :] = 0
        tag[i] = max(state[p, S_VIRTUAL], last_tag[p, c]) + length[i] * queues[p, c, Q_STEP]
        last_tag[p, c] = tag[i]


@kernel()
def simulate(time: Array, length: Array, policed: Array, queued: Array, rule: Array, port: Array, colour: Array, random: Array, policers: Array,
             last: Array, tokens: Array, treatments: Array, ports: Array, queues: Array, early: Array,
             departure: Array, fate: Array, verdict: Array, dscp: Array) -> None:  # fmt: skip
    """Take packets, in order of time, through policer, marker, queue, scheduler and link.

    length: bytes on the link; policed, queued: what policers, and queues, schedulers and shapers count of each.
    Fills departure (int64, -1: dropped), fate, verdict (colour; uint8), dscp (int16). random: whole numbers below 2^24.
    """
    n = len(time)
    many = ports.shape[0]
    classes = queues.shape[1]
    follower = np.full(n, -1, np.int64)
    tag = np.zeros(n, np.int64)
    head = np.full((many, classes), -1, np.int64)
    tail = np.full((many, classes), -1, np.int64)
    count = np.zeros((many, classes), np.int64)
    held = np.zeros((many, classes), np.int64)
    average = np.zeros((many, classes), np.int64)
    empty_since = np.zeros((many, classes), np.int64)
    backlog = np.zeros(many, np.int64)
    free = np.zeros(many, np.int64)
    rest = np.zeros(many, np.int64)
    shape_tokens = ports[:, O_SHAPE_BURST].copy()
    shape_last = np.zeros(many, np.int64)
    deficit = queues[:, :, Q_WEIGHT].copy()
    for p in range(many):
        if ports[p, O_SCHEDULER] == DRR:
            deficit[p, :] = 0
    ring = np.zeros((many, classes), np.int64)
    last_tag = np.zeros((many, classes), np.int64)
    state = np.zeros((many, 6), np.int64)
    for p in range(many):
        state[p, S_FRESH] = 1
        state[p, S_CREDIT] = queues[p, 0, Q_WEIGHT]

    for i in range(n + many):
        # packet i arrives; behind the last one each port sends what it has
        if i < n:
            p = port[i]
            until = time[i]
        else:
            p = i - n
            until = END
        while backlog[p] > 0 and free[p] < until:
            if ports[p, O_SHAPED]:
                room = ports[p, O_SHAPE_BURST] - shape_tokens[p]
                rate = ports[p, O_SHAPE_NUMERATOR]
                passed = free[p] - shape_last[p]
                shape_last[p] = free[p]
                shape_tokens[p] += min(min(passed, room // rate + 1) * rate, room)
                lack = ports[p, O_SHAPE_NEED] - shape_tokens[p]
                if lack > 0:
                    free[p] += (lack + rate - 1) // rate
                    rest[p] = 0
                    continue
            c = _choose(ports[p, O_SCHEDULER], p, count, head, queued, tag, queues, deficit, ring, state)
            k = head[p, c]
            head[p, c] = follower[k]
            count[p, c] -= 1
            held[p, c] -= queued[k]
            backlog[p] -= 1
            if count[p, c] == 0:
                empty_since[p, c] = free[p]
            if ports[p, O_SHAPED]:
                shape_tokens[p] -= queued[k] * ports[p, O_SHAPE_DENOMINATOR]
            rate = ports[p, O_NUMERATOR]
            work = (ports[p, O_PREAMBLE] + length[k]) * ports[p, O_DENOMINATOR] + rest[p]
            departure[k] = free[p] + (work + rate - 1) // rate
            work += ports[p, O_GAP] * ports[p, O_DENOMINATOR]
            free[p] += work // rate
            rest[p] = work % rate
        if i >= n:
            continue
        r = rule[i]
        seen = np.int64(colour[i])
        if r >= 0:
            seen = max(seen, treatments[r, T_COLOUR])
            if treatments[r, T_POLICER] >= 0:
                seen = _police(policers, last, tokens, treatments[r, T_POLICER], time[i], policed[i], seen)
            c = treatments[r, T_CLASS]
            dscp[i] = treatments[r, T_DSCP + seen]
        else:
            c = classes - 1
            dscp[i] = -1
        verdict[i] = seen
        departure[i] = -1
        if r >= 0 and seen >= treatments[r, T_DROP_FROM]:
            fate[i] = POLICED
            continue
        if queues[p, c, Q_EARLY]:
            shift = queues[p, c, Q_SHIFT]
            if count[p, c] > 0:
                average[p, c] += ((count[p, c] << 16) - average[p, c]) >> shift
            else:
                idle = (time[i] - empty_since[p, c]) // queues[p, c, Q_IDLE]
                empty_since[p, c] += idle * queues[p, c, Q_IDLE]
                while idle > 0 and average[p, c] >> shift > 0:
                    average[p, c] -= average[p, c] >> shift
                    idle -= 1
            low = early[p, c, seen, E_LOW]
            high = early[p, c, seen, E_HIGH]
            above = average[p, c] - low
            if average[p, c] >= high or (
                above >= 0 and random[i] * (high - low) < early[p, c, seen, E_CHANCE] * above
            ):  # fmt: skip
                fate[i] = EARLY
                continue
        if count[p, c] >= queues[p, c, Q_PACKETS] or held[p, c] + queued[i] > queues[p, c, Q_BYTES]:
            fate[i] = QUEUE_FULL
            continue
        fate[i] = SENT
        if backlog[p] == 0 and free[p] < time[i]:
            free[p] = time[i]
            rest[p] = 0
        _joined(ports[p, O_SCHEDULER], p, c, i, backlog[p] == 0, count, queued, tag, queues, last_tag, ring, state)
        if count[p, c] == 0:
            head[p, c] = i
        else:
            follower[tail[p, c]] = i
        tail[p, c] = i
        count[p, c] += 1
        held[p, c] += queued[i]
        backlog[p] += 1
