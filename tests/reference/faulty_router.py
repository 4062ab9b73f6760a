"""A router with ten faults, each alone or all at once: over the golden one, so that nothing else is wrong with it."""

from npexplore.golden.checksum import header_checksum_is_right, internet_checksum
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.reasons import Reason
from npexplore.golden.router.forward import Forwarder

MF, DF = 0x20, 0x40
FAULTS = {  # name -> the rule that it breaks, the begin of what more tells its failures apart
    "forwards the last hop": "dropped: no time to live is left",
    "takes loopback sources": "dropped: the source is not the address of a single host",
    "takes wrong checksums": "dropped: the header checksum is wrong",
    "cuts what must not be cut": "dropped: longer than the link allows, and must not be fragmented",
    "clears precedence": "type of service of what passes",
    "forgets more fragments": "flags of what passes",
    "mistakes a route": "the port of the next hop",
    "records no route": "options of what passes",
    "tells host for net": "ICMP code of a message of the router",
    "quotes eight octets": "total length of a message of the router",
}


class FaultyRouter:
    """Forwards frames with some of the faults; `wrong` is a destination's first octet that goes by the wrong port."""

    def __init__(self, router, faults=tuple(FAULTS), wrong=21):
        self.golden, self.faults, self.wrong = Forwarder(router), faults, wrong

    def __call__(self, port, frame):
        """Return what is sent, (port, frame) each."""
        before, packet = frame, frame[14:]
        plain = len(packet) >= 20 and frame[12:15] == b"\x08\x00\x45"
        if plain and self._has("takes wrong checksums") and not header_checksum_is_right(packet):
            frame = frame[:14] + with_checksum(packet[:20]) + packet[20:]
        plain = plain and header_checksum_is_right(frame[14:])
        if plain and self._has("forwards the last hop") and frame[22] == 1:
            frame = patched(frame, 8, b"\2")
        if plain and self._has("takes loopback sources") and frame[26] == 127:
            frame = patched(frame, 12, self.golden.router.ports[port].network.to_bytes(4, "big")[:3] + b"\2")
        needed = plain and self.golden.forward(port, frame).reason is Reason.FRAGMENTATION_NEEDED
        if needed and self._has("cuts what must not be cut"):
            frame = patched(frame, 6, bytes([frame[20] & ~DF]))
        sent = self.golden.forward(port, frame).sent
        if frame[26:30] != before[26:30]:
            sent = [one for one in sent if not one.icmp]  # they would be about a source that nobody has
        passed = any(not one.icmp for one in sent)
        return [self._after(before if passed else frame, frame, one, len(sent)) for one in sent]

    def _has(self, name):
        return name in self.faults

    def _after(self, before, frame, one, pieces):
        out, data = one.port, one.frame
        if one.icmp:
            return self._message(out, data)
        if before[26:30] != frame[26:30]:
            data = patched(data, 12, before[26:30])
        if self._has("clears precedence") and data[15] & 0xE0:
            data = patched(data, 1, bytes([data[15] & 0x1F]))
        if self._has("forgets more fragments") and pieces > 1 and data[20] & MF:
            data = patched(data, 6, bytes([data[20] & ~MF]))
        if self._has("mistakes a route") and data[30] == self.wrong:
            out = (out + 1) % len(self.golden.router.ports)
        if self._has("records no route") and data[34:35] == b"\x07" and data[14] > 0x45:
            data = patched(data, 20, before[34:37])
        return out, data

    def _message(self, out, data):
        kind, code = data[34], data[35]
        if (kind, code) == (3, 0) and self._has("tells host for net"):
            return out, data[:34] + summed(b"\3\1" + data[36:])
        if kind == 11 and self._has("quotes eight octets"):
            body = data[34:70]
            header = data[14:16] + (20 + len(body)).to_bytes(2, "big") + data[18:34]
            return out, data[:14] + with_checksum(header) + summed(body)
        return out, data


def patched(frame, at, value):
    """Return a frame with octets of its IP header changed and the checksum put right."""
    packet = frame[14 : 14 + at] + value + frame[14 + at + len(value) :]
    length = 4 * (packet[0] & 15)
    return frame[:14] + with_checksum(packet[:length]) + packet[length:]


def summed(message):
    """Return an ICMP message with its checksum."""
    bare = message[:2] + bytes(2) + message[4:]
    return bare[:2] + internet_checksum(bare).to_bytes(2, "big") + bare[4:]
