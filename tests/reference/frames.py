"""What two routers may do differently in the same frame, blotted out: identifications of errors, the time of day."""


def without_time(frame):
    """Return an Ethernet frame with those octets 0, and the checksums that cover them."""
    out = bytearray(frame)
    _blot(out, 14)
    return bytes(out)


def _blot(out, at):
    length = 4 * (out[at] & 15) if len(out) > at else 0
    if len(out) < at + 20 or length < 20 or len(out) < at + length:
        return
    stamped = _blot_stamps(out, at + 20, at + length)
    fragment = out[at + 6] & 31 or out[at + 7]
    error = out[at + 9] == 1 and not fragment and len(out) >= at + length + 8 and out[at + length] in (3, 5, 11, 12)
    if stamped:
        out[at + 10 : at + 12] = bytes(2)
    if error:
        out[at + 4 : at + 6] = out[at + 10 : at + 12] = bytes(2)
        inside = bytes(out)
        _blot(out, at + length + 8)
        if bytes(out) != inside:
            out[at + length + 2 : at + length + 4] = bytes(2)


def _blot_stamps(out, at, end):
    """Set the times of the first time stamp option to 0; say whether there was one."""
    while at < end and out[at] != 0:
        size = 1 if out[at] == 1 else out[at + 1] if at + 1 < end else 0
        if size < 1 or at + size > end:
            return False
        if out[at] == 68 and size >= 4:
            last = at + min(size + 1, out[at + 2]) - 5
            for place in range(last, at + 3, -4 if out[at + 3] & 15 == 0 else -8):
                out[place : place + 4] = bytes(4)
            return True
        at += size
    return False
