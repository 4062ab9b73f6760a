"""Pages made from the registries of the code: stages and reasons, kinds of resources, irrelevant parts of files."""

from collections.abc import Iterable, Mapping, Sequence

from npexplore.golden.elements import ELEMENTS
from npexplore.golden.ipv4.icmp import error_for
from npexplore.golden.ipv6.icmp import error_for as error_for6
from npexplore.golden.mpls.stages import LABELLED
from npexplore.golden.reasons import Reason
from npexplore.golden.router.profiles import PROFILES
from npexplore.golden.router.resolution import RESOLVING
from npexplore.golden.router.vlans import TAGGED
from npexplore.machine.described.kinds import table
from npexplore.machine.petri import pnml
from npexplore.networks import jmt_file
from npexplore.packets import pcapng


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    cells = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def stages() -> str:
    """Return the stages of each profile in order, then those of IPv6 and of labelled frames."""
    tables = {f"Profile `{name}`": profile.ipv4 for name, profile in PROFILES.items()}
    tables |= {f"Profile `{name}`, IPv6": profile.ipv6 for name, profile in PROFILES.items()}
    tables["Labelled frames, all profiles"] = LABELLED
    tables["Tagged frames, all profiles; what is below goes on as its own kind"] = TAGGED
    tables["Where neighbours are asked for, all profiles: messages of ARP, and how others may end"] = RESOLVING
    parts = []
    for title, rules in tables.items():
        lines = [
            [
                f"{number}. {stage.name}", stage.clause,
                ", ".join(f"`{reason.name}`" for reason in stage.exits) or "none",
            ]
            for number, stage in enumerate(rules.stages, 1)
        ]  # fmt: skip
        parts.append(f"{title}:\n\n" + markdown(["stage", "clause", "packets may leave for"], lines))
    return "\n\n".join(parts)


def reasons() -> str:
    """Return the reasons with their clauses and the errors that tell of them."""
    lines = []
    for reason in Reason:
        if reason:
            error = error_for(reason) or error_for6(reason)
            icmp = f"{error.type}/{error.code}" if error else ""
            lines.append([str(int(reason)), f"`{reason.name}`", reason.text, reason.clause, icmp])
    return markdown(["code", "reason", "what it means", "clause", "ICMP"], lines)


def irrelevant() -> str:
    """Return the parts of input files that change no answer, by format, with the reasons that the readers state."""
    formats: dict[str, Mapping[str, Mapping[str, str]]] = {
        "JMT (`.jsimg`, `.jsim`, `.jmva`)": jmt_file.IRRELEVANT,
        "PNML (`*`: any element, everything)": pnml.IRRELEVANT,
        "pcapng (`*`: every other option)": pcapng.IRRELEVANT,
        "Click (`*`: every argument)": {name: kind.IRRELEVANT for name, kind in sorted(ELEMENTS.items())},
    }
    parts = []
    for title, places in formats.items():
        rows: dict[tuple[str, str], list[str]] = {}
        for place, named in places.items():
            for part, reason in named.items():
                rows.setdefault((place, reason), []).append(f"`{part.rpartition('}')[2]}`")
        lines = [[f"`{place}`", ", ".join(names), reason] for (place, reason), names in rows.items()]
        parts.append(f"## {title}\n\n" + markdown(["in", "part", "why it changes no answer"], lines))
    return "\n\n".join(parts)


def registry_pages() -> dict[str, str]:
    """Return the pages of stages and reasons, of kinds, and of irrelevant parts of input files."""
    return {
        "registries/golden.md": f"# Stages and reasons\n\n## Stages\n\n{stages()}\n\n## Reasons\n\n{reasons()}\n",
        "registries/kinds.md": f"# What kinds are made from\n\n{table()}\n",
        "registries/inputs.md": f"# Irrelevant parts of input files\n\n{irrelevant()}\n",
    }


if __name__ == "__main__":
    print(irrelevant())
