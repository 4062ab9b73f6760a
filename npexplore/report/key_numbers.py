"""A notebook's key numbers, shown where they are computed and on the notebook's card of the index page."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from npexplore.errors import InputError

MIME = "application/vnd.npexplore.headline+json"
TONES = ("plain", "good", "bad")


@dataclass(frozen=True)
class Headline:
    """One key number: its label, its value as shown with its unit, and its tone (plain, good or bad)."""

    label: str
    value: str
    tone: str = "plain"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the forms that Jupyter chooses from; the index page reads the record."""
        html = (
            f'<div class="headline {self.tone}"><b style="font-size:1.5em">{escape(self.value)}</b><br>'
            f"<span>{escape(self.label)}</span></div>"
        )
        return {MIME: asdict(self), "text/html": html, "text/plain": f"{self.label}: {self.value}"}


def headline(label: str, value: object, unit: str = "", *, tone: str = "plain") -> Headline:
    """Return a key number, to be the last expression of a cell; a float is shown with three significant digits.

    Args:
        label: name of the number.
        value: the number, or text.
        unit: its unit.
        tone: "plain", "good" or "bad".

    Raises:
        InputError: any other tone.
    """
    if tone not in TONES:
        raise InputError(f"tone of headline {label!r} must be one of {', '.join(TONES)}, got {tone!r}")
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if isinstance(value, float) else str(value)
    return Headline(label, f"{text} {unit}".strip(), tone)
