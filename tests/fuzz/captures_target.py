"""Fuzz the reader of pcap, pcapng and ERF: it equals the plain reference on any bytes; guided by coverage if it can be.

    python captures_target.py SECONDS FOLDER    the folder holds the corpus, and is given new finds

See driver.py.
"""

import io
from contextlib import suppress

import driver

with driver.instrumented("npexplore.packets", "npexplore._kernels"):
    from npexplore.errors import InputError
    from npexplore.packets import read_capture
from reference import capture_reader as reference

LARGEST = 2000
COLUMNS = (
    "t_ns",
    "length",
    "captured",
    "flags",
    "l3_offset",
    "l4_offset",
    "l3_length",
    "sport",
    "ttl",
    "vlans",
    "labels",
)


def check(data):
    """Raise AssertionError if reader and reference differ on these bytes; compressed ones only must not crash it."""
    if data[:2] == b"\x1f\x8b" or data[1:4] in (b"\xb5\x2f\xfd", b"\x2a\x4d\x18"):
        with suppress(InputError):
            read_capture(io.BytesIO(data))
        return
    try:
        expected, damage = reference.read(data)
    except reference.UnreadableError:
        try:
            read_capture(io.BytesIO(data))
        except InputError:
            return
        raise AssertionError("an unreadable file was read") from None
    capture = read_capture(io.BytesIO(data))
    assert (capture.damage.offset if capture.damage else None) == damage
    for name in COLUMNS:
        assert capture.columns[name].tolist() == [row[name] for row in expected], name


if __name__ == "__main__":
    driver.main(check, LARGEST)
