"""Makes pages and figures smaller: removes repeated cell styles, spans around plain code, and invisible digits."""

import base64
import re
from collections import Counter
from typing import Any

import numpy as np

CELL = re.compile(r'<(td|th|small|b)( colspan="\d+")? style="([^"]*)">')
PLAIN_SPAN = re.compile(r"<span>([^<]*)</span>")  # a number without a colour
PLAIN_CODE = re.compile(r'<span class="(?:n|p|w|o)">([^<]*)</span>')
OFTEN = 4  # a style that at least so many cells share becomes a class
DIGITS = 7  # significant digits of a number in a figure; a screen shows three or four
LARGEST = 1e6  # beyond it numbers may be times, whose last digits matter


def lean(body: str) -> tuple[str, str]:
    """Return a page's HTML with classes in place of styles that many cells repeat, and the CSS of these classes.

    Cells with the most frequent style of table cells get no class.
    """
    cell_styles = CELL.findall(body)
    counts = Counter(style for *_, style in cell_styles)
    names = {style: f"c{number}" for number, (style, count) in enumerate(counts.most_common()) if count >= OFTEN}
    usual = next((style for style, _ in Counter(s for tag, _, s in cell_styles if tag == "td").most_common(1)), None)

    def cell(match: re.Match[str]) -> str:
        tag = match[1] + (match[2] or "")
        if match[1] == "td" and match[3] == usual:
            return f"<{tag}>"
        name = names.get(match[3])
        return f"<{tag} class={name}>" if name else match[0]

    rules = {f".{name}.{name}.{name}": style for style, name in names.items()}  # tripled: precedes the page's own rules
    if usual is not None:
        rules[".table table:not(.dataframe) td:not([class]):not([style])"] = usual
    css = "\n".join(f"{selector} {{ {style} }}" for selector, style in rules.items())
    return PLAIN_CODE.sub(r"\1", PLAIN_SPAN.sub(r"\1", CELL.sub(cell, body))), css


def lean_trace(trace: Any) -> Any:
    """Return a part of a figure as JSON without digits that no screen shows and without empty hover data.

    Arrays of doubles become integers if all are whole, otherwise single precision; arrays with a small range far from
    zero (times) are unchanged.
    """
    if isinstance(trace, dict):
        if set(trace) >= {"dtype", "bdata"}:
            return _lean_array(trace)
        return {
            name: lean_trace(value) for name, value in trace.items()
            if not (name == "customdata" and isinstance(value, list) and not any(value))
        }  # fmt: skip
    if isinstance(trace, list):
        return [lean_trace(value) for value in trace]
    if isinstance(trace, float) and abs(trace) < LARGEST:
        short = float(f"{trace:.{DIGITS}g}")
        return int(short) if short.is_integer() else short
    return trace


def _lean_array(array: dict[str, Any]) -> dict[str, Any]:
    if array["dtype"] not in ("f8", "i8", "i4"):
        return array
    values = np.frombuffer(base64.b64decode(array["bdata"]), dtype=np.dtype(array["dtype"]).newbyteorder("<"))
    if not values.size or not np.isfinite(values).all():
        return array
    low, high = values.min(), values.max()
    if (values == np.rint(values)).all():
        kind = next((i for i in ("i1", "i2", "i4") if np.iinfo(i).min <= low and high <= np.iinfo(i).max), None)
    else:
        kind = "f4" if abs(values).max() < LARGEST and high - low >= 1e-3 * abs(values).max() else None
    if kind is None:
        return array
    data = base64.b64encode(values.astype(f"<{kind}").tobytes()).decode()
    return {**array, "dtype": kind, "bdata": data}
