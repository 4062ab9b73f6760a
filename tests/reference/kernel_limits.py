"""What the kernel tells an address only now and then, so that a case comes out differently when it is asked again.

It sends a source whose destination is unreachable no more than a few errors, and none soon after any other error to
that address; and it repeats a redirect only after a while. What is for the router itself it may answer as a host.
"""

from npexplore.golden.ipv4.icmp import ICMP, REDIRECT
from npexplore.golden.reasons import Reason

UNREACHABLES = (Reason.NO_ROUTE, Reason.UNREACHABLE, Reason.PROHIBITED)
TIMESTAMP_REQUEST = 13
SOURCE, DESTINATION = slice(26, 30), slice(30, 34)  # in a frame


class Told:
    """Remembers who was told something, for one kernel from its start."""

    def __init__(self):
        self.told, self.redirected = set(), set()

    def may_ask(self, frame, outcome):
        """Say whether this frame's outcome does not depend on what was sent before; it counts as sent then."""
        source = frame[SOURCE]
        if outcome.reason is Reason.LOCAL_DELIVERY:
            size = 14 + 4 * (frame[14] & 15)
            return frame[23] == ICMP and frame[size : size + 1] != bytes([TIMESTAMP_REQUEST])
        if outcome.reason in UNREACHABLES and source in self.told:
            return False
        messages = [sent.frame for sent in outcome.sent if sent.icmp]
        redirect = any(message[14 + 4 * (message[14] & 15)] == REDIRECT for message in messages)
        if redirect and source in self.redirected:
            return False
        self.told |= {message[DESTINATION] for message in messages} | ({source} if messages else set())
        self.redirected |= {source} if redirect else set()
        return True
