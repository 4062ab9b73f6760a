"""Plain packets through the router, over many frames at once: those of IPv4 as they come, those of both families on.

Frames lie in `buffer` (uint8) at offset, length bytes each; `words` is the buffer as overlapping words of 4 bytes in the
machine's order. A packet's verdict is a code of golden/reasons.py, GO, or SLOW: one for the reference. Nothing that may
cause an ICMP message is decided here.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels.golden_headers import GO as GO
from npexplore._kernels.golden_headers import SLOW as SLOW
from npexplore._kernels.golden_headers import _bad, _header, _two, _updated
from npexplore.jit import kernel

Array = NDArray[Any]
Numbers = tuple[int, ...]
# codes of golden/reasons.py (a test compares them)
NONE, NOT_IPV4, MARTIAN_SOURCE, MARTIAN_DESTINATION = 0, 1, 9, 10
LIMITED_BROADCAST, MULTICAST, LOCAL_DELIVERY, BLACKHOLE, OTHER_STATION = 13, 16, 17, 21, 28
REDIRECT = 253
ETHERNET = 14
UNICAST_ROUTE, BLACKHOLE_ROUTE, UNREACHABLE_ROUTE = 0, 1, 2  # places in KINDS of golden/router/configuration.py
ALL_ONES = np.uint32(0xFFFFFFFF)


@kernel()
def _number(b: Array, o: int) -> int:
    return np.uint32(b[o]) << 24 | np.uint32(b[o + 1]) << 16 | np.uint32(b[o + 2]) << 8 | np.uint32(b[o + 3])


@kernel()
def _addresses(s: int, d: int, link_broadcast: bool, many_first: bool, value: Array, mask: Array, bad_source: Array,
               bad_destination: Array, link: Array, link_mask: Array, broadcasts: Array) -> int:  # fmt: skip
    """Return what a pair of addresses decides alone: a reason, GO, or SLOW for what needs a closer look."""
    local = False
    for k in range(len(link)):
        if s == link[k] or (broadcasts[k] and (s ^ link[k]) & link_mask[k] == 0 and s | link_mask[k] == ALL_ONES):
            return SLOW
        if d == link[k]:
            local = True
        elif broadcasts[k] and (d ^ link[k]) & link_mask[k] == 0:
            if d | link_mask[k] == ALL_ONES or d & ~link_mask[k] == 0:
                return SLOW
    many = NONE
    if d >> np.uint32(28) == 14:
        many = MULTICAST
    elif d == ALL_ONES:
        many = LIMITED_BROADCAST
    if many_first and many != NONE:
        return many
    if d == 0:
        return SLOW
    if s == 0 and many == LIMITED_BROADCAST:  # a host that asks for its address
        return many
    if _bad(s, value, mask, bad_source):
        return MARTIAN_SOURCE
    if _bad(d, value, mask, bad_destination):
        return MARTIAN_DESTINATION
    if many != NONE:
        return many
    if local:
        return SLOW if link_broadcast else LOCAL_DELIVERY
    return GO


@kernel()
def arrive(buffer: Array, words: Array, offset: Array, length: Array, in_port: Array, mac: Array, notable: Array,
           many_first: bool, value: Array, mask: Array, bad_source: Array, bad_destination: Array, link: Array,
           link_mask: Array, broadcasts: Array, verdict: Array, destination: Array) -> None:  # fmt: skip
    """Fill verdict (uint8) by frame, header and addresses, and destination (uint32) where the verdict is GO.

    mac (ports, 2) uint32: the first and the last four bytes of each port's address, as words. notable (2^16 bool): may
    an address with these upper 16 bits be more than a host elsewhere? The rest as in golden_headers.
    """
    for i in range(len(offset)):
        o = offset[i]
        destination[i] = 0
        if length[i] < ETHERNET or buffer[o + 12] != 8 or buffer[o + 13] != 0:
            tagged = length[i] >= ETHERNET and (
                (buffer[o + 12] == 0x81 and buffer[o + 13] == 0x00)
                or (buffer[o + 12] == 0x88 and buffer[o + 13] == 0xA8)
            )
            verdict[i] = SLOW if tagged else NOT_IPV4
            continue
        link_broadcast = buffer[o] & 1 != 0
        p = in_port[i]
        if not link_broadcast and (words[o] != mac[p, 0] or words[o + 2] != mac[p, 1]):
            verdict[i] = OTHER_STATION
            continue
        o += ETHERNET
        code = _header(buffer, words, o, length[i] - ETHERNET)
        if code == GO:
            s = _number(buffer, o + 12)
            d = _number(buffer, o + 16)
            if notable[s >> np.uint32(16)] or notable[d >> np.uint32(16)]:
                code = _addresses(s, d, link_broadcast, many_first, value, mask, bad_source, bad_destination,
                                  link, link_mask, broadcasts)  # fmt: skip
            if code == GO and link_broadcast:
                code = SLOW
            if code == GO:
                destination[i] = d
        verdict[i] = code


@kernel()
def _place(rows: Array, word: Array, i: int) -> int:
    """Return which of the sorted rows (k, words) equals row i of word, -1 for none."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        k = 0
        while k < rows.shape[1] and rows[middle, k] == word[i, k]:
            k += 1
        if k == rows.shape[1]:
            return middle
        if rows[middle, k] < word[i, k]:
            low = middle + 1
        else:
            high = middle
    return -1


@kernel()
def places(rows: Array, word: Array, out: Array) -> None:
    """Fill out (int64) with which of the sorted rows (k, words) each row of word equals, -1 for none."""
    for i in range(len(word)):
        out[i] = _place(rows, word, i)


@kernel()
def _near(buffer: Array, o: int, p: int, link: Array, link_mask: Array) -> bool:
    for k in range(link.shape[1]):
        if (buffer[o + k] ^ link[p, k]) & link_mask[p, k] != 0:
            return False
    return True


@kernel()
def settle(buffer: Array, offset: Array, in_port: Array, destination: Array, hop: Array, hop_kind: Array, hop_port: Array,
           hop_attached: Array, hop_open: Array, hop_room: Array, head_size: Array, link: Array, link_mask: Array,
           neighbour: Array, neighbour_port: Array, any_sender: bool, header: Numbers, reasons: Numbers,
           verdict: Array, out_port: Array, head: Array, out_size: Array, ask: Array) -> None:  # fmt: skip
    """Finish what is GO: NONE with out_port, head (row of the frame heads) and out_size (bytes), a reason, or SLOW.

    destination (n, words); hop: the number of each one's route, -1 for none; hop_kind, hop_port by that number,
    hop_attached where the destination itself is the next hop, hop_open where anybody else than a neighbour may be,
    hop_room: the longest packet that may go there. link, link_mask (ports, bytes): the networks of the ports' links.
    neighbour (k, words), sorted: addresses that have a head behind those of the hops, each on the link of its
    neighbour_port alone. any_sender: may one outside the
    link's network be told of a better hop, too? header: where the source, the length and the time to live stand, how
    many bytes the length does not count, and the bit of byte 6 that forbids to cut a packet (0: none may be cut).
    reasons: no route, unreachable, prohibited, none to live, too long, nobody there. ask: why a packet is SLOW, if its
    sender is to be told and nothing else is the matter: one of them, or REDIRECT with all outputs filled; else 0.
    """
    source_at, length_at, ttl_at, uncounted, uncut = header
    no_route, unreachable, prohibited, expired, too_long, nobody = reasons
    for i in range(len(offset)):
        ask[i] = 0
        if verdict[i] != GO:
            continue
        h = hop[i]
        if h < 0:
            verdict[i] = SLOW
            ask[i] = no_route
            continue
        if hop_kind[h] != UNICAST_ROUTE:
            verdict[i] = BLACKHOLE if hop_kind[h] == BLACKHOLE_ROUTE else SLOW
            if verdict[i] == SLOW:
                ask[i] = unreachable if hop_kind[h] == UNREACHABLE_ROUTE else prohibited
            continue
        o = offset[i] + ETHERNET
        p = hop_port[h]
        back = p == in_port[i] and (any_sender or _near(buffer, o + source_at, p, link, link_mask))
        total = uncounted + _two(buffer, o + length_at)
        at = _place(neighbour, destination, i) if hop_attached[h] else -1
        if at >= 0 and neighbour_port[at] != p:
            at = -1
        verdict[i] = NONE
        if buffer[o + ttl_at] <= 1:
            ask[i] = expired
        elif total > hop_room[h]:
            verdict[i] = SLOW
            if hop_room[h] > 0 and buffer[o + 6] & uncut == uncut:
                ask[i] = too_long
        elif at < 0 and not hop_open[h]:
            ask[i] = nobody
        elif back:
            ask[i] = REDIRECT
        if ask[i] != 0:
            verdict[i] = SLOW
        row = np.int64(h) if at < 0 else len(hop_kind) + at
        out_port[i] = p
        head[i] = row
        out_size[i] = head_size[row] + total


@kernel()
def send(buffer: Array, offset: Array, packet: Array, chosen: Array, heads: Array, head_size: Array, head: Array,
         at: Array, size: Array, ttl_at: int, summed: bool, out: Array) -> None:  # fmt: skip
    """Write the frames of chosen rows into out at `at`, size bytes each: a new head, one less to live.

    A head (head_size bytes) is that of Ethernet and labels behind it; one with 0 to live gets as much as the packet.
    summed: the header has a checksum.
    """
    for r in range(len(packet)):
        if not chosen[r]:
            continue
        i = packet[r]
        a = at[r]
        j = head[i]
        for k in range(ETHERNET):
            out[a + k] = heads[j, k]
        o = offset[i] + ETHERNET
        h = head_size[j]
        for k in range(ETHERNET, h):
            entry = heads[j, k]
            out[a + k] = buffer[o + ttl_at] - 1 if entry == 0 and k & 3 == 1 else entry
        a += h
        n = size[r] - h
        out[a : a + n] = buffer[o : o + n]
        out[a + ttl_at] -= 1
        if summed:
            c = _updated(_two(out, a + 10), 0x100, 0)
            out[a + 10] = c >> 8
            out[a + 11] = c & 0xFF


@kernel()
def frame_raw(buffer: Array, offset: Array, length: Array, heads: Array, out: Array) -> None:
    """Write packets without a link header into out, one behind the other, each behind its head (n, 14)."""
    a = 0
    for i in range(len(offset)):
        for k in range(ETHERNET):
            out[a + k] = heads[i, k]
        a += ETHERNET
        n = length[i]
        out[a : a + n] = buffer[offset[i] : offset[i] + n]
        a += n


@kernel()
def readdress(buffer: Array, offset: Array, length: Array, port: Array, mac: Array) -> None:
    """Send every frame that is for one station to the port it came in by: its row of mac (ports, 6)."""
    for i in range(len(offset)):
        o = offset[i]
        if length[i] >= ETHERNET and buffer[o] & 1 == 0:
            for k in range(6):
                buffer[o + k] = mac[port[i], k]


@kernel()
def departures(arrival_ns: Array, size: Array, rate: int, preamble: int, gap: int, shortest: int, trailer: int,
               state: Array, out: Array) -> None:  # fmt: skip
    """Fill out with when each frame's last bit has left a link of `rate` bit/s, first in, first out (ns, rounded up).

    state: (ns, rest) until when the link is taken; rest in units of 1 / rate ns, carried from call to call.
    """
    for i in range(len(arrival_ns)):
        if state[0] < arrival_ns[i]:
            state[0] = arrival_ns[i]
            state[1] = 0
        bits = 8 * (preamble + max(size[i], shortest) + trailer)
        rest = state[1] + bits * 1_000_000_000
        state[0] += rest // rate
        state[1] = rest % rate
        out[i] = state[0] + (1 if state[1] > 0 else 0)
        rest = state[1] + 8 * gap * 1_000_000_000
        state[0] += rest // rate
        state[1] = rest % rate
