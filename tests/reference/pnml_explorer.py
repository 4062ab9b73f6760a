"""All markings of a place/transition net, straight from the XML of its file: written for tests alone, and slow."""

from xml.etree import ElementTree


def local(element):
    return element.tag.rpartition("}")[2]


def text_of(element, tag):
    """Return the text of a label in any of the ways that tools write one, '' without it."""
    for child in element:
        if local(child) == tag:
            inside = [part for part in child if local(part) in ("text", "value")]
            return ((inside[0].text if inside else child.get("value") or child.text) or "").strip()
    return element.get(tag, "")


def explored(text, most=5000):
    """Return (markings, arcs, dead markings) of a net, None above `most` markings."""
    root = ElementTree.fromstring(text)
    refs = {e.get("id"): e.get("ref") for e in root.iter() if local(e).startswith("reference")}
    places = [e for e in root.iter() if local(e) == "place" and e.get("id")]
    transitions = [e.get("id") for e in root.iter() if local(e) == "transition"]
    number = {e.get("id"): k for k, e in enumerate(places)}
    start = tuple(int((text_of(e, "initialMarking") or "0").removeprefix("Default,")) for e in places)
    take = {t: dict.fromkeys(range(len(places)), 0) for t in transitions}
    give = {t: dict.fromkeys(range(len(places)), 0) for t in transitions}
    stop = {t: {} for t in transitions}
    for arc in (e for e in root.iter() if local(e) == "arc"):
        ends = []
        for end in (arc.get("source"), arc.get("target")):
            while end in refs:
                end = refs[end]
            ends.append(end)
        written = text_of(arc, "inscription")
        weight = int(arc.get("weight") or (written.removeprefix("Default,") if "[" not in written else "") or "1")
        kind = text_of(arc, "type") or text_of(arc, "arctype") or "normal"
        if kind in ("inhibitor", "tapnInhibitor"):
            p, old = number[ends[0]], stop[ends[1]]
            old[p] = min(old.get(p, weight), weight)
        elif ends[0] in number:
            take[ends[1]][number[ends[0]]] += weight
        else:
            give[ends[0]][number[ends[1]]] += weight
    known, todo, arcs, dead = {start}, [start], 0, 0
    while todo:
        marking, moved = todo.pop(), False
        for t in transitions:
            free = all(marking[p] >= n for p, n in take[t].items())
            if not free or any(marking[p] >= n for p, n in stop[t].items()):
                continue
            moved, arcs = True, arcs + 1
            after = tuple(m - take[t][p] + give[t][p] for p, m in enumerate(marking))
            if after not in known:
                known.add(after)
                todo.append(after)
                if len(known) > most:
                    return None
        dead += not moved
    return len(known), arcs, dead
