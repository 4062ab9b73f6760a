"""Resolves names of addresses in a configuration: `AddressInfo(home 10.0.0.1 10.0.0.0/8 00:50:ba:85:84:a9)`.

A name may replace an address, a prefix or a MAC; NAME:ip, NAME:ipnet, NAME:eth select one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Names = dict[str, dict[str, str]]
KINDS = {"ip": "ip", "ipaddr": "ip", "ipnet": "net", "ipprefix": "net", "eth": "mac", "ethaddr": "mac", "ether": "mac"}
_known: ContextVar[Names | None] = ContextVar("names", default=None)


def read_names(entries: Iterable[str]) -> Names:
    """Return the values of the entries `NAME ADDRESS...`: ip, net and mac by name."""
    names: Names = {}
    for entry in entries:
        name, *values = entry.split() or [""]
        values_by_kind = names.setdefault(name, {})
        for value in values:
            if value.count(":") + value.count("-") == 5:
                values_by_kind["mac"] = value
            elif "/" in value:
                values_by_kind.setdefault("net", value)
                values_by_kind.setdefault("ip", value.partition("/")[0])
            else:
                values_by_kind["ip"] = value
    return names


@contextmanager
def naming(names: Names) -> Iterator[None]:
    """Make these names known to `named` while a graph is built."""
    token = _known.set(names)
    try:
        yield
    finally:
        _known.reset(token)


def named(text: str, kind: str) -> str:
    """Return the `ip`, `net` or `mac` that a text names; the text itself if it is no name."""
    name, _, suffix = text.partition(":")
    values_by_kind = (_known.get() or {}).get(name)
    if values_by_kind is None or (suffix and KINDS.get(suffix) != kind):
        return text
    if kind == "net" and "net" not in values_by_kind:
        return values_by_kind.get("ip", text)
    return values_by_kind.get(kind, text)
