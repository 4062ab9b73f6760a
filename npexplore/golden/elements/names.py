"""Names of addresses in a configuration: `AddressInfo(home 10.0.0.1 10.0.0.0/8 00:50:ba:85:84:a9)`.

A name stands where an address, a prefix or a MAC is wanted; NAME:ip, NAME:ipnet, NAME:eth say which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Names = dict[str, dict[str, str]]
KINDS = {"ip": "ip", "ipaddr": "ip", "ipnet": "net", "ipprefix": "net", "eth": "mac", "ethaddr": "mac", "ether": "mac"}
_known: ContextVar[Names | None] = ContextVar("names", default=None)


def read_names(entries: Iterable[str]) -> Names:
    """Return what the entries `NAME ADDRESS...` name: ip, net and mac of each."""
    names: Names = {}
    for entry in entries:
        name, *values = entry.split() or [""]
        own = names.setdefault(name, {})
        for value in values:
            if value.count(":") + value.count("-") == 5:
                own["mac"] = value
            elif "/" in value:
                own.setdefault("net", value)
                own.setdefault("ip", value.partition("/")[0])
            else:
                own["ip"] = value
    return names


@contextmanager
def naming(names: Names) -> Iterator[None]:
    """Let `named` know these names while a graph is made."""
    token = _known.set(names)
    try:
        yield
    finally:
        _known.reset(token)


def named(text: str, kind: str) -> str:
    """Return what a text names as `ip`, `net` or `mac`; the text itself if it names nothing."""
    name, _, wanted = text.partition(":")
    known = (_known.get() or {}).get(name)
    if known is None or (wanted and KINDS.get(wanted) != kind):
        return text
    if kind == "net" and "net" not in known:
        return known.get("ip", text)
    return known.get(kind, text)
