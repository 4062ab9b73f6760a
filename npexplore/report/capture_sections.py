"""The sections of a capture's page: each a sentence, a figure, and a table.

If a capture lacks the data of a section, the section's function raises InputError, and the page shows the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from npexplore._kernels.capture_records import NO_TIME
from npexplore.errors import InputError
from npexplore.packets.statistics import elephants, tables
from npexplore.packets.statistics.endpoints import FIRST_IPV6
from npexplore.plot import captures as figures
from npexplore.plot.tables import number, table
from npexplore.report.capture_machines import machines
from npexplore.report.capture_subject import Subject
from npexplore.report.sections import Content
from npexplore.report.shell import draw, listing, si


def summary(subject: Subject) -> Content:
    """Return key numbers and the fields of `trace stats`."""
    document, counts = subject.document, subject.counts
    rate, burst = document["rate"], document["burstiness"]
    facts = [("packets", f"{document['packets']:,}"), ("bytes on the link", si(document["bytes"], "B"))]
    if rate["duration_s"] is not None:
        facts.append(("duration", si(rate["duration_s"], "s")))
    if rate["packets_per_s"] is not None:
        facts += [
            ("mean packet rate", si(rate["packets_per_s"], "pps")),
            ("mean bit rate", si(rate["bits_per_s"], "b/s")),
        ]
    if counts.packets:
        facts += [("mean length", f"{document['mean_length']:.1f} B"), ("IP flows", subject.streams.flows.count_text)]
    if burst["hurst"]:
        low, high = burst["hurst"]["low"], burst["hurst"]["high"]
        facts.append((f"Hurst parameter (95 %: {low:.2f} to {high:.2f})", f"{burst['hurst']['value']:.2f}"))
    if narrow := counts.narrow_share():
        facts.append(("of 64-byte accesses narrow", f"{narrow:.0%}"))
    names = {
        "vlan": "with VLAN tags", "mpls": "with MPLS labels", "fragments": "fragments",
        "with_options": "with IPv4 options",
        "ttl_le_1": "time to live 1 or less", "df": "not to be fragmented", "checksum_bad": "bad IPv4 checksums",
        "checksum_unverified": "IPv4 checksums cut off",
    }  # fmt: skip
    lines: dict[str, str] = {
        "file": Path(document["file"]).name or document["file"],  # pages are shared with others: leave out the folder
        "format": document["format"],
        "link types": ", ".join(f"{name} ({count:,})" for name, count in document["link_types"].items()) or "none",
        "captured": f"{document['captured_bytes']:,} of {document['bytes']:,} bytes",
    }
    for end, name in (("min", "earliest"), ("max", "latest")):
        ns = document[f"{end}_time_ns"]
        lines[f"{name} packet (UTC)"] = (
            "no time stamp" if ns is None else str(np.datetime64(ns, "ns")).replace("T", " ")
        )
    if rate["peak_packets_per_s"] is not None:
        peaks = (si(rate["peak_packets_per_s"], "pps"), si(rate["peak_bits_per_s"], "b/s"))
        lines["peak rates"] = f"{peaks[0]}, {peaks[1]} (bins of {si(rate['bin_s'], 's')})"
    lines |= {label: f"{document[name]:,}" for name, label in names.items() if document[name]}
    if burst["backwards_steps"]:
        lines["time stamps that step back"] = f"{burst['backwards_steps']:,}"
    return Content(headlines=tuple(facts), parts=(listing(lines),))


def lengths(subject: Subject) -> Content:
    """Return the CDF of lengths and the most frequent lengths."""
    link, ip = subject.counts.lengths(), subject.streams.ip_lengths.cdf()
    shares = tables.length_shares(link, ip)
    has_ip = len(ip.packets) > 0
    modes_text = ", ".join(f"{length} ({share:.1%})" for length, share in (ip if has_ip else link).modes(6))
    kind = "IP packet" if has_ip else "frame"
    dots = " Dotted: the lengths that dominate classic wide-area traces." if has_ip else ""
    return Content(f"Commonest {kind} lengths in bytes: {modes_text}.{dots}", parts=(draw(figures.lengths(shares)),))


def rate(subject: Subject) -> Content:
    """Return packets and bits over time."""
    return Content(parts=(draw(figures.rates(tables.rate_table(subject.counts))),))


def gaps(subject: Subject) -> Content:
    """Return the interarrival distribution."""
    tables.need_times(subject.counts)
    shares = tables.gap_shares(subject.streams.gaps)
    burst = subject.document["burstiness"]
    about = (
        f"Mean {si(burst['interarrival_mean_s'], 's')}, coefficient of variation "
        f"{number(burst['interarrival_cov'], 3)} (a Poisson process has 1)."
    )
    if zero := float(shares.loc[shares["gap_s"] == 0, "share"].max() if (shares["gap_s"] == 0).any() else 0.0):
        about += f" {zero:.1%} of the packets carry the same time stamp as the one before."
    return Content(about, parts=(draw(figures.gaps(shares)),))


def burstiness(subject: Subject) -> Content:
    """Return the variance-time plot, the index of dispersion and the Hurst estimate."""
    variance, hurst = tables.variances(subject.counts)
    if hurst is None:
        about = "Too few packets for an estimate of the Hurst parameter (some thousand are needed)."
    else:
        about = (
            f"Hurst parameter {hurst.hurst:.3f}, 95 % interval {hurst.low:.3f} to {hurst.high:.3f}, by wavelets over "
            f"octaves {hurst.first_octave} to {hurst.last_octave} of bins that hold ten packets on average. 0.5 means "
            "that bursts even out over long times as those of a Poisson process do; towards 1 they do not. The "
            "interval assumes Gaussian counts."
        )
        if hurst.hurst > 1:
            about += " Above 1 the rate drifts over these times, and no stationary process describes it."
    return Content(about, parts=(draw(figures.bursts(variance, tables.dispersions(subject.counts))),))


def flows(subject: Subject) -> Content:
    """Return flow sizes and durations, the share of elephant flows, and the largest flows."""
    import pandas as pd

    counter = subject.streams.flows
    if not counter.packets:
        raise InputError(f"none of the {subject.counts.packets:,} packets has a whole IP header")
    by_flow, names, sample = counter.flows(), counter.endpoints(), counter.sample()
    timed = bool((by_flow["first_ns"] != NO_TIME).all())
    sizes = {
        "packets": tables.ccdf(sample["packets"].to_numpy()),
        "bytes": tables.ccdf(sample["bytes"].to_numpy()),
    }
    if timed and (sample["duration_s"] > 0).any():
        sizes["duration"] = tables.ccdf(sample["duration_s"].to_numpy())
    ipv6_flows = int((sample["src"] >= FIRST_IPV6).sum()) * counter.sampled
    ipv6_text = f", {ipv6_flows:,} of them IPv6" if ipv6_flows else ""
    elephant_flows = elephants(by_flow)
    count = int(elephant_flows["weight"].sum()) if "weight" in elephant_flows else len(elephant_flows)
    largest = "The largest one carries" if count == 1 else f"The {count:,} largest carry"
    about = (
        f"{counter.count_text} directed flows (5-tuples){ipv6_text}. {largest} 80 % of the bytes; "
        f"{(sample['packets'] == 1).mean():.1%} of the flows have a single packet."
    )
    top = by_flow.nlargest(10, "bytes", keep="first")
    total = (by_flow["bytes"] * by_flow["weight"]).sum() if "weight" in by_flow else by_flow["bytes"].sum()
    largest_flows = pd.DataFrame(
        {
            "from": _sockets(names.text(top["src"]), top["sport"]),
            "to": _sockets(names.text(top["dst"]), top["dport"]),
            "protocol": [tables.protocol_names().get(number, str(number)) for number in top["ip_proto"]],
            "packets": top["packets"].to_numpy(),
            "bytes": top["bytes"].to_numpy(),
            "share of bytes": [f"{share:.1%}" for share in top["bytes"] / total],
        }
    )
    if timed:
        largest_flows["duration"] = [si(seconds, "s") for seconds in top["duration_s"]]
    drawn = draw(figures.flows(sizes, tables.lorenz_curve(by_flow)))
    return Content(about, parts=(drawn, table(largest_flows, left=("from", "to", "protocol"))._repr_html_()))


def locality(subject: Subject) -> Content:
    """Return the hit ratio of LRU caches."""
    ratios = tables.hit_ratio_table(subject.packets)
    best = ratios[ratios["key"] == "addresses"]
    about = (
        f"{subject.of_the_first}Different destinations: {int(best['entries'].max()):,}. A route cache that holds them "
        f"all would hit {best['hit_ratio'].max():.2%} of the look-ups; the rest are first uses."
    )
    return Content(about, parts=(draw(figures.hit_ratios(ratios)),) if len(best) > 1 else ())


def trains(subject: Subject) -> Content:
    """Return the distribution of lengths of packet trains."""
    by_length = tables.train_shares(subject.packets)
    means_text = "; ".join(
        f"{figures.seconds(float(gap))}: {number(float(part['mean'].iloc[0]), 3)}"
        for gap, part in by_length.groupby("gap_s")
    )
    about = (
        f"{subject.of_the_first}A train is a run of packets between two hosts, either way, with no gap above a limit. "
        f"Mean packets of a train by that limit: {means_text}."
    )
    return Content(about, parts=(draw(figures.trains(by_length)),))


def talkers(subject: Subject) -> Content:
    """Return the addresses that send and receive most."""
    return Content(parts=(draw(figures.talkers(tables.talkers(subject.streams.flows))),))


def shares(subject: Subject) -> Content:
    """Return the shares of layers, protocols, DSCP values and checksum verdicts."""
    about = "By the outermost headers. A checksum is unverified where its header was cut off."
    rows = tables.shares(subject.document)
    listed = rows.assign(share=[f"{share:.2%}" for share in rows["share"]])
    return Content(about, parts=(draw(figures.shares(rows)), table(listed, left=("kind", "name"))._repr_html_()))


def narrow(subject: Subject) -> Content:
    """Return the share of narrow accesses over the size of a cell."""
    rows = tables.narrow_shares(subject.counts)
    about = (
        "A packet buffer that stores packets in cells moves less than a cell with the last access of most packets; "
        "memories that are fast for whole cells only lose time there."
    )
    return Content(about, parts=(draw(figures.narrow_shares(rows)),))


SECTIONS: dict[str, Callable[[Subject], Content]] = {
    "Summary": summary,
    "What this capture would do to each machine": machines,
    "Lengths": lengths,
    "Rate over time": rate,
    "Times between packets": gaps,
    "Burstiness": burstiness,
    "Flows": flows,
    "Locality of destinations": locality,
    "Packet trains": trains,
    "Top talkers": talkers,
    "Protocols, DSCP, checksums": shares,
    "Narrow accesses": narrow,
}


def _sockets(addresses: list[str], ports: Iterable[int]) -> list[str]:
    """Return addresses with ports, IPv6 addresses in brackets (RFC 3986 section 3.2.2)."""
    wrapped = (f"[{address}]" if ":" in address else address for address in addresses)
    return [f"{address}:{port}" for address, port in zip(wrapped, ports, strict=True)]
