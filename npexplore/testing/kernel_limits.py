"""Messages that the kernel rate-limits per address, so that a repeated frame may have another outcome.

The kernel sends only a few destination-unreachable errors to a source, and none soon after any other error to that
address; it repeats a redirect only after a while. It may answer packets for the router itself as a host.
"""

from npexplore.golden.ethernet import IPV4_TYPE, IPV6_TYPE
from npexplore.golden.ipv4.icmp import ICMP, REDIRECT, error_for
from npexplore.golden.ipv6.discovery import ADVERTISEMENT, SOLICITATION
from npexplore.golden.ipv6.icmp import REDIRECT as REDIRECT6
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import Router
from npexplore.golden.router.resolution import ARP_TYPE
from npexplore.golden.router.vlans import TAGS
from npexplore.golden.router.walk import Outcome

UNREACHABLES = (Reason.NO_ROUTE, Reason.UNREACHABLE, Reason.PROHIBITED)
DISCOVERING = (Reason.MULTICAST6, Reason.LOCAL_DELIVERY)
FOR_MANY = (Reason.MULTICAST6,)
TIMESTAMP_REQUEST, TIMESTAMP_REPLY = 13, 14
ECHOES = (b"\x08", b"\x0d")
UDP, ICMP6, UNKNOWN = 17, 58, (253, 254, 99)
SOURCE, DESTINATION = slice(26, 30), slice(30, 34)  # in a frame
SOURCE6, DESTINATION6 = slice(22, 38), slice(38, 54)


def _reply_type(frame: bytes) -> int:
    """Return the type of the ICMP message in an IPv4 frame."""
    return frame[14 + 4 * (frame[14] & 15)]


class Told:
    """Records the addresses to which a kernel has sent messages since its start."""

    def __init__(self, router: Router | None = None) -> None:
        self.addressees: set[bytes] = set()
        self.redirected: set[bytes] = set()
        self.redirects6, self.router = 0, router

    def may_ask(self, port: int, frame: bytes, outcome: Outcome) -> bool:
        """Return whether this frame's outcome is independent of earlier frames; if so, it counts as sent.

        outcome: the golden router's, under the profile `linux`.
        """
        while frame[12:14] in TAGS:
            frame = frame[:12] + frame[16:]
        if frame[12:14] == ARP_TYPE:
            return True
        if frame[12:14] == IPV6_TYPE:
            return self._may_ask6(port, frame, outcome)
        source = frame[SOURCE]
        if outcome.reason is Reason.LOCAL_DELIVERY and not self._asks(frame, outcome):
            return False
        if outcome.reason in UNREACHABLES and source in self.addressees:
            return False
        messages = [sent.frame for sent in outcome.sent if sent.icmp and sent.frame[12:14] == IPV4_TYPE]
        redirect = any(message[14 + 4 * (message[14] & 15)] == REDIRECT for message in messages)
        if redirect and source in self.redirected:
            return False
        # an error that does not fit the link is not sent, but counts
        causes_error = bool(messages) or error_for(outcome.reason) is not None
        self.addressees |= {message[DESTINATION] for message in messages} | ({source} if causes_error else set())
        # a packet that leaves by its input port counts even if no redirect may be sent for it
        returns = any(sent.port == port and not sent.icmp for sent in outcome.sent)
        self.redirected |= {source} if returns else set()
        self.addressees |= {source} if returns else set()
        return True

    def _asks(self, frame: bytes, outcome: Outcome) -> bool:
        """Return whether the reply to a packet for the router itself is comparable: independent of its state."""
        size = 14 + 4 * (frame[14] & 15)
        icmp_type, protocol, is_fragment = frame[size : size + 1], frame[23], (frame[20] & 0x3F) or frame[21]
        if self.router is None or not self.router.policy.answers:
            return protocol == ICMP and icmp_type != bytes([TIMESTAMP_REQUEST])
        if len(outcome.sent) > 1 and outcome.sent[0].icmp and _reply_type(outcome.sent[0].frame) == TIMESTAMP_REPLY:
            return False  # a time of day in fragments cannot be left out of the comparison
        return bool(is_fragment) or icmp_type[:1] in ECHOES if protocol == ICMP else protocol in (UDP, *UNKNOWN)

    def _may_ask6(self, port: int, frame: bytes, outcome: Outcome) -> bool:
        resolves = self.router is not None and self.router.policy.neighbours == "resolve"
        discovery = len(frame) > 54 and frame[20] == ICMP6 and frame[54] in (SOLICITATION, ADVERTISEMENT)
        if resolves and discovery and outcome.reason in DISCOVERING:
            return True
        if outcome.reason in FOR_MANY:
            return False
        if frame[DESTINATION6] == bytes(16) and not outcome.reason:
            return False  # iproute2 adds no neighbour with the unspecified address
        if outcome.reason is Reason.LOCAL_DELIVERY:
            answers = self.router is not None and self.router.policy.answers
            protocol, kind = frame[20], frame[54:55]
            if not answers or not (kind == bytes([128]) if protocol == ICMP6 else protocol in (UDP, *UNKNOWN)):
                return False
        messages = [sent.frame for sent in outcome.sent if sent.icmp and sent.frame[12:14] == IPV6_TYPE]
        redirect = any(message[54] == REDIRECT6 for message in messages)
        checks = 1 + (frame[SOURCE6] == frame[DESTINATION6])  # the kernel checks the limits of both, even if equal
        if redirect and (self.redirects6 + checks > 5 or self.addressees & {frame[SOURCE6], frame[DESTINATION6]}):
            return False
        self.redirects6 += checks * any(sent.port == port and not sent.icmp for sent in outcome.sent)
        self.addressees |= {message[DESTINATION6] for message in messages if message[54] != REDIRECT6}
        return True
