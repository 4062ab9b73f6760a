"""The heap of sleeping tokens of the event engine: three arrays, sorted by (time, key)."""

from npexplore.jit import kernel


@kernel(forceinline=True, _nrt=False)
def _push(heap_time, heap_key, heap_token, n, time, key, token):
    i = n
    while i > 0:
        parent = (i - 1) >> 1
        pt = heap_time[parent]
        if pt < time or (pt == time and heap_key[parent] < key):
            break
        heap_time[i] = pt
        heap_key[i] = heap_key[parent]
        heap_token[i] = heap_token[parent]
        i = parent
    heap_time[i] = time
    heap_key[i] = key
    heap_token[i] = token


@kernel(forceinline=True, _nrt=False)
def _sink(heap_time, heap_key, heap_token, n, i, time, key, token):
    """Put an entry at place i of a heap of n entries or below it."""
    child = 2 * i + 1
    while child < n:
        other = child + 1
        if other < n and (
            heap_time[other] < heap_time[child]
            or (heap_time[other] == heap_time[child] and heap_key[other] < heap_key[child])
        ):
            child = other
        ct = heap_time[child]
        if time < ct or (time == ct and key < heap_key[child]):
            break
        heap_time[i] = ct
        heap_key[i] = heap_key[child]
        heap_token[i] = heap_token[child]
        i = child
        child = 2 * i + 1
    heap_time[i] = time
    heap_key[i] = key
    heap_token[i] = token


@kernel(forceinline=True, _nrt=False)
def _pop(heap_time, heap_key, heap_token, n):
    """Remove the root of a heap of n entries (the caller has read it).

    The hole goes down along the smaller children, and the last entry up from there: that one is mostly a late one, so
    that a comparison with it on every level would cost more than it spares.
    """
    last = n - 1
    hole, child = 0, 1
    while child < last:
        other = child + 1
        if other < last:
            t, u = heap_time[child], heap_time[other]
            child += (u < t) | ((u == t) & (heap_key[other] < heap_key[child]))  # no branch: nobody could foresee it
        heap_time[hole] = heap_time[child]
        heap_key[hole] = heap_key[child]
        heap_token[hole] = heap_token[child]
        hole = child
        child = 2 * hole + 1
    _push(heap_time, heap_key, heap_token, hole, heap_time[last], heap_key[last], heap_token[last])


@kernel(forceinline=True, _nrt=False)
def _remove(heap_time, heap_key, heap_token, n, token):
    """Take a token's entry out of a heap of n entries."""
    i = 0
    while heap_token[i] != token:
        i += 1
    last = n - 1
    if i == last:
        return
    time, key, moved = heap_time[last], heap_key[last], heap_token[last]
    while i > 0:  # the last entry takes the place: up, if it is earlier than its new parent, else down
        parent = (i - 1) >> 1
        if heap_time[parent] < time or (heap_time[parent] == time and heap_key[parent] < key):
            break
        heap_time[i] = heap_time[parent]
        heap_key[i] = heap_key[parent]
        heap_token[i] = heap_token[parent]
        i = parent
    _sink(heap_time, heap_key, heap_token, last, i, time, key, moved)
