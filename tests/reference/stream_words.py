"""A static stream moved word by word, cycle by cycle, over a tree of switches; simple and slow.

In a cycle, from what lay in the FIFOs before it: the sender puts a word into the FIFO of the first switch if there is a
place; a switch moves its first word into the FIFO of every next switch and of its own processor if each has a place; a
processor that reads takes a word. A word that moves in cycle t is there in cycle t + hop, its place is free in t + 1.
"""

from itertools import pairwise


def play(routes, depth, hop, jobs):
    """Return the cycle in which each job goes on: (at, -1, words) sends, (at, tile, words) reads at a target."""
    source = routes[0][0]
    ahead = {tile: set() for route in routes for tile in route}
    for route in routes:
        for a, b in pairwise(route):
            ahead[a].add(("switch", b))
        ahead[route[-1]].add(("port", route[-1]))
    fifos = {("switch", tile): [] for tile in ahead} | {("port", route[-1]): [] for route in routes}
    order = {}  # jobs of one kind go one after the other
    for number, (_, tile, _) in enumerate(jobs):
        order.setdefault(tile, []).append(number)
    left, done = [words for _, _, words in jobs], [None] * len(jobs)
    t = 0
    while None in done:
        pops, pushes = [], []

        def place(fifo):
            return len(fifos[fifo]) < depth

        def there(fifo, t=t):
            return bool(fifos[fifo]) and fifos[fifo][0] <= t

        for tile, line in order.items():
            if not line or jobs[line[0]][0] > t:
                continue
            if tile < 0 and place(("switch", source)):
                pushes.append(("switch", source))
            elif tile >= 0 and there(("port", tile)):
                pops.append(("port", tile))
            else:
                continue
            left[line[0]] -= 1
            if not left[line[0]]:
                done[line.pop(0)] = t + 1
        for tile, outputs in ahead.items():
            if there(("switch", tile)) and all(place(fifo) for fifo in outputs):
                pops.append(("switch", tile))
                pushes.extend(outputs)
        for fifo in pops:
            fifos[fifo].pop(0)
        for fifo in pushes:
            fifos[fifo].append(t + hop)
        t += 1
        assert t < 100_000, "the stream stands still"
    return done
