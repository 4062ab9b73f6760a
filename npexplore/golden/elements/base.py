"""The interface of elements: declared ports, push or pull, arguments, and the processing of one packet.

Ports and processing follow Kohler et al., "The Click Modular Router", ACM TOCS 18(3), 2000, Sec. 2: a push output
sends packets, a pull input requests them, an agnostic port takes the kind of the port that it is connected to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from npexplore.display import ShownByArguments
from npexplore.errors import InputError
from npexplore.golden.elements.names import named
from npexplore.golden.ipv4.addresses import address_number
from npexplore.golden.reasons import Reason
from npexplore.strict_input import Entry, whole_number

KEYWORD = re.compile(r"([A-Z][A-Z0-9_]*)\s+(\S.*)", re.DOTALL)
ANY = 1 << 16  # no upper limit on ports or arguments


class Place(NamedTuple):
    """A place in a configuration: file and line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Pack:
    """A packet in a graph: its bytes, and the annotations that elements set.

    device: the incoming device. paint: a small number, 0 by default. target: destination address annotation.
    reason, pointer: its fault, for the element that sends an ICMP error. fix_source: its source is yet to be set.
    network: offset of its IP header.
    """

    data: bytes
    device: str = ""
    link_broadcast: bool = False
    paint: int = 0
    target: int = 0
    reason: Reason = Reason.NONE
    pointer: int = 0
    fix_source: bool = False
    network: int = 0

    @property
    def packet(self) -> bytes:
        """The IP packet: the bytes from the IP header on."""
        return self.data[self.network :]

    def with_packet(self, packet: bytes, **notes: Any) -> Pack:
        """Return the pack with another IP packet at the same offset, and with changed annotations."""
        return replace(self, data=self.data[: self.network] + packet, **notes)


Out = Sequence[tuple[int, Pack]]


class Element(ShownByArguments):
    """One element of a graph; subclasses declare their properties and process packets in `take`.

    INPUTS, OUTPUTS: minimum and maximum number of ports. PROCESSING: inputs/outputs, a letter per port (h push, l pull,
    a agnostic); the last letter holds for all further ports. ARGUMENTS: minimum and maximum number. EXIT: the kind of
    exit, if packets leave the graph here. STORES: packets may rest here, so a cycle through it is allowed. TIMED: its
    row in a table of cycles. IRRELEVANT: keywords `KEYWORD VALUE` that change no packet, each with the reason ("*": no
    argument does). Other keywords are errors unless `configure` reads them from `self.said`. FREE: no keywords.

    Example:
        >>> from npexplore.golden import Graph
        >>> [element.kind for element in Graph.read("FromDevice(a) -> Discard;").elements.values()]
        ['FromDevice', 'Discard']
    """

    INPUTS: ClassVar[tuple[int, int]] = (1, 1)
    OUTPUTS: ClassVar[tuple[int, int]] = (1, 1)
    PROCESSING: ClassVar[str] = "a/a"
    ARGUMENTS: ClassVar[tuple[int, int]] = (0, 0)
    EXIT: ClassVar[str] = ""
    STORES: ClassVar[bool] = False
    TIMED: ClassVar[str] = ""
    ENTRY: ClassVar[bool] = False  # packets enter the graph here, though it may have an input
    DECLARES: ClassVar[bool] = False  # holds information only; no packets pass
    POSITIONS: ClassVar[tuple[str, ...]] = ()  # keywords of the first arguments, all of which are required
    IRRELEVANT: ClassVar[Mapping[str, str]] = {}
    FREE: ClassVar[bool] = False

    def __init__(self, name: str, arguments: Sequence[str], place: Place) -> None:
        self.name, self.arguments, self.place = name, list(arguments), place
        self.outputs = 1  # number of connected outputs; the graph sets it
        self.named_outputs = 0  # outputs that the arguments name; `configure` sets it, all must be connected
        self.names_all = False  # whether it has only named outputs
        self.said = Entry(self.kind, self.kind, f"{self.kind} {name!r}", place.file, place.line)
        plain = [text for text in arguments if not self._is_keyword(text)]
        for k, keyword in enumerate(self.POSITIONS):  # Click accepts an argument by position or by keyword
            if keyword in self.said.values:
                plain.insert(k, str(self.said.values.pop(keyword)))
        least, most = self.ARGUMENTS
        if not least <= len(plain) <= most:
            wanted = f"{least}" if least == most else f"at least {least}" if most == ANY else f"{least} to {most}"
            raise InputError(f"{place}: {self.kind} {name!r} must have {wanted} arguments, got {len(plain)}")
        try:
            self.configure(*plain)
        except (ValueError, InputError) as error:
            reason = str(error) if isinstance(error, InputError) else f"cannot read {', '.join(arguments)!r}"
            raise InputError(f"{place}: {self.kind} {name!r}: {reason.removeprefix(f'{self.said.place}: ')}") from None
        self.said.finish({self.kind: self.IRRELEVANT})

    def _is_keyword(self, text: str) -> bool:
        """Store an argument `KEYWORD VALUE` under its keyword; return whether the text is such an argument."""
        match = None if self.FREE or self.DECLARES or "*" in self.IRRELEVANT else KEYWORD.fullmatch(text)
        if match is None:
            return False
        if match[1] in self.said.values:
            raise self.said.refused(f"keyword {match[1]!r} stands twice")
        self.said.values[match[1]] = match[2]
        return True

    @property
    def kind(self) -> str:
        """The name of the class in a configuration."""
        return type(self).__name__

    def configure(self, *arguments: str) -> None:
        """Read the arguments; raises InputError or ValueError."""

    def processing(self, port: int, *, output: bool) -> str:
        """Return the processing of a port: h push, l pull, a agnostic."""
        codes = self.PROCESSING.partition("/")[2 if output else 0]
        return codes[min(port, len(codes) - 1)]

    def take(self, pack: Pack, port: int) -> Out:
        """Return (output, packet) pairs for a packet that entered by a port; none: the packet rests here."""
        return [(0, pack)]


def number(text: str) -> int:
    """Return a number of at least 0, decimal without leading zeros or 0x; raises InputError."""
    value = whole_number(text)
    if value is None:
        raise InputError(f"a number is needed, got {text!r} (0 and more, without leading zeros, or with 0x)")
    return value


def limited(what: str, text: str, most: int) -> int:
    """Return a number from 0 to `most`, the largest that a field holds; raises InputError."""
    value = whole_number(text)
    if value is None or value > most:
        raise InputError(f"{what} must be 0 to {most}, got {text!r}")
    return value


def truth(what: str, text: str) -> bool:
    """Return a truth value of Click: true or false, yes or no, 1 or 0; raises InputError."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise InputError(f"{what} must be true or false, got {text!r}")
    return words[text.lower()]


def address(text: str) -> int:
    """Return an IPv4 address as a number; raises InputError."""
    return address_number(named(text, "ip"))
