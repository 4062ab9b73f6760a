"""IPv4 and IPv6 prefixes as pairs (value, length): the first address, and the number of leading bits."""

from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network

from npexplore.errors import InputError


def is_length(text: str, bits: int) -> bool:
    """Return whether a text is a prefix length: 0 to `bits` in plain digits, without a leading zero."""
    return text.isascii() and text.isdigit() and text == str(int(text)) and int(text) <= bits


def pair_of(
    prefix: str | IPv4Network | IPv6Network, bits: int, network: type[IPv4Network] | type[IPv6Network],
    number: Callable[[str], int], text: Callable[[int], str],
) -> tuple[int, int]:  # fmt: skip
    """Return (value, length) of a prefix of `bits`-bit addresses; text without a length is a single address.

    number, text: parse and format an address. Raises InputError for invalid prefixes and bits set below the length.
    """
    if isinstance(prefix, network):
        return int(prefix.network_address), prefix.prefixlen
    if not isinstance(prefix, str):
        raise InputError(f"prefix must be text or an ipaddress network, got {prefix!r}")
    head, slash, tail = prefix.partition("/")
    if slash and not is_length(tail, bits):
        raise InputError(f"prefix length must be 0 to {bits}, got {prefix!r}")
    length = int(tail) if slash else bits
    value = number(head)
    host_bits = value & ((1 << bits - length) - 1)
    if host_bits:
        nearest = f"{text(value - host_bits)}/{length}"
        raise InputError(f"prefix {prefix!r} has bits set below its length; nearest: {nearest}")
    return value, length
