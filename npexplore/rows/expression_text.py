"""Formats expressions and conditions for messages: `(packet_bytes + 4)`, `min(a, b)`, `packet_bytes > 64`."""

from typing import Any

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "//", "mod": "%", "right": ">>",
         "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "ge": ">=", "gt": ">"}  # fmt: skip
OPPOSITE = {"lt": "ge", "le": "gt", "eq": "ne", "ne": "eq", "ge": "lt", "gt": "le"}
ALIKE = {"add": "adding", "sub": "subtracting", "mod": "a remainder of", "min": "comparing", "max": "comparing"}


def text_of(value: Any) -> str:
    """Return an expression or a condition (rows/expressions.py) as text."""
    if hasattr(value, "left"):
        left, right = text_of(value.left), text_of(value.right)
        if value.name not in SIGNS:
            return f"{value.name}({left}, {right})"
        text = f"{left} {SIGNS[value.name]} {right}"
        return text if value.name in OPPOSITE else f"({text})"
    if hasattr(value, "value"):
        return f"{value.value:g}"
    return str(value.name if hasattr(value, "name") else f"home of {value.server}")
