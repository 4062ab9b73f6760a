"""The reasons why the router drops a packet or processes it itself: code, sentence, clause."""

from enum import IntEnum


class Reason(IntEnum):
    """A code, its meaning (`text`), and the standard that demands it (`clause`). NONE (false): no reason to drop."""

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
    TRUNCATED = 7, "the total length is larger than what arrived", "RFC 1812 section 5.2.2"
    BAD_CHECKSUM = 8, "the header checksum is wrong", "RFC 1812 section 5.2.2 (2)"
    MARTIAN_SOURCE = 9, "the source is not the address of a single host", "RFC 1812 section 5.3.7"
    MARTIAN_DESTINATION = 10, "the destination is not an address to forward to", "RFC 1812 section 5.3.7"
    TTL_EXPIRED = 11, "no time to live is left", "RFC 1812 section 5.3.1"
    LINK_BROADCAST = 12, "a link-layer broadcast that is not an IP broadcast", "RFC 1812 section 5.3.4"
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
    REVERSE_PATH = 27, "the route to the source leads out of another port", "RFC 1812 section 5.3.8"
    OTHER_STATION = 28, "the frame is for another station of the link", "IEEE 802.3 clause 4.1.4, RFC 1812 section 3"
    SOURCE_ROUTE_LOST = 29, "a source route that leads nowhere, dropped silently", "RFC 1812 section 5.2.4.1"
    TOO_SHORT6 = 30, "fewer than the 40 bytes of an IPv6 header", "RFC 8200 section 3"
    BAD_VERSION6 = 31, "the version is not 6", "RFC 8200 section 3"
    TRUNCATED6 = 32, "the payload length is larger than what arrived", "RFC 8200 section 3"
    MARTIAN_SOURCE6 = (
        33,
        "the IPv6 source is not the address of a single node",
        "RFC 4291 sections 2.5.2, 2.5.3 and 2.7",
    )
    MARTIAN_DESTINATION6 = 34, "the IPv6 destination is not an address on a link", "RFC 4291 sections 2.5.2 and 2.5.3"
    EXTENSION_CUT = 35, "an extension header ends beyond the packet", "RFC 8200 section 4, RFC 7112 section 5"
    HOP_BY_HOP_LATE = 36, "hop-by-hop options that do not directly follow the IPv6 header", "RFC 8200 section 4.1"
    HOP_OPTION_CUT = 37, "a hop-by-hop option ends beyond its header", "RFC 8200 section 4.2"
    HOP_OPTION_UNKNOWN = 38, "an unknown hop-by-hop option that says: discard", "RFC 8200 section 4.2"
    MULTICAST6 = 39, "no IPv6 multicast route", "RFC 4291 section 2.7"
    LINK_LOCAL_DESTINATION = 40, "a link-local destination stays on its link", "RFC 4291 section 2.5.6"
    NO_ROUTE6 = 41, "no IPv6 route to the destination", "RFC 4443 section 3.1 (code 0)"
    PROHIBITED6 = 42, "an IPv6 route that says administratively prohibited", "RFC 4443 section 3.1 (code 1)"
    UNREACHABLE6 = 43, "an IPv6 route that says address unreachable", "RFC 4443 section 3.1 (code 3)"
    HOP_LIMIT_EXCEEDED = 44, "no hop limit is left", "RFC 8200 section 3, RFC 4443 section 3.3"
    BEYOND_SCOPE = 45, "a link-local source stays on its link", "RFC 4443 section 3.1 (code 2)"
    PACKET_TOO_BIG = (
        46,
        "longer than the link allows",
        "RFC 8200 section 5, RFC 4443 section 3.2",
    )
    NO_NEIGHBOUR6 = 47, "nobody on the link has the next hop's IPv6 address", "RFC 4861 section 7.2.2"
    LABEL_CUT = 48, "fewer than the 4 bytes of a label stack entry", "RFC 3032 section 2.1"
    NO_BOTTOM = 49, "no label is the bottom of the stack", "RFC 3032 section 2.1"
    LABEL_TTL_EXPIRED = 50, "no time to live is left in the top label", "RFC 3032 section 2.4.2"
    LABEL_RESERVED = (
        51,
        "a special-purpose label that is not supported here",
        "RFC 3032 section 2.1, RFC 7274 section 3",
    )
    LABEL_UNKNOWN = 52, "a label that is not in the incoming label map", "RFC 3031 section 3.18"
    NOT_IP_BELOW = 53, "no IP packet below the last label", "RFC 3032 section 2.2"
    LABELLED_TOO_BIG = 54, "a labelled packet longer than the link allows", "RFC 3032 section 3.4"
    LABEL_ALERT = 55, "a router alert label: for the router itself", "RFC 3032 section 2.1"
    LABEL_UPSTREAM = 56, "a label of the sender's own space (type 0x8848)", "RFC 5332 section 4"
    JUMBOGRAM = 57, "hop-by-hop options behind a payload length of 0: longer than any link", "RFC 2675 section 3"
    SOURCE_ROUTE_REFUSED = 58, "source routes are switched off", "RFC 1812 section 5.3.13.4"
    UNKNOWN_VLAN = 59, "no interface is in the frame's VLAN", "IEEE 802.1Q clause 9.6, RFC 1812 section 3"
    JUMBO_WRONG = 60, "a jumbo payload option in a packet that is not a jumbogram", "RFC 2675 section 3"
    ARP = 61, "an address resolution message, processed by the router itself", "RFC 826 section Packet Reception"
    AWAITS_NEIGHBOUR = 62, "waits for the MAC address of its next hop", "RFC 1122 section 2.3.2.2"


_BY_CODE = {int(reason): reason for reason in Reason}


def by_code(code: int) -> Reason:
    """Return the reason with a code; raises KeyError for an unknown code."""
    return _BY_CODE[code]
