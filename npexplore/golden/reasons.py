"""Why a packet leaves the router other than by a port: reason code, sentence, clause."""

from enum import IntEnum


class Reason(IntEnum):
    """A code, what it means (`text`), where it is written (`clause`). NONE, which is false: no reason to drop."""

    text: str
    clause: str

    def __new__(cls, code: int, text: str, clause: str) -> "Reason":
        """Make a member with its text and clause."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        member.clause = clause
        return member

    NONE = 0, "nothing is wrong", ""
    NOT_IPV4 = 1, "the frame carries no IPv4 packet", "RFC 1812 section 5.1"
    TOO_SHORT = 2, "fewer than the 20 bytes of the shortest IP header", "RFC 1812 section 5.2.2 (1)"
    BAD_VERSION = 3, "the version is not 4", "RFC 1812 section 5.2.2 (3)"
    BAD_HEADER_LENGTH = 4, "the header length is below 5 words", "RFC 1812 section 5.2.2 (4)"
    HEADER_CUT = 5, "the header is longer than what arrived", "RFC 1812 section 5.2.2"
    BAD_TOTAL_LENGTH = 6, "the total length is below the header length", "RFC 1812 section 5.2.2 (5)"
    TRUNCATED = 7, "the total length is beyond what arrived", "RFC 1812 section 5.2.2"
    BAD_CHECKSUM = 8, "the header checksum is wrong", "RFC 1812 section 5.2.2 (2)"
    MARTIAN_SOURCE = 9, "the source is no address of one host", "RFC 1812 section 5.3.7"
    MARTIAN_DESTINATION = 10, "the destination is no address to forward to", "RFC 1812 section 5.3.7"
    TTL_EXPIRED = 11, "no time to live is left", "RFC 1812 section 5.3.1"
    LINK_BROADCAST = 12, "a link-layer broadcast that is no IP broadcast", "RFC 1812 section 5.3.4"
    LIMITED_BROADCAST = 13, "255.255.255.255 stays on its link", "RFC 1812 section 5.3.5.1"
    DIRECTED_BROADCAST = 14, "broadcasts to attached networks are not forwarded", "RFC 2644 section 2"
    NETWORK_ZERO = 15, "the old broadcast address, host part 0, of an attached network", "RFC 1812 section 4.2.3.1"
    MULTICAST = 16, "no multicast route", "RFC 1812 section 5.2.1.3"
    LOCAL_DELIVERY = 17, "for the router itself", "RFC 1812 section 5.2.3"
    BAD_OPTION = 18, "an option has a bad length, pointer or flag", "RFC 1812 section 5.3.13, RFC 791 section 3.1"
    SOURCE_ROUTE_FAILED = 19, "the source route cannot be followed", "RFC 1812 section 4.3.3.1 (code 5)"
    NO_ROUTE = 20, "no route to the destination", "RFC 1812 section 4.3.3.1 (code 0)"
    BLACKHOLE = 21, "a route that discards silently", "RFC 1812 section 5.3.9"
    UNREACHABLE = 22, "a route that says host unreachable", "RFC 1812 section 4.3.3.1 (code 1)"
    PROHIBITED = 23, "a route that says administratively prohibited", "RFC 1812 section 4.3.3.1 (code 13)"
    NO_NEIGHBOUR = 24, "nobody on the link has the next hop's address", "RFC 1812 section 4.3.3.1 (code 1)"
    FRAGMENTATION_NEEDED = 25, "longer than the link allows, and must not be fragmented", "RFC 1191 section 4"
    MTU_TOO_SMALL = 26, "the link cannot carry the header and 8 bytes", "RFC 791 section 3.2"
    REVERSE_PATH = 27, "the way back to the source is by another port", "RFC 1812 section 5.3.8"
    OTHER_STATION = 28, "the frame is for another station of the link", "IEEE 802.3 clause 4.1.4, RFC 1812 section 3"
    SOURCE_ROUTE_LOST = 29, "a source route that leads nowhere, dropped without a word", "RFC 1812 section 5.2.4.1"
