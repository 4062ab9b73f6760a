"""Pre- and post-processor: a frame becomes a header and a body, the body waits, both meet again (Sec. 4.1).

    header = Ethernet, labels to the bottom, the IP header below them        body = what follows
    sent   = the header that the engine leaves + as much of the body as the packet still has

The engine's program sees the header and, as metadata, how long the body is. A frame whose headers cannot be told has no
body: all of it goes with the header. The frame that is sent is divided by the same rule, so that labels put on, taken
off or exchanged, and padding cut off by a total length, need no rule of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from npexplore.errors import InputError
from npexplore.golden.ethernet import ETHERNET
from npexplore.golden.mpls.stack import ENTRY, read_stack
from npexplore.machine.resources.base import count_of

TYPES4, TYPES6, MPLS = b"\x08\x00", b"\x86\xdd", b"\x88\x47"
SHORTEST4, SHORTEST6 = 20, 40


def header_end(frame: bytes) -> int:
    """Return the offset at which a frame's headers end; the frame's length if they cannot be parsed."""
    kind, at = frame[12:ETHERNET], ETHERNET
    if kind == MPLS:
        stack = read_stack(frame[ETHERNET:])
        if stack.reason:
            return len(frame)
        at += ENTRY * stack.depth
    elif kind not in (TYPES4, TYPES6):
        return len(frame)
    first = frame[at] if at < len(frame) else 0
    size = {4: max(SHORTEST4, 4 * (first & 15)), 6: SHORTEST6}.get(first >> 4, 0)
    return min(at + size, len(frame))


def split(frame: bytes) -> tuple[bytes, bytes]:
    """Return (header, body) of a frame."""
    end = header_end(frame)
    return frame[:end], frame[end:]


def stand_in(header: bytes, body_bytes: int) -> bytes:
    """Return what the engine's program works on: a header and so many bytes that it never looks at."""
    return header + bytes(body_bytes)


def recombine(sent: bytes, body: bytes) -> bytes:
    """Return the frame that leaves, from what the program made of a header with its stand-in."""
    if not body:
        return sent
    end = max(header_end(sent), len(sent) - len(body))
    return sent[:end] + body[: len(sent) - end]


@dataclass
class BodyBuffer:
    """Bodies at addresses: `words` of `word_bytes`, as chains of free words in any order.

    `store` gives the address that goes with the header as metadata, or None where there is no room (the pre-processor
    waits, or the packet is lost); `fetch` takes the body out and frees its words.
    """

    words: int
    word_bytes: int = 16
    _free: list[int] = field(init=False, repr=False)
    _at: dict[int, bytes] = field(default_factory=dict, repr=False)
    _next: dict[int, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        count_of("words of a body buffer", self.words)
        count_of("bytes of a word of a body buffer", self.word_bytes)
        self._free = list(range(self.words))

    @property
    def used(self) -> int:
        """Words that bodies have now."""
        return self.words - len(self._free)

    def store(self, body: bytes) -> int | None:
        """Return the address of a body that is kept now (-1 of an empty one), None without room for it."""
        needed = -(-len(body) // self.word_bytes)
        if needed > len(self._free):
            return None
        chain = [self._free.pop() for _ in range(needed)]
        for k, word in enumerate(chain):
            self._at[word] = body[k * self.word_bytes : (k + 1) * self.word_bytes]
            self._next[word] = chain[k + 1] if k + 1 < needed else -1
        return chain[0] if chain else -1

    def fetch(self, address: int) -> bytes:
        """Return the body at an address, and free its words; raises InputError where none begins."""
        parts = []
        while address >= 0:
            if address not in self._at:
                raise InputError(f"no body at address {address} of the body buffer")
            parts.append(self._at.pop(address))
            self._free.append(address)
            address = self._next.pop(address)
        return b"".join(parts)


@dataclass
class PostProcessor:
    """Headers come in any order and leave in that of arrival, each with its body; None stands for a packet that ends.

    A packet that was dropped, or left to the control processor, gives its turn and its body's room up.
    """

    bodies: BodyBuffer
    turn: int = 0
    _here: dict[int, tuple[bytes | None, int]] = field(default_factory=dict, repr=False)

    def finish(self, ticket: int, address: int, sent: bytes | None) -> list[bytes]:
        """Return the frames that may leave now that a header came back; ticket: its place in the order of arrival."""
        if ticket < self.turn or ticket in self._here:
            raise InputError(f"packet {ticket} came back twice")
        self._here[ticket] = sent, address
        out = []
        while self.turn in self._here:
            header, at = self._here.pop(self.turn)
            body = self.bodies.fetch(at)
            if header is not None:
                out.append(recombine(header, body))
            self.turn += 1
        return out
