"""Prefix-preserving anonymisation of addresses (Crypto-PAn, Xu, Fan, Ammar, Moon, ICNP 2002).

Two addresses that share exactly their first k bits have images that share exactly their first k bits, so routes and
locality survive. Only fields that are known to hold no address are copied (`_kernels/capture_addresses.py`, a table in
docs/captures.md): addresses are replaced, unknown options are cleared, and each packet is cut at the end of its known
part, because payloads contain addresses too. Ethernet addresses are not replaced.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_addresses as kernels
from npexplore._kernels import capture_write as ciphers
from npexplore._kernels.capture_headers import NO_OFFSET
from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable

Bytes = NDArray[np.uint8]
RARP, ETHERNET, ETHERNET_BYTES, PFLOG = 0x8035, 1, 14, 117
COOKED = ((113, 5, 6), (276, 11, 12))  # Linux: link type, offsets of the link address's size and of its 8 bytes
MAC_BYTES, COOKED_BYTES = 6, 8


class Anonymiser(ShownByArguments):
    """The address mapping of a 32-byte key: the first 16 bytes are the AES key, the other 16 give the secret pad.

    Example:
        >>> import numpy as np
        >>> from npexplore.packets import Anonymiser
        >>> same = np.array([[10, 0, 0, 1], [10, 0, 0, 2]], np.uint8)
        >>> images = Anonymiser(bytes(range(32))).images(same)
        >>> (images[0] == images[1])[:3].tolist()
        [True, True, True]
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise InputError(f"the anonymisation key must be 32 bytes long, got {len(key)}")
        self._box = ciphers.aes_tables()
        self._keys = ciphers.aes_expand(np.frombuffer(key[:16], np.uint8), self._box)
        self._pad = ciphers.aes_encrypt(np.frombuffer(key[16:], np.uint8), self._keys, self._box)

    def images(self, addresses: Bytes) -> Bytes:
        """Return the images of addresses, uint8 (n, 4) or (n, 16); each distinct address is computed once."""
        size = addresses.shape[1]
        sortable = np.ascontiguousarray(addresses).view("u4" if size == 4 else f"S{size}").reshape(-1)  # sorts fast
        unique, inverse = np.unique(sortable, return_inverse=True)
        rows = unique.view(np.uint8).reshape(-1, size)
        images = ciphers.anonymise(rows, 8 * size, self._pad, self._keys, self._box)
        return np.asarray(images[inverse.reshape(-1)], dtype=np.uint8)

    def apply(self, data: Bytes, base: int, table: PacketTable) -> NDArray[np.int64]:
        """Replace the addresses of a table's packets in `data` and return how many bytes of each packet may be kept.

        data[position - base:] holds a packet's bytes. Known fields that hold no address stay, others are cleared, and
        checksums stay as right or wrong as they were. The returned lengths (int64, one a packet) end at each packet's
        known part.
        """
        captured, position = table["captured"].astype(np.int64), table["position"]
        kinds = np.where(table["ipv4"], kernels.FOUR, np.where(table["ipv6"], kernels.SIX, kernels.NOTHING))
        kinds = np.where(table["arp"] | (table["protocol"] == RARP), kernels.RESOLUTION, kinds)
        l3 = table["l3_offset"].astype(np.int64)
        link = np.where(table["link_type"] == ETHERNET, ETHERNET_BYTES, 0)
        l3 = np.where(l3 == NO_OFFSET, link, l3)
        kinds = np.where(table["l3_offset"] == NO_OFFSET, kernels.NOTHING, kinds)
        for row in np.flatnonzero(table["link_type"] == PFLOG):  # the PFLOG header repeats the packet's addresses
            start = position[row] - base
            data[start + 4 : start + min(l3[row], captured[row])] = 0
        for link_type, size_at, address_at in COOKED:  # a tunnel's link address is an IPv4 or IPv6 address
            rows = np.flatnonzero((table["link_type"] == link_type) & (captured > size_at))
            rows = rows[data[position[rows] - base + size_at] != MAC_BYTES]
            for at in range(address_at, address_at + COOKED_BYTES):
                data[position[rows[captured[rows] > at]] - base + at] = 0
        cut, room = np.zeros(table.rows, np.int64), 3 * table.rows + 64
        while True:
            edits, sums = np.empty((room, 3), np.int64), np.empty((room, 7), np.int64)
            counts = np.zeros(2, np.int64)
            kernels.find_addresses(data, base, kinds, position, captured, l3, cut, edits, sums, counts)
            if counts.max() <= room:
                break
            room = int(counts.max())
        edits, sums = edits[: counts[0]], sums[: counts[1]]
        images = [
            self.images(data[edits[edits[:, 2] == size, 0][:, None] + np.arange(size)].reshape(-1, size))
            for size in (4, 16)
        ]
        kernels.replace_addresses(data, edits, sums, *images)
        return cut
