"""Names of units in tables, TOML files and command lines, and their factors to SI base units.

Inside the package, every number is a float in SI base units (seconds, bit/s, packets/s, bytes, ratio 1). This table is
used where numbers enter or leave: the ledger, TOML files, rates on the command line. A number in a TOML file has its
unit in its name (`word_s`, `clock_hz`) or is a text with a unit ("0.625 ns"); only `quantity` reads such texts.
"""

import math
import re
import warnings
from functools import cache

from npexplore.errors import InputError, UnknownNameError, positive

FOREVER_NS = 1 << 62  # 146 years, longer than any capture

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
    "Tb/s": ("bit rate", 1e12),
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
    "bytes/s": ("bit rate", 8.0),
    "MB/s": ("bit rate", 8e6),
    "GB/s": ("bit rate", 8e9),
    "words": ("words", 1.0),
    "instructions": ("instructions", 1.0),
    "packets": ("packets", 1.0),
    "cycles": ("cycles", 1.0),
    "MIPS": ("instruction rate", 1e6),
    "Mops/s": ("operation rate", 1e6),
    "transactions/s": ("transaction rate", 1.0),
    "GT/s": ("transfer rate", 1e9),
    "bit/cycle": ("bits per cycle", 1.0),
    "words/cycle": ("words per cycle", 1.0),
    "packets/cycle": ("packets per cycle", 1.0),
    "deg": ("angle", 1.0),
    "W": ("power", 1.0),
    "person-weeks": ("work", 1.0),
    "person-years": ("work", 52.0),
}

# other spellings of units that users may write; tables use one name for each unit
SPOKEN = {f"{prefix}bps": f"{prefix}b/s" for prefix in "kMGT"} | {f"{prefix}bit/s": f"{prefix}b/s" for prefix in "kMGT"}
SPOKEN |= {"bps": "bit/s", "b/s": "bit/s", "B/s": "bytes/s", "B": "bytes", "byte": "bytes", "cycle": "cycles"}
SPOKEN |= {"\u00b5s": "us", "\u03bcs": "us", "KiB": "KB", "MiB": "MB", "GiB": "GB"}

# ending of a key's name -> unit
ENDINGS = {
    "bytes_per_s": "bytes/s", "s": "s", "seconds": "s", "ms": "ms", "us": "us", "ns": "ns", "ps": "ps",
    "hz": "Hz", "khz": "kHz", "mhz": "MHz", "ghz": "GHz",
    "pps": "packets/s", "kpps": "kpps", "mpps": "Mpps", "mbps": "Mb/s", "gbps": "Gb/s",
    "bytes": "bytes", "cycles": "cycles", "words": "words",
}  # fmt: skip

# by unit: lowest, highest and usual value in packet machines; a number outside was probably meant in another unit
CREDIBLE = {"s": (1e-14, 1.0, 1e-8), "Hz": (1e5, 1e12, 1e9), "bytes/s": (1e3, 1e15, 1e10)}

_QUANTITY = re.compile(r"\s*([-+]?[0-9][0-9_]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z%/1\u00b5\u03bc-]*)\s*")
QUANTITY = "^\\s*[-+]?[0-9][0-9._eE+-]*\\s*[A-Za-z%/\u00b5\u03bc]+$"  # pattern of a number with a unit in a JSON Schema


class UnitWarning(UserWarning):
    """An implausible number, such as a clock of 600 Hz, or a number that a simulation's time step must round."""


def factor(unit: str) -> float:
    """Return the factor from `unit` to the base unit of its dimension; raises UnknownNameError."""
    if unit not in UNITS:
        raise UnknownNameError("unit", unit, UNITS)
    return UNITS[unit][1]


def to_unit(value: float, unit: str) -> float:
    """Return an SI base value expressed in `unit`."""
    return value / factor(unit)


# base unit -> units in which values are shown, largest first
SHOWN = {
    "s": ("s", "ms", "us", "ns", "ps"),
    "packets/s": ("Mpps", "kpps", "packets/s"),
    "bit/s": ("Gb/s", "Mb/s", "kb/s", "bit/s"),
    "Hz": ("GHz", "MHz", "kHz", "Hz"),
    "bytes": ("GB", "MB", "KB", "bytes"),
}
DIGITS = 4  # significant digits of a shown value


def readable(value: float | None, unit: str, half_width: float | None = None, digits: int = DIGITS) -> str:
    """Return a value in an SI base unit as text in a unit of suitable size: 4.45e-7 s is `445 ns`; None is a dash.

    half_width: of its interval, shown after the value in the same unit.
    """
    if value is None or value != value:
        return "-"
    sizes = [(name, UNITS[name][1]) for name in SHOWN.get(unit, (unit,))]
    if abs(value) == float("inf"):
        return f"{value} {unit}"
    name, scale = next((size for size in sizes if abs(value) >= size[1] * (1 - 1e-9)), sizes[-1] if value else sizes[0])
    plus = "" if not half_width else f" \u00b1 {_rounded(half_width / scale, 2)}"
    return f"{_rounded(value / scale, digits)}{plus} {name}"


def _rounded(number: float, digits: int) -> str:
    """Return a number with at least `digits` significant digits and with thousands separators."""
    text = f"{number:,.0f}" if abs(number) >= 10 ** (digits - 1) else f"{number:.{digits}g}"
    return text.replace("e-0", "e-")


def split(text: str) -> tuple[float, str] | None:
    """Return the number and the known unit of a text such as `0.625 ns`; None for anything else."""
    match = _QUANTITY.fullmatch(text)
    unit = SPOKEN.get(match[2], match[2]) if match else ""
    return (float(match[1]), unit) if match and unit in UNITS else None


def quantity(subject: str, text: str, unit: str) -> float:
    """Return a text such as `0.625 ns`, `5Gbps` or `200 MHz` as a number in `unit`.

    Raises InputError, naming the subject, for a text without a known unit and for a unit of another dimension.
    """
    parsed, unit = split(text), SPOKEN.get(unit, unit)
    if unit not in UNITS or parsed is None:
        same_dimension = [name for name, (dimension, _) in UNITS.items() if dimension == UNITS.get(unit, ("",))[0]]
        hint = f" ({UNITS[unit][0]}: {', '.join(same_dimension)})" if same_dimension else ""
        raise InputError(f"{subject} must be a number{f' in {unit}' if unit else ''}, got {text!r}{hint}")
    if UNITS[parsed[1]][0] != UNITS[unit][0]:
        allowed = f"in {unit} or another unit of {UNITS[unit][0]}"
        raise InputError(f"{subject} must be {allowed}, got {text!r} ({UNITS[parsed[1]][0]})")
    return converted(*parsed, unit)


def converted(number: float, from_unit: str, unit: str) -> float:
    """Return a number in another unit of the same dimension."""
    if from_unit == unit:
        return number
    ratio = UNITS[from_unit][1] / UNITS[unit][1]
    power = math.log10(ratio)
    if abs(power - round(power)) < 1e-9:  # apply a power of ten exactly: 312.5 ps is 0.3125 ns to the last digit
        return number * 10.0 ** round(power) if power > 0 else number / 10.0 ** -round(power)
    return number * ratio


@cache
def unit_of(name: str) -> str | None:
    """Return the unit at the end of a key's name (`latency_s`: s); None if there is none."""
    return next((unit for ending, unit in ENDINGS.items() if name == ending or name.endswith(f"_{ending}")), None)


def in_unit(subject: str, value: object, unit: str | None) -> object:
    """Return a value of a TOML file; a text with a unit becomes a number in `unit`, other values are unchanged."""
    if not isinstance(value, str) or unit is None or not _QUANTITY.fullmatch(value):
        return value
    return quantity(subject, value, unit)


def doubt(subject: str, value: float, unit: str, credible: tuple[float, float, float] | None = None) -> None:
    """Warn if a number above 0 is outside its plausible range, and name the unit in which it would be plausible.

    credible: lowest, highest and usual value in `unit` (None: those for any number in this unit).
    """
    span = credible or CREDIBLE.get(unit)
    if span is None or not 0 < value < float("inf") or span[0] <= value <= span[1]:
        return
    (low, high, usual), (dimension, scale) = span, UNITS[unit]
    plausible = {name: value * size / scale for name, (kind, size) in UNITS.items() if kind == dimension}
    plausible = {name: number for name, number in plausible.items() if low <= number <= high}
    likely = min(plausible, key=lambda name: abs(math.log(plausible[name] / usual)), default=None)
    meant = f"; is it '{value:g} {likely}'?" if likely else ""
    warnings.warn(f"{subject} is {value:g} {unit}, outside {low:g}..{high:g} {unit}{meant}", UnitWarning, stacklevel=2)


def parse_rate(text: str) -> tuple[float, str]:
    """Parse an offered rate such as `2.5Mpps` or `4Gb/s` into (value in base units, "packets/s" or "bit/s").

    Raises InputError unless the text is a positive number with a packet or bit rate unit.
    """
    parsed = split(text)
    if parsed is None:
        raise InputError(f"rate must be a number with a unit such as 2.5Mpps or 4Gb/s, got {text!r}")
    dimension, scale = UNITS[parsed[1]]
    value = parsed[0] * scale
    if dimension not in ("bit rate", "packet rate"):
        raise InputError(f"rate must be in packets or bits per second, got {text!r} ({dimension})")
    if not 0 < value < float("inf"):
        raise InputError(f"rate must be greater than 0, got {text!r}")
    return value, "bit/s" if dimension == "bit rate" else "packets/s"


def parse_time(subject: str, text: str) -> float:
    """Parse a time such as `2ms` into seconds; raises InputError naming the subject unless it is a time above 0."""
    parsed = split(text)
    seconds = quantity(subject, text, "s") if parsed and UNITS[parsed[1]][0] == "time" else 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"{subject} must be a time above 0 such as 2ms or 5us, got {text!r}")
    return seconds


def whole_nanoseconds(subject: str, seconds: float) -> int:
    """Return a duration in nanoseconds, rounded, at most FOREVER_NS; raises InputError unless it is above 0."""
    ns = positive(subject, seconds) * 1e9
    return FOREVER_NS if ns >= FOREVER_NS else round(ns)
