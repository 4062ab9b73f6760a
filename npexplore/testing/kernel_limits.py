"""Messages that the kernel limits for each address, so that a case may have another outcome when it is repeated.

It sends only a few destination-unreachable errors to a source, and none soon after any other error to that address; and
it repeats a redirect only after a while. Packets for the router itself it may answer as a host.
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
    """Return the type of an ICMP message of IPv4."""
    return frame[14 + 4 * (frame[14] & 15)]


class Told:
    """Remembers to which addresses a kernel has sent messages since its start."""

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
        # an error for which the link is too short is not sent, but counts
        tried = bool(messages) or error_for(outcome.reason) is not None
        self.addressees |= {message[DESTINATION] for message in messages} | ({source} if tried else set())
        # what goes back counts even where no message may be sent about it
        back = any(sent.port == port and not sent.icmp for sent in outcome.sent)
        self.redirected |= {source} if back else set()
        self.addressees |= {source} if back else set()
        return True

    def _asks(self, frame: bytes, outcome: Outcome) -> bool:
        """Say whether what is for the router itself is comparable: messages that have not to do with its own state."""
        size = 14 + 4 * (frame[14] & 15)
        kind, protocol, piece = frame[size : size + 1], frame[23], (frame[20] & 0x3F) or frame[21]
        if self.router is None or not self.router.policy.answers:
            return protocol == ICMP and kind != bytes([TIMESTAMP_REQUEST])
        if len(outcome.sent) > 1 and outcome.sent[0].icmp and _reply_type(outcome.sent[0].frame) == TIMESTAMP_REPLY:
            return False  # where the time of day is in pieces, it cannot be left out of the comparison
        return bool(piece) or kind[:1] in ECHOES if protocol == ICMP else protocol in (UDP, *UNKNOWN)

    def _may_ask6(self, port: int, frame: bytes, outcome: Outcome) -> bool:
        resolves = self.router is not None and self.router.policy.neighbours == "resolve"
        discovery = len(frame) > 54 and frame[20] == ICMP6 and frame[54] in (SOLICITATION, ADVERTISEMENT)
        if resolves and discovery and outcome.reason in DISCOVERING:
            return True
        if outcome.reason in FOR_MANY:
            return False
        if frame[DESTINATION6] == bytes(16) and not outcome.reason:
            return False  # iproute2 enters no neighbour by the unspecified address
        if outcome.reason is Reason.LOCAL_DELIVERY:
            answers = self.router is not None and self.router.policy.answers
            protocol, kind = frame[20], frame[54:55]
            if not answers or not (kind == bytes([128]) if protocol == ICMP6 else protocol in (UDP, *UNKNOWN)):
                return False
        messages = [sent.frame for sent in outcome.sent if sent.icmp and sent.frame[12:14] == IPV6_TYPE]
        redirect = any(message[54] == REDIRECT6 for message in messages)
        questions = 1 + (frame[SOURCE6] == frame[DESTINATION6])  # both are asked for leave, perhaps the same one twice
        if redirect and (self.redirects6 + questions > 5 or self.addressees & {frame[SOURCE6], frame[DESTINATION6]}):
            return False
        self.redirects6 += questions * any(sent.port == port and not sent.icmp for sent in outcome.sent)
        self.addressees |= {message[DESTINATION6] for message in messages if message[54] != REDIRECT6}
        return True
