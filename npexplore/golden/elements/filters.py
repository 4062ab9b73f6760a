"""Classifiers by expressions such as `src net 10.0.0.0/8 && (tcp port 80 or udp)`: IPFilter and IPClassifier."""

from __future__ import annotations

from dataclasses import replace

from npexplore.errors import UnknownNameError
from npexplore.golden.elements.base import ANY, Element, Out, Pack
from npexplore.golden.elements.expressions import expression
from npexplore.golden.ipv4.header import read_header
from npexplore.golden.reasons import Reason
from npexplore.strict_input import whole_number

ACTIONS = {"allow": 0, "deny": -1, "drop": -1}


class IPClassifier(Element):
    """Sends packets to the output of the first matching expression: `IPClassifier(tcp port 80, src net 10/8, -)`."""

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, ANY), "h/h", (1, ANY), "classifier"

    def configure(self, *arguments: str) -> None:
        """Parse the expressions, one per output."""
        self.tests = [(k, expression(text)) for k, text in enumerate(arguments)]
        self.named_outputs, self.names_all = len(self.tests), True

    def take(self, pack: Pack, port: int) -> Out:
        """Send the packet to the output of the first matching expression; drop it if none matches."""
        packet = pack.packet
        has_header = len(packet) >= 20 and read_header(packet).version == 4
        for output, test in self.tests if has_header else ():
            if test(packet):
                return [(output, pack)] if output >= 0 else [(-1, _refused(pack))]
        return [(-1, _refused(pack))]


class IPFilter(IPClassifier):
    """IPClassifier with an action in front of each expression: `IPFilter(allow src net 10/8, 1 icmp, deny all)`."""

    def configure(self, *arguments: str) -> None:
        """Parse the rules `allow|deny|drop|OUTPUT EXPRESSION`."""
        self.tests = []
        for text in arguments:
            action, _, rest = text.partition(" ")
            output = ACTIONS.get(action.lower(), whole_number(action))
            if output is None:
                raise UnknownNameError("action or output", action, ACTIONS)
            self.tests.append((output, expression(rest or "all")))
        self.named_outputs = max(output for output, _ in self.tests) + 1


def _refused(pack: Pack) -> Pack:
    """Return the packet, marked as dropped by a filter."""
    return replace(pack, reason=Reason.PROHIBITED)
