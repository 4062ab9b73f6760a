"""tshark's and capinfos' word on a capture, and where the reader's columns differ from it."""

import csv
import io
import ipaddress
import subprocess

from npexplore.packets import read_capture

FIELDS = [
    "frame.protocols", "frame.time_epoch", "frame.len", "frame.cap_len", "ip.version", "ipv6.version", "vlan.id",
    "mpls.label", "ip.ttl", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.proto", "ip.id", "ip.flags.df", "ip.flags.mf",
    "ip.hdr_len", "ip.len", "ip.checksum.status", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "udp.srcport",
    "udp.dstport", "ipv6.hlim", "ipv6.plen", "ipv6.src", "ipv6.dst", "ipv6.flow",
]  # fmt: skip
STATUS = {"1": "good", "0": "bad"}
# frames in which tshark's first address or port belongs to something other than the outermost network header
INSIDE = ("gtp", "icmp", "vxlan", "erspan", "teredo", "ayiya", "capwap", "dvmrp")


def tshark(path, fields=FIELDS):
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=f", "-E", "separator=/t"]
    for option in ("ip.check_checksum:TRUE", "ip.defragment:FALSE", "ipv6.defragment:FALSE", "ip.tso_support:FALSE"):
        command += ["-o", option]
    for field in fields:
        command += ["-e", field]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = csv.DictReader(io.StringIO(out.stdout), fields, delimiter="\t", quoting=csv.QUOTE_NONE)
    # custom and other blocks without a packet are shown as frames too: they have no protocols below their data
    return [row for row in rows if row["frame.protocols"] not in ("data", "file-pcapng", "")], out.returncode


def capinfos(path):
    command = ["capinfos", "-T", "-m", "-r", "-c", "-d", str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, packets, size = out.strip().split(",")
    return int(packets), int(size)


def number(text, missing=None):
    return int(text, 0) if text else missing


def nanoseconds(text):
    seconds, _, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


def differences(path):
    """Return (packet number, what, tshark's value, ours) wherever the two differ."""
    capture, (rows, _) = read_capture(path), tshark(path)
    table = {name: capture.columns[name] for name in capture.columns}
    assert len(rows) == len(capture)
    sixes = {int(packet): row for row, packet in enumerate(capture.columns.ipv6.packet)}
    found = []
    for i, row in enumerate(rows):
        ours = {name: column[i].item() for name, column in table.items()}
        pairs = {
            "length": (number(row["frame.len"]), ours["length"]),
            "captured": (number(row["frame.cap_len"]), ours["captured"]),
            "VLAN": (number(row["vlan.id"], -1), ours["vlan_id"]),
            "MPLS": (number(row["mpls.label"], -1), ours["mpls_label"]),
        }
        if row["frame.time_epoch"]:
            pairs["time"] = nanoseconds(row["frame.time_epoch"]), ours["t_ns"]
        if ours["ipv4"] or ours["ipv6"] or "arp" not in row["frame.protocols"]:
            pairs["IP"] = bool(row["ip.version"] or row["ipv6.version"]), ours["ipv4"] or ours["ipv6"]
        if ours["ipv4"] and row["ip.ttl"]:
            pairs |= {
                "TTL": (number(row["ip.ttl"]), ours["ttl"]),
                "DSCP": (number(row["ip.dsfield.dscp"]), ours["dscp"]),
                "ECN": (number(row["ip.dsfield.ecn"]), ours["ecn"]),
                "protocol": (number(row["ip.proto"]), ours["ip_proto"]),
                "identification": (number(row["ip.id"]), ours["ident"]),
                "DF": (row["ip.flags.df"] in ("1", "True"), ours["df"]),
                "MF": (row["ip.flags.mf"] in ("1", "True"), bool(ours["fragment"] & 0x2000)),
                "options": (number(row["ip.hdr_len"], 20) > 20, ours["options"]),
                "total length": (number(row["ip.len"]), ours["l3_length"]),
            }
            if row["ip.checksum.status"] in STATUS:
                verdict = "good" if ours["checksum_good"] else "bad" if ours["checksum_bad"] else "unverified"
                pairs["checksum"] = STATUS[row["ip.checksum.status"]], verdict
            if row["ip.dst"]:
                pairs["source"] = int(ipaddress.ip_address(row["ip.src"])), ours["src"]
                pairs["destination"] = int(ipaddress.ip_address(row["ip.dst"])), ours["dst"]
        if (
            ours["ipv6"]
            and row["ipv6.dst"]
            and row["frame.protocols"].find("ipv6") < (row["frame.protocols"] + ":ip:").find(":ip:")
        ):
            pairs |= {
                "hop limit": (number(row["ipv6.hlim"]), ours["ttl"]),
                "flow label": (number(row["ipv6.flow"]), ours["flow_label"]),
                "payload": (number(row["ipv6.plen"]) + 40, ours["l3_length"]),
                "IPv6 source": (
                    ipaddress.ip_address(row["ipv6.src"]).packed,
                    capture.columns.ipv6.source[sixes[i]].tobytes(),
                ),
            }
        name = {6: "tcp", 17: "udp"}.get(ours["ip_proto"])
        if ours["has_ports"] and name and not any(inner in row["frame.protocols"] for inner in INSIDE):
            for end in ("src", "dst"):
                if row[f"{name}.{end}port"]:
                    pairs[f"{end} port"] = number(row[f"{name}.{end}port"]), ours["sport" if end == "src" else "dport"]
        found += [(i + 1, what, theirs, mine) for what, (theirs, mine) in pairs.items() if theirs != mine]
    return found
