"""Tables of the golden router's pages that are made from the code: settings, and what profiles do apart.

Run as a program, it writes them anew: `python tests/reference/golden_tables.py`. A test compares.
"""

import re
import sys
from collections import Counter
from ipaddress import ip_address
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs"
PLACES = {"settings": "router_files.md", "differences": "golden_reference.md"}


def rows(head, lines):
    """Return a table of Markdown."""
    table = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in table)


def outcome(made):
    """Return what became of a packet, in few words."""
    frames = [sent for sent in made.sent if not sent.icmp]
    told = f"sent, {len(frames)} pieces" if len(frames) > 1 else "sent" if frames else f"`{made.reason.name}`"
    for sent in made.sent:
        if sent.icmp:
            body = 14 + 4 * (sent.frame[14] & 15)
            told += f" + ICMP {sent.frame[body]}/{sent.frame[body + 1]}"
    return told


def differences():
    """Return the named cases whose outcomes differ, by the clause that RFC 1812's side of it follows."""
    from reference.router_cases import named_cases

    from npexplore.golden.compare.difference import first_difference
    from npexplore.golden.router.forward import Forwarder

    router, cases = named_cases()
    routers = [Forwarder(router, profile=name, lookup="binary_trie") for name in ("rfc1812", "linux")]
    groups, alike = Counter(), 0
    for _, port, frame in cases:
        rfc, linux = (one.forward(port, frame) for one in routers)
        told = [outcome(rfc), outcome(linux)]
        found = first_difference(rfc.sent, [(sent.port, sent.frame) for sent in linux.sent])
        if told[0] == told[1] and found is None:
            alike += 1
            continue
        if rfc.reason != linux.reason or (told[0] != told[1] and rfc.reason):
            clause, field = (rfc.reason or linux.reason).clause, ""
        else:
            clause, field = found.clause, found.field if told[0] == told[1] else ""
        groups[clause, *told, field] += 1
    lines = [[clause.replace("RFC 1812 section ", ""), *rest, str(count)] for (clause, *rest), count in groups.items()]
    head = ["section of RFC 1812", "rfc1812", "linux", "first field that differs", "cases"]
    return f"Of {len(cases)} named cases {alike} have the same outcome, byte for byte.\n\n" + rows(head, sorted(lines))


def settings():
    """Return the kernel's settings with their defaults, and what each does to a packet."""
    from reference.setting_cases import BASE, SETTINGS, framed, with_setting

    from npexplore.golden.linux.settings import DEFAULTS
    from npexplore.golden.router.configuration import resolve_router
    from npexplore.golden.router.forward import Forwarder

    def told(record, packet):
        router = resolve_router(record)
        forwarder = Forwarder(router, lookup="binary_trie")
        made = forwarder.forward(0, framed(packet))
        sources = [ip_address(sent.frame[26:30]) for sent in made.sent if sent.icmp]
        several = forwarder.ipv4.lpm.lookup(int.from_bytes(packet[16:20], "big")) in forwarder.ipv4.groups
        by = f" by {router.ports[made.sent[0].port].name}" if several else ""
        return outcome(made) + by + "".join(f" from {source}" for source in sources)

    lines = [
        [f"`{key}`", text(getattr(DEFAULTS, key)), what, told(BASE, packet), text(value),
         told(with_setting(key, value), packet)]
        for key, value, what, packet in SETTINGS
    ]  # fmt: skip
    return rows(["setting", "default", "packet", "then", "other value", "then"], lines)


def text(value):
    """Return a value as TOML has it."""
    return str(value).lower()


TABLES = {"settings": settings, "differences": differences}


def renewed(text, page):
    """Return a page with its tables made anew."""
    for name in [name for name, place in PLACES.items() if place == page]:
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)"
        text, found = re.subn(pattern, lambda m, make=TABLES[name]: f"{m[1]}{make()}\n{m[2]}", text, flags=re.DOTALL)
        assert found == 1, name
    return text


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    for name in sorted(set(PLACES.values())):
        (PAGES / name).write_text(renewed((PAGES / name).read_text(), name))
