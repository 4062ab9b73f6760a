"""Classifiers by expressions: IPFilter and IPClassifier, as `src net 10.0.0.0/8 && (tcp port 80 or udp)`."""

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
    """The output of the first expression that fits: `IPClassifier(tcp dst port 80, src net 10.0.0.0/8, -)`."""

    OUTPUTS, PROCESSING, ARGUMENTS, TIMED = (1, ANY), "h/h", (1, ANY), "classifier"

    def configure(self, *arguments: str) -> None:
        """The expressions, one per output."""
        self.tests = [(k, expression(text)) for k, text in enumerate(arguments)]
        self.named_outputs, self.names_all = len(self.tests), True

    def take(self, pack: Pack, port: int) -> Out:
        """By the expression; what fits none ends here."""
        packet = pack.packet
        whole = len(packet) >= 20 and read_header(packet).version == 4
        for output, test in self.tests if whole else ():
            if test(packet):
                return [(output, pack)] if output >= 0 else [(-1, _refused(pack))]
        return [(-1, _refused(pack))]


class IPFilter(IPClassifier):
    """The same with what to do in front: `IPFilter(allow src net 10.0.0.0/8, 1 icmp, deny all)`."""

    def configure(self, *arguments: str) -> None:
        """Rules `allow|deny|drop|OUTPUT EXPRESSION`."""
        self.tests = []
        for text in arguments:
            action, _, rest = text.partition(" ")
            output = ACTIONS.get(action.lower(), whole_number(action))
            if output is None:
                raise UnknownNameError("action or output", action, ACTIONS)
            self.tests.append((output, expression(rest or "all")))
        self.named_outputs = max(output for output, _ in self.tests) + 1


def _refused(pack: Pack) -> Pack:
    """Return a packet that a filter does not let pass."""
    return replace(pack, reason=Reason.PROHIBITED)
