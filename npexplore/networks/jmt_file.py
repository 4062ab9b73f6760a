"""The elements of JMT's files (.jsimg, .jsim, .jmva); docs/networks.md has a table of all of them.

JMT's parameters are elements `parameter` and `subParameter` with a name; a Java class identifies the kind of strategy.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from npexplore.errors import UnknownNameError
from npexplore.paths import content
from npexplore.strict_input import Entry, ignore, read_xml

SCHEMA = "@{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation"
_LABEL = "a label, or the Java type of a value: the value is read by its place"
_DEADLINE = "read by the queue policies EDD and EDF alone, which are refused by name"
_RUN = "says how long JMT simulates and how it writes; `npexplore solve` has options of its own"

# element -> its parts that do not affect the answer, each with the reason
IRRELEVANT: dict[str, dict[str, str]] = {
    "archive": {
        SCHEMA: "names the schema",
        "@name": "the name of the file",
        "@timestamp": "when the file was written",
        "jmodel": "positions and colours of the drawing, and what-if runs set up in the window",
        "results": "what JMT measured; `--compare-stored` reads it",
        "solutions": "what JMT computed; `--compare-stored` reads it",
    },
    "sim": {
        SCHEMA: "names the schema",
        "@name": "the name of the model",
        "measure": "which measures JMT is to report; here all are reported",
        "preload": "where customers are when a run begins; means over a long time do not depend on it",
        **dict.fromkeys(
            (
                "@debug", "@seed", "@maxTime", "@maxSimulated", "@polling", "@maxSamples", "@maxEvents", "@logPath",
                "@logDelimiter", "@logReplaceMode", "@logExecutionTimestamp", "@logDecimalSeparator",
                "@disableStatisticStop",
            ),
            _RUN,
        ),
    },
    "userClass": {"@softDeadline": _DEADLINE, "@color": "colour of the drawing"},
    "node": {
        "classSoftDeadlines": _DEADLINE,
        "quantumSize": "read by the policy QBPS alone, which is refused by name",
        "quantumSwitchoverTime": "read by the policy QBPS alone, which is refused by name",
    },
    "section LogTunnel": {"*": "what the logger writes to a file; customers pass it in no time"},
    "parameter": {"@classPath": _LABEL, "@array": _LABEL, "@name": "the name that it is read by"},
    "subParameter": {"@classPath": _LABEL, "@array": _LABEL, "@name": _LABEL},
    "blockingRegion": {"@type": "a label", "classSoftDeadline": _DEADLINE},
    "model": {
        SCHEMA: "names the schema",
        "description": "prose",
        "@jaba": "which window of JMT opens the file",
        "solutions": "what JMT computed; `--compare-stored` reads it",
        "algParams": "which of JMT's algorithms is to solve the model, and how precisely",
    },
}  # fmt: skip


def read_file(path: Path, left_out: Iterable[str] = ()) -> Entry:
    """Return the outermost element of a file, without the parts that the user wants to ignore."""
    root = read_xml(path, _title)
    ignore(root, left_out)
    return root


def is_petri_net(path: Path) -> bool:
    """Return whether a file of JMT has transitions of a Petri net."""
    try:
        return path.suffix in (".jsimg", ".jsim") and b'className="Enabling"' in content(path)
    except OSError:
        return False


def _title(tag: str, attributes: Mapping[str, str]) -> tuple[str, str, bool]:
    name = attributes.get("className" if tag == "section" else "name")
    if name is None or tag in ("archive", "sim"):
        return tag, tag, False
    inside = tag in ("section", "parameter", "subParameter")
    return f"{tag} {name}" if inside else tag, f"{tag} {name!r}", not inside


def known(entry: Entry, what: str, name: str, names: Iterable[str]) -> str:
    """Return a name if it is one of `names`; raises InputError with the nearest of them otherwise."""
    if name not in names:
        raise entry.refused(str(UnknownNameError(what, name, names)))
    return name


def by_name(entries: Iterable[Entry], what: str) -> dict[str, Entry]:
    """Return elements by name; raises InputError for a duplicate name."""
    named: dict[str, Entry] = {}
    for entry in entries:
        if named.setdefault(entry.value("@name"), entry) is not entry:
            raise entry.refused(f"there are two {what} of this name")
    return named


def connections(sim: Entry, nodes: Iterable[str]) -> dict[str, list[str]]:
    """Return for each node the nodes to which its connections lead."""
    links: dict[str, list[str]] = {name: [] for name in nodes}
    for link in sim.every("connection"):
        source, target = (known(link, f"{end}: node", link.value(f"@{end}"), links) for end in ("source", "target"))
        links[source].append(target)
    return links


def kind_of(entry: Entry) -> str:
    """Return the Java class of a strategy, without its package."""
    return entry.value("@classPath", "").rpartition(".")[2]


def parameter(section: Entry, name: str) -> Entry | None:
    """Return a section's parameter of this name, None without one."""
    return section.optional(f"parameter {name}")


def plain(section: Entry, name: str, default: str) -> tuple[Entry, str]:
    """Return a section's parameter with a single value: its element (without one, the section) and its text."""
    entry = parameter(section, name)
    if entry is None:
        return section, default
    return entry, value_in(entry)


def value_in(entry: Entry) -> str:
    """Return the text of the single value inside an element."""
    return entry.one("value").content()


def by_class(section: Entry, name: str, classes: Iterable[str]) -> dict[str, Entry]:
    """Return the sub-parameters of a parameter by class; raises InputError for unknown and repeated classes."""
    entry = parameter(section, name)
    return {} if entry is None else dict(classed(entry, classes))


def classed(entry: Entry, classes: Iterable[str]) -> Iterator[tuple[str, Entry]]:
    """Yield (class, sub-parameter) of an element whose sub-parameters follow the names of their classes."""
    known_classes, read_classes, c = set(classes), set[str](), ""
    entry.of_kind("refClass")
    entry.of_kind("subParameter")
    for part in entry.children:
        if part.kind == "refClass":
            c = known(part, "class", part.content(), known_classes)
        elif part.kind == "subParameter":
            if not c:
                raise part.refused("a refClass must stand in front of it")
            if c in read_classes:
                raise part.refused(f"class {c!r} stands twice")
            read_classes.add(c)
            part.title, part.landmark = f"class {c!r}", True
            yield c, part
            c = ""
    if c:
        raise entry.refused(f"class {c!r} has no value behind it")


def limit_of(entry: Entry, text: str) -> float:
    """Return a limit, infinite for -1; raises InputError for 0 and other negative numbers, which JMT does not use."""
    limit = entry.number(text)
    if limit != -1 and not limit > 0:
        raise entry.refused(f"a limit must be -1 (none) or greater than 0, got {text!r}")
    return math.inf if limit < 0 else limit


def number_in(entry: Entry) -> float:
    """Return the number inside an element."""
    return entry.number(value_in(entry))


def whole_in(entry: Entry) -> int:
    """Return the whole number inside an element."""
    return entry.whole(value_in(entry))
