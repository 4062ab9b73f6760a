"""Prefix-preserving anonymisation of addresses (Crypto-PAn, Xu, Fan, Ammar, Moon, ICNP 2002).

Two addresses that share their first k bits still share exactly their first k bits, so routes and locality survive.
Addresses in IPv4, IPv6 and ARP headers are replaced; the writer cuts off everything after the transport header, because
payloads contain addresses too. Ethernet addresses are not replaced.
"""

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import capture_write as kernels
from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.packets.columns import PacketTable

Bytes = NDArray[np.uint8]


class Anonymiser(ShownByArguments):
    """The address mapping of a 32-byte key: 16 bytes are the AES key, the secret pad is made from the other 16.

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
        self._box = kernels.aes_tables()
        self._keys = kernels.aes_expand(np.frombuffer(key[:16], np.uint8), self._box)
        self._pad = kernels.aes_encrypt(np.frombuffer(key[16:], np.uint8), self._keys, self._box)

    def images(self, addresses: Bytes) -> Bytes:
        """Return the images of addresses, uint8 (n, 4) or (n, 16); each distinct one is computed once."""
        size = addresses.shape[1]
        whole = np.ascontiguousarray(addresses).view("u4" if size == 4 else f"S{size}").reshape(-1)  # sorts fast
        unique, inverse = np.unique(whole, return_inverse=True)
        rows = unique.view(np.uint8).reshape(-1, size)
        new = kernels.anonymise(rows, 8 * size, self._pad, self._keys, self._box)
        return np.asarray(new[inverse.reshape(-1)], dtype=np.uint8)

    def apply(self, data: Bytes, base: int, table: PacketTable, kept: NDArray[np.int64]) -> None:
        """Replace the addresses of a table's packets in their bytes, data[position - base:], and adjust checksums."""
        whole = table["header_complete"]
        names = ("position", "l3_offset", "l4_offset", "ip_proto", "nonfirst")
        position, l3, l4, proto, nonfirst = (table[name] for name in names)
        rows = np.flatnonzero(table["ipv4"] & whole)
        if len(rows):
            old = np.stack([table["src"][rows], table["dst"][rows]], axis=1).astype(">u4").view(np.uint8)
            new = self.images(old.reshape(-1, 4)).reshape(-1, 2, 4)
            source, destination = np.ascontiguousarray(new[:, 0]), np.ascontiguousarray(new[:, 1])
            kernels.replace_addresses(data, base, rows, position, kept, l3, l4, proto, nonfirst, 4, source, destination)
        rows = table.ipv6.packet
        if len(rows):
            source, destination = self.images(table.ipv6.source), self.images(table.ipv6.destination)
            kernels.replace_addresses(
                data, base, rows, position, kept, l3, l4, proto, nonfirst, 16, source, destination
            )
        start = position - base + l3
        rows = np.flatnonzero(table["arp"] & (table["captured"] >= l3.astype(np.int64) + 28))
        for offset in (14, 24) if len(rows) else ():
            at = start[rows][:, None] + offset + np.arange(4)
            data[at] = self.images(data[at])
