"""`npexplore trace stats`: count and measure the packets of a capture in one pass (docs/captures.md).

Exit status 0 for a whole capture, also an empty one; 3 for a damaged one, whose good packets are counted all the same.
"""

from typing import Any

import click

from npexplore.cli.output import emit, facts, json_option, table, warn

DAMAGED = 3


@click.command("stats")
@click.argument("file")
@click.option(
    "--cell-bytes", default=64, show_default=True, type=click.IntRange(min=1), help="Cell of a packet buffer."
)
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Threads that decode headers."
)
@json_option
def command(file: str, cell_bytes: int, workers: int, as_json: bool) -> int:
    """Count and measure the packets of FILE: pcap, pcapng or ERF, plain, gzip or zstd; - is standard input."""
    import numpy as np

    from npexplore.packets.statistics import count_capture

    counts, scan = count_capture(file, workers=workers)
    document = counts.document(file, scan.format, scan.damage)
    document["narrow_accesses"] = {"cell_bytes": cell_bytes, "share": counts.narrow_share(cell_bytes)}

    def text() -> str:
        cdf = counts.lengths()
        shown: dict[str, Any] = dict(document)
        lists = {name: shown.pop(name) for name in ("length_histogram", "rate", "burstiness", "damage")}
        shown.pop("narrow_accesses")
        for end in ("first", "last", "min", "max"):
            if (ns := shown.pop(f"{end}_time_ns")) is not None:
                shown[f"{end} time (UTC)"] = str(np.datetime64(ns, "ns"))
        lists["burstiness"].pop("index_of_dispersion")
        if counts.packets:
            shown["length quartiles"] = [cdf.quantile(q) for q in (0.25, 0.5, 0.75)]
            shown["commonest lengths"] = ", ".join(f"{length} ({share:.1%})" for length, share in cdf.modes())
            shown[f"narrow accesses, {cell_bytes}-byte cells"] = f"{counts.narrow_share(cell_bytes):.1%}"
        lengths = [{"from": int(low), "packets": count} for low, count in lists["length_histogram"].items()]
        return "\n\n".join([facts({**shown, **lists["rate"], **lists["burstiness"]}), table(lengths)])

    emit(document, text, as_json=as_json)
    if scan.damage:
        warn(f"{file}: {scan.damage}; the {counts.packets:,} packets before it are counted")
        return DAMAGED
    return 0
