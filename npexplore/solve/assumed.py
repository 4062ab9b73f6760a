"""The `approximation` of a queueing answer: the assumptions of the model about a machine, in words."""

from collections.abc import Sequence

from npexplore.machine.under_load import UnderLoad
from npexplore.solve.levels import Levels


def left_out(d: UnderLoad) -> list[str]:
    """Return the servers at which packets may wait in the machine, but never wait in the queueing model."""
    visited = {*(server.name for server in d.machine.ingress.servers()), *d.demands.servers}
    hidden = [s.name for s in d.servers.values() if s.role == "hidden" and s.name not in visited]
    return hidden + sorted({*d.demands.untied, *(name for demands in d.by_pool.values() for name in demands.untied)})


def approximation(d: UnderLoad, levels: Sequence[Levels]) -> str:
    """Return the assumptions about a machine under load, from the networks of its pools."""
    if any(pool.scheduled for pool in levels):
        return "deterministic event graph"
    if levels[0].method:
        return levels[0].method

    def all_of(field: str) -> list[str]:
        return list(dict.fromkeys(name for pool in levels for name in getattr(pool, field)))

    polled = [name for name in all_of("handed_over") if d.servers[name].polled]
    homes = list(dict.fromkeys(str(pool.home) for pool in levels if pool.at_home))
    aside = list(dict.fromkeys(name for pool in levels for name in pool.batch.aside))
    parts = [
        (len(levels) > 1, "pools one after the other at one rate, slowed by each other's work"),
        (all_of("groups"), "flow-equivalent station for {}"),
        (all_of("divided"), "visits of {} under different holds as open load of each other"),
        (polled, "those who wait for {} as a loop of looks"),
        (all_of("mixed"), "units of {} as their mean"),
        (homes, "threads at their own {}"),
        (all_of("handed_over"), "load-dependent station for {}"),
        (all_of("recovering"), "members of {} that recover as customers"),
        (any(pool.overlaps for pool in levels), "time that overlaps as a surrogate delay"),
        (aside, "open load of forked work at {}"),
        (left_out(d), "no waiting for {}"),
    ]
    text = "residual-time MVA" if any(pool.residual for pool in levels) else "product form (exponential service)"
    text += "".join(
        f", {words.format(', '.join(names)) if isinstance(names, list) else words}" for names, words in parts if names
    )
    pairs = {(s.approximation, s.name.partition(".")[0]) for s in d.servers.values() if s.name in d.demands.servers}
    text += "".join(f", {words} ({resource})" for words, resource in sorted(pair for pair in pairs if pair[0]))
    if d.workload.arrivals != "saturated":
        load_dependent = "the whole machine" if len(levels) == 1 else "each pool"
        text += f"; birth-death chain with {load_dependent} as one load-dependent server"
    return text
