"""Why 16-4-1 with counting has one rate in Verilog and another in the event engine: when its engines begin.

Run as a program: `python tests/reference/hardware_phases.py [SEEDS]`. A model of calls and channels alone, cycle by
cycle: engines of one thread, clusters' ports, channels in turn, the merge of answers. What engines do is fixed: two
lookups ASK cycles after a packet came in, a count MIDDLE cycles after both answers, the packet out END after the last.
Prints Mpps at 100 MHz with engines that begin as packets come at first, a packet a cycle and lane, and at random.
"""

import random
import sys

CLUSTERS, ENGINES, LANES, CHANNELS = 16, 4, 4, 6
ASK, MIDDLE, END, DELAY = 11, 3, 7, 12
PERIOD = 52  # cycles of a packet, within which engines begin at random
KINDS = 3  # ports of a cluster: destination, source, count
CYCLES, WARM_UP = 16_000, 4_000


def rate(seed=None):
    """Return Mpps; seed: engines begin at random, None: as packets come at first."""
    dice, depth = random.Random(seed), CLUSTERS // LANES
    engines, ports = range(CLUSTERS * ENGINES), range(CLUSTERS * KINDS)
    if seed is None:  # a lane gives a packet a cycle to its clusters in turn, a cluster to its engines
        free = [e % ENGINES * depth + e // ENGINES % depth for e in engines]
    else:
        free = [dice.randrange(PERIOD) for _ in engines]
    events = {}  # cycle -> engines that go on then: (engine, what)
    for e in engines:
        events.setdefault(free[e] + ASK, []).append((e, "ask"))
    waiting = [[] for _ in ports]  # engines whose call stands at a cluster's port
    held, taken = [None] * len(ports), [None] * CHANNELS  # registers of local and global arbiters
    turn, next_port = [p % CHANNELS for p in ports], [0] * CHANNELS
    lines = [[[] for _ in range(2)] for _ in range(CHANNELS)]  # calls under way: (due, port, engine)
    answered, merge_turn = {}, [0] * len(ports)
    owed, left = [0] * len(engines), 0
    out, busy, done = [[] for _ in range(CLUSTERS)], [False] * CLUSTERS, [0] * LANES
    for cycle in range(CYCLES):
        for e, what in events.pop(cycle, ()):
            first = e // ENGINES * KINDS
            if what == "out":
                out[e // ENGINES].append(e)
                continue
            for port in (first, first + 1) if what == "ask" else (first + 2,):
                waiting[port].append(e)
                owed[e] += 1
        for lane in range(LANES):  # ways out: a register of the cluster, then one of the lane
            for k in range(depth):
                cluster = lane * depth + (done[lane] + k) % depth
                if busy[cluster]:
                    busy[cluster], done[lane] = False, (done[lane] + k + 1) % depth
                    break
        for cluster in range(CLUSTERS):
            if out[cluster] and not busy[cluster]:
                e, busy[cluster] = out[cluster].pop(0), True
                left += cycle >= WARM_UP
                events.setdefault(cycle + ASK, []).append((e, "ask"))  # the next packet comes in the same cycle
        for port, e in answered.items():  # registers of the merges
            owed[e] -= 1
            if not owed[e]:
                wait, what = (END, "out") if port % KINDS == 2 else (MIDDLE, "count")
                events.setdefault(cycle + wait, []).append((e, what))
        answered = {}
        heads = {}
        for channel, both in enumerate(lines):
            line = next((line for line in both if line and line[0][0] <= cycle), None)
            if line is not None:
                heads.setdefault(line[0][1], []).append((channel, line))
        for port, rivals in heads.items():
            channel, line = min(rivals, key=lambda one: (one[0] - merge_turn[port]) % CHANNELS)
            answered[port], merge_turn[port] = line.pop(0)[2], (channel + 1) % CHANNELS
        asking = [[] for _ in range(CHANNELS)]
        for port in ports:
            if held[port] is not None:
                asking[turn[port]].append(port)
        for channel, rivals in enumerate(asking):
            if taken[channel] is not None:
                port, e = taken[channel]
                lines[channel][port % KINDS == 2].append((cycle + DELAY, port, e))
                taken[channel] = None
            if rivals:
                port = min(rivals, key=lambda one: (one - next_port[channel]) % len(ports))
                taken[channel], held[port] = (port, held[port]), None
                turn[port], next_port[channel] = (turn[port] + 1) % CHANNELS, (port + 1) % len(ports)
        for port in ports:
            if held[port] is None and waiting[port]:
                held[port] = min(waiting[port])  # by fixed priority
                waiting[port].remove(held[port])
    return 100 * left / (CYCLES - WARM_UP)


if __name__ == "__main__":
    print("as packets come", round(rate(), 1), flush=True)
    found = [rate(seed) for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 6)]
    print("at random", *(round(one, 1) for one in found), "mean", round(sum(found) / len(found), 1))
