"""Headers that are odd, cut or impossible, field by field against tshark: where we follow it, and where not.

DEPARTURES is the list in docs/captures.md, "Beside tshark", which has the reasons.
"""

import ipaddress
import shutil

import pytest
from reference import capture_files as make
from reference.tshark import FIELDS, STATUS, number, tshark

from npexplore.packets import read_capture

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

FOUR, SIX = make.ipv4(make.udp(payload=b"hello")), make.ipv6(make.udp())
OPTIONS = make.ipv4(make.udp(), options=b"\1\1\1\0\1\1\1\0\1\1\1\0")
HDLC, HDLC6 = b"\x0f\0\x08\0" + FOUR, b"\x8f\0\x86\xdd" + SIX


def first(packet, value):
    """The packet with another first byte: version and header length in words."""
    return bytes([value]) + packet[1:]


def nsh(*arguments, **words):
    return make.ethernet(make.nsh(*arguments, **words), 0x894F)


CASES = {  # name: (link type, packet, bytes captured)
    "IPv6 behind 0800": (1, make.ethernet(SIX), None),
    "IPv6 behind PPP's 0021": (9, b"\xff\x03\x00\x21" + SIX, None),
    "IPv6 behind family 2": (0, b"\2\0\0\0" + SIX, None),
    "IPv6 under link type IPV4": (228, SIX, None),
    "IPv4 behind 86dd": (1, make.ethernet(FOUR, 0x86DD), None),
    "IPv4 behind PPP's 0057": (9, b"\xff\x03\x00\x57" + FOUR, None),
    "IPv4 under link type IPV6": (229, FOUR, None),
    "version 5 behind 0800": (1, make.ethernet(first(FOUR, 0x55)), None),
    "version 0 behind 0800": (1, make.ethernet(first(FOUR, 0x05)), None),
    "version 5 behind 86dd": (1, make.ethernet(first(SIX, 0x55), 0x86DD), None),
    "version 5 behind labels": (1, make.ethernet(make.mpls(first(FOUR, 0x55), 16), 0x8847), None),
    "version 5 raw": (101, first(FOUR, 0x55), None),
    "header of 12 bytes": (1, make.ethernet(first(FOUR, 0x43)), None),
    "header of 12 bytes, cut at 10": (1, make.ethernet(first(FOUR, 0x43)), 24),
    "header longer than packet": (1, make.ethernet(first(FOUR, 0x4F)), None),
    "header longer than packet, cut at 12": (1, make.ethernet(first(FOUR, 0x4F)), 26),
    "total length below header": (1, make.ethernet(FOUR[:2] + b"\0\x10" + FOUR[4:]), None),
    **{f"options, cut at {n}": (1, make.ethernet(OPTIONS), 14 + n) for n in (0, 1, 2, 4, 9, 10, 16, 20, 24, 31, 32)},
    "NSH, IPv4": (1, nsh(FOUR), None),
    "NSH, IPv6": (1, nsh(SIX, 2), None),
    "NSH, Ethernet": (1, nsh(make.ethernet(FOUR), 3), None),
    "NSH in NSH": (1, nsh(make.nsh(FOUR), 4), None),
    "NSH, labels": (1, nsh(make.mpls(FOUR, 16), 5), None),
    "NSH with fixed context": (1, nsh(FOUR, 1, 1, bytes(16)), None),
    "NSH with variable context": (1, nsh(FOUR, 1, 2, bytes.fromhex("0100010461626364")), None),
    "NSH behind a tag": (1, make.ethernet(make.nsh(FOUR), 0x894F, tags=[(0x8100, 5)]), None),
    "NSH, protocol 6": (1, nsh(FOUR, 6), None),
    "NSH, cut": (1, nsh(FOUR), 20),
    "NSH of version 1": (1, nsh(FOUR, version=1), None),
    "NSH of 1 word": (1, nsh(FOUR, words=1), None),
    "NSH of 2 words with fixed context": (1, nsh(bytes(16) + FOUR, 1, 1), None),
    "Cisco HDLC under PPP": (9, HDLC, None),
    "Cisco HDLC under PPP, IPv6": (9, HDLC6, None),
    "Cisco HDLC under PPP_HDLC": (50, HDLC, None),
    "Cisco HDLC under PPP_WITH_DIR": (204, b"\0" + HDLC6, None),
    "Cisco HDLC in PPPoE": (1, make.ethernet(make.pppoe(HDLC[2:], 0x0F00), 0x8864), None),
}
HEADER = {"TTL", "protocol", "source", "total", "checksum"}
FOUND = {"network", "options"} | HEADER  # by one of the two alone
DEPARTURES = {
    **{f"IPv4 behind {kind}": {"network"} for kind in ("86dd", "PPP's 0057")},
    "version 5 behind 86dd": {"network"},
    "IPv4 under link type IPV6": FOUND,
    **{f"version {n} behind 0800": HEADER for n in (0, 5)},
    "header of 12 bytes": HEADER,
    "header of 12 bytes, cut at 10": HEADER - {"source"},
    "header longer than packet": {"TTL", "protocol", "source"},
    "header longer than packet, cut at 12": {"TTL", "protocol"},
    "total length below header": {"TTL", "protocol", "source", "checksum"},
    **{f"NSH of {what}": FOUND for what in ("version 1", "1 word", "2 words with fixed context")},
}


def theirs(row):
    names = row["frame.protocols"].split(":")
    four, six = "ip" in names, "ipv6" in names
    malformed = bool(row["_ws.malformed"]) or row["_ws.expert.message"].startswith("Bogus")
    malformed &= not six  # of IPv6 behind a type of IPv4 it says that the version is bogus, and reads it all the same
    found = {"network": 6 if six else 4 if four else None, "malformed": malformed}
    if six:
        source = int(ipaddress.ip_address(row["ipv6.src"]))
        return found | {"TTL": number(row["ipv6.hlim"]), "protocol": number(row["ipv6.nxt"]), "source": source}
    if not four:
        return found
    source = int(ipaddress.ip_address(row["ip.src"])) if row["ip.src"] else None
    header = {"options": number(row["ip.hdr_len"], 0) > 20, "total": number(row["ip.len"]), "source": source}
    verdict = STATUS.get(row["ip.checksum.status"])
    return found | header | {"TTL": number(row["ip.ttl"]), "protocol": number(row["ip.proto"]), "checksum": verdict}


def ours(capture):
    columns = capture.columns
    one = {name: columns[name][0].item() for name in columns}
    found = {"network": 4 if one["ipv4"] else 6 if one["ipv6"] else None, "malformed": one["malformed"]}
    have = one["captured"] - one["l3_offset"]
    if one["ipv6"] and one["header_complete"]:
        source = int.from_bytes(columns.ipv6.source[0].tobytes(), "big")
        return found | {"TTL": one["ttl"], "protocol": one["ip_proto"], "source": source}
    if not one["ipv4"]:
        return found
    return found | {
        "options": one["options"],
        "total": one["l3_length"] if have >= 4 else None,
        "TTL": one["ttl"] if have >= 9 else None,
        "protocol": one["ip_proto"] if have >= 10 else None,
        "source": one["src"] if have >= 16 else None,
        "checksum": "good" if one["checksum_good"] else "bad" if one["checksum_bad"] else None,
    }


@pytest.mark.parametrize("name", CASES)
def test_odd_headers(name, tmp_path):
    link, packet, captured = CASES[name]
    path = tmp_path / "odd.pcap"
    path.write_bytes(make.pcap([(1, 0, packet[:captured], len(packet))], link=link))
    fields = [*FIELDS, "ipv6.nxt", "_ws.malformed", "_ws.expert.message"]
    rows, _ = tshark(path, fields)
    row = rows[0] if rows else dict.fromkeys(fields, "")  # what has no protocol is no row
    they, we = theirs(row), ours(read_capture(path))
    differ = {what for what in {**they, **we} if they.get(what) != we.get(what)}
    assert differ == DEPARTURES.get(name, set()), (they, we)
