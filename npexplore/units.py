"""Unit names as they stand in tables and on command lines, and their factors to SI base units.

Inside the package everything is a float in SI base units (seconds, bit/s, packets/s, bytes, ratio 1); this table is
used where numbers enter or leave: the ledger, TOML files, command-line rates.
"""

import re

from npexplore.errors import InputError, UnknownNameError

# unit -> (dimension, factor to the base unit of that dimension)
UNITS: dict[str, tuple[str, float]] = {
    "1": ("ratio", 1.0),
    "%": ("ratio", 0.01),
    "s": ("time", 1.0),
    "ms": ("time", 1e-3),
    "us": ("time", 1e-6),
    "ns": ("time", 1e-9),
    "ps": ("time", 1e-12),
    "bit/s": ("bit rate", 1.0),
    "kb/s": ("bit rate", 1e3),
    "Mb/s": ("bit rate", 1e6),
    "Gb/s": ("bit rate", 1e9),
    "packets/s": ("packet rate", 1.0),
    "pps": ("packet rate", 1.0),
    "kpps": ("packet rate", 1e3),
    "Mpps": ("packet rate", 1e6),
    "Hz": ("frequency", 1.0),
    "kHz": ("frequency", 1e3),
    "MHz": ("frequency", 1e6),
    "GHz": ("frequency", 1e9),
    "bytes": ("bytes", 1.0),
    "bit": ("bit", 1.0),
    "KB": ("bytes", 1024.0),
    "MB": ("bytes", 1024.0**2),
    "GB": ("bytes", 1024.0**3),
    "GB/s": ("bit rate", 8e9),
    "words": ("words", 1.0),
    "instructions": ("instructions", 1.0),
    "packets": ("packets", 1.0),
    "cycles": ("cycles", 1.0),
    "MIPS": ("instruction rate", 1e6),
    "Mops/s": ("operation rate", 1e6),
    "bit/cycle": ("bits per cycle", 1.0),
    "words/cycle": ("words per cycle", 1.0),
    "packets/cycle": ("packets per cycle", 1.0),
    "deg": ("angle", 1.0),
    "W": ("power", 1.0),
    "person-weeks": ("work", 1.0),
    "person-years": ("work", 52.0),
}

_QUANTITY = re.compile(r"\s*([-+]?\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?)\s*([A-Za-z%/1]*)\s*")


def factor(unit: str) -> float:
    """Return the factor from `unit` to the base unit of its dimension; raises UnknownNameError."""
    if unit not in UNITS:
        raise UnknownNameError("unit", unit, UNITS)
    return UNITS[unit][1]


def to_unit(value: float, unit: str) -> float:
    """Return an SI base value expressed in `unit`."""
    return value / factor(unit)


def parse_rate(text: str) -> tuple[float, str]:
    """Parse an offered rate such as `2.5Mpps` or `4Gb/s` into (value in base units, "packets/s" or "bit/s").

    Raises InputError if the text is no positive number with a packet or bit rate unit.
    """
    match = _QUANTITY.fullmatch(text)
    if not match or match[2] not in UNITS:
        raise InputError(f"rate must be a number with a unit such as 2.5Mpps or 4Gb/s, got {text!r}")
    dimension, scale = UNITS[match[2]]
    value = float(match[1]) * scale
    if dimension not in ("bit rate", "packet rate"):
        raise InputError(f"rate must be in packets or bits per second, got {text!r} ({dimension})")
    if not 0 < value < float("inf"):
        raise InputError(f"rate must be greater than 0, got {text!r}")
    return value, "bit/s" if dimension == "bit rate" else "packets/s"


def parse_time(subject: str, text: str) -> float:
    """Parse a time such as `2ms` into seconds; raises InputError naming the subject if it is no time above 0."""
    match = _QUANTITY.fullmatch(text)
    dimension, scale = UNITS.get(match[2], ("none", 0.0)) if match else ("none", 0.0)
    seconds = float(match[1]) * scale if match and dimension == "time" else 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"{subject} must be a time above 0 such as 2ms or 5us, got {text!r}")
    return seconds
