"""File-driven line cards: real captures pass the simulated tiles; the golden router agrees packet by packet."""

from dataclasses import replace

import numpy as np
import pytest

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.paths import share
from npexplore.study.papers.raw.line_cards import check, play

RAW = design("raw")
CAPTURES = {
    "zeek_wikipedia.pcap": ({"TTL_EXPIRED": 4}, {"MULTICAST": 3}),
    "zeek_workshop_2011_browse.pcap": ({}, {}),
    "zeek_ipv4_fragmented-3.pcap": ({}, {}),
    "zeek_modbus_modbusBig.pcap.gz": ({"BAD_CHECKSUM": 1139}, {}),
}


def capture(name):
    return share("data", "captures", name)


@pytest.mark.parametrize("version", ["v1", "v3", "v3d", "v4"])
@pytest.mark.parametrize("name", list(CAPTURES)[:3])
def test_what_leaves_is_what_the_golden_router_sends(name, version, tmp_path):
    played, given = play(RAW.with_(version=version), capture(name), tmp_path)
    verdict = check(played, given, tmp_path)
    discarded, beyond = CAPTURES[name]
    assert verdict.differences == []
    assert (verdict.discarded, verdict.beyond) == (discarded, beyond)
    assert verdict.forwarded == verdict.packets - sum(discarded.values())
    assert played.seconds > 0


def test_bad_headers_are_discarded_by_stage_3(tmp_path):
    played, given = play(RAW, capture("zeek_modbus_modbusBig.pcap.gz"), tmp_path)
    verdict = check(played, given, tmp_path)
    assert (verdict.packets, verdict.forwarded, verdict.differences) == (13622, 12483, [])
    assert verdict.discarded == {"BAD_CHECKSUM": 1139}


@pytest.mark.parametrize("wrong", ["byte", "order", "lost", "card"])
def test_a_wrong_output_is_found(wrong, tmp_path):
    played, given = play(RAW, capture("zeek_workshop_2011_browse.pcap"), tmp_path)
    busiest = int(np.bincount(played.output[played.output >= 0]).argmax())
    path = played.outputs[busiest]
    data = bytearray(path.read_bytes())
    if wrong == "byte":
        data[24 + 16 + 14 + 1] ^= 4  # the type of service of the first packet
        path.write_bytes(bytes(data))
    elif wrong == "order":
        played = replace(played, order=played.order[::-1])
    elif wrong == "lost":
        played = replace(played, order=played.order[1:])
    else:
        played = replace(played, outputs=[*played.outputs[1:], played.outputs[0]])
    found = check(played, given, tmp_path).differences
    said = {
        "byte": "with other bytes",
        "order": "changed their order",
        "lost": "did not leave",
        "card": "packets in its file",
    }
    assert any(said[wrong] in difference for difference in found)


def test_captures_of_other_links_and_without_packets_are_refused(tmp_path):
    with pytest.raises(InputError, match="no IPv4 packets in Ethernet frames"):
        play(RAW, capture("tcpdump_LLDP_and_CDP.pcap"), tmp_path)
