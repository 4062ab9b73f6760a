"""The object read_capture returns: columns, data frame, length distribution, texts."""

import io
import json
from ipaddress import IPv4Address, IPv6Address
from random import Random

import numpy as np
import pandas as pd
import pytest
from reference import capture_files as make

from npexplore.cli import main
from npexplore.errors import InputError, UnknownNameError
from npexplore.packets import endpoints, read_capture
from npexplore.packets.length_cdf import LengthCdf
from npexplore.packets.statistics.endpoints import FIRST_IPV6, Endpoints
from npexplore.paths import share


def capture(*lengths, link=1):
    data = make.ethernet(make.ipv4(make.udp()), pad=60)
    return read_capture(io.BytesIO(make.pcap([(n, 0, data, size) for n, size in enumerate(lengths)], link=link)))


def test_data_frame_has_a_row_a_packet_and_exact_times():
    frame = read_capture(share("data", "captures", "zeek_wikipedia.pcap")).packets
    assert len(frame) == 136
    assert frame["t_ns"].dtype == np.int64
    assert frame["t_ns"].iloc[0] == 1300475167096535000
    assert frame["length"].sum() == 25260
    assert frame.groupby("ipv4").size().to_dict() == {False: 15, True: 121}


def test_addresses_are_text_and_missing_where_there_are_none():
    capture = read_capture(share("data", "captures", "zeek_wikipedia.pcap"))
    frame, columns = capture.packets, capture.columns
    ends = endpoints(columns)
    for name, numbers in (("src", ends.src), ("dst", ends.dst)):
        assert frame[name].iloc[ends.rows].astype(str).tolist() == ends.text(numbers)
        assert frame[name].isna().sum() == len(frame) - len(ends.rows) == 10
    assert frame["src"].dtype == frame["dst"].dtype
    assert sum(":" in text for text in frame["src"].cat.categories) == 4
    assert capture.to_frame(numbers=True)["src"].tolist() == columns["src"].tolist()


def test_addresses_are_written_as_ipaddress_does():
    texts = [
        "::",
        "::1",
        "::ffff:1.2.3.4",
        "::1.2.3.4",
        "::ffff:0:1.2.3.4",
        "64:ff9b::1.2.3.4",
        "1:0:0:2::3",
        "1:0:2::",
    ]
    six = [IPv6Address(text) for text in texts]
    octets = np.frombuffer(b"".join(address.packed for address in six), np.uint8).reshape(-1, 16)
    four = [0, 1, 0x0A00FF01, (1 << 32) - 1]
    ends = Endpoints(*[np.zeros(0, np.int64)] * 3, octets)
    assert ends.text([*four, *(FIRST_IPV6 + np.arange(len(six)))]) == [
        *map(str, map(IPv4Address, four)),
        *map(str, six),
    ]


def test_length_cdf_is_of_original_lengths():
    cdf = capture(60, 1500, 60, 9000).length_cdf()
    assert cdf.length_bytes.tolist() == [60, 1500, 9000]
    assert cdf.share.tolist() == [0.5, 0.75, 1.0]
    assert [cdf.quantile(q) for q in (0, 0.5, 0.51, 0.75, 1)] == [60, 60, 1500, 1500, 9000]
    assert cdf.modes(2) == [(60, 0.5), (1500, 0.25)]


def test_length_cdf_of_ip_packets_leaves_padding_out():
    assert capture(60, 60).length_cdf(layer="ip").length_bytes.tolist() == [28]
    with pytest.raises(UnknownNameError, match="ip, link"):
        capture(60).length_cdf(layer="wire")


def test_empty_distribution():
    cdf = LengthCdf(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))
    assert cdf.modes() == []


def test_unknown_column_names_the_nearest():
    with pytest.raises(UnknownNameError, match=r"nearest: .*length"):
        capture(60).columns["lenght"]


def test_no_ip_is_recognisable():
    table = read_capture(share("data", "captures", "tcpdump_ISIS_p2p_adjacency.pcap")).columns
    assert not (table["ipv4"] | table["ipv6"]).any()
    assert not table["l3_length"].any()


def test_texts_name_what_matters():
    text = repr(capture(60, 1500, 2**31))
    assert "ETHERNET 3" in text
    assert "2,147,485,208" in text
    assert "ipv4 3" in text
    assert "duration:      2.000000 s" in text
    assert max(map(len, text.splitlines())) <= 100
    damaged = read_capture(io.BytesIO(make.pcap([(0, 0, b"<b>", None)])[:-1]))
    assert "offset 24" in repr(damaged)
    html = read_capture(io.BytesIO(make.pcap([]))).path
    assert html == "<stream>"
    assert "&lt;stream&gt;" in read_capture(io.BytesIO(make.pcap([])))._repr_html_()


def test_a_page_names_no_folder():
    path = share("data", "captures", "zeek_wikipedia.pcap")
    html = read_capture(path)._repr_html_()
    assert "zeek_wikipedia.pcap" in html
    assert str(path.parent) not in html


def test_several_workers_give_the_same_table():
    path = share("data", "captures", "zeek_modbus_modbusBig.pcap.gz")
    one, two = read_capture(path), read_capture(path, workers=2)
    for name in one.columns.stored:
        assert (one.columns[name] == two.columns[name]).all()


def test_flows_of_both_directions_and_their_command(tmp_path, capsys):
    one, two = (make.ipv4(make.tcp(sport=a, dport=b, flags=f), proto=6) for a, b, f in ((5, 80, 2), (80, 5, 18)))
    two = two[:12] + two[16:20] + two[12:16] + two[20:]
    path = tmp_path / "a.pcap"
    path.write_bytes(make.pcap([(k, 0, make.ethernet(data), None) for k, data in enumerate((one, two, one))]))
    flows = read_capture(path).flows()
    row = flows.iloc[0].to_dict()
    assert (len(flows), row["packets"], row["packets_back"], row["flags"], row["flags_back"]) == (1, 2, 1, "S", "SA")
    assert (row["src"], row["dst"], row["sport"], row["dport"]) == ("10.0.0.1", "10.0.0.2", 5, 80)
    assert (row["retransmitted"], row["out_of_order"]) == (1, 0)
    assert "retransmitted" not in read_capture(io.BytesIO(path.read_bytes())).flows()
    assert main(["trace", "flows", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flows"][0]["packets_back"] == 1
    assert main(["trace", "flows", str(path), "--out", str(tmp_path / "f.csv")]) == 2
    assert main(["trace", "flows", str(path), "--out", str(tmp_path / "f.parquet")]) == 0
    assert len(pd.read_parquet(tmp_path / "f.parquet")) == 1


def test_a_packet_as_layers_of_dpkt_and_damaged_ones_as_octets(tmp_path):
    whole = make.ethernet(make.ipv4(make.udp(payload=b"abc")))
    random = Random(8)
    damaged = [bytes(b ^ (random.random() < 0.2) * random.randrange(256) for b in whole) for _ in range(300)]
    records = [(7, 0, whole, 999), *((7, 0, one[: random.randrange(len(one) + 1)], None) for one in damaged)]
    for link in (1, 0, 101, 113, 276, 127, 147):
        (tmp_path / "a.pcap").write_bytes(make.pcap(records, link=link))
        capture = read_capture(tmp_path / "a.pcap")
        for row in range(0, len(capture), 1 if link in (1, 101) else 20):
            assert capture.dissect(row).captured == capture.columns["captured"][row]
        if link == 1:
            found = capture.dissect(0)
            assert (found.length, found.t_ns, bytes(found.layers.data.data.data)) == (999, 7 * 10**9, b"abc")
    with pytest.raises(InputError, match="packet must be 0 to 300, got 301"):
        capture.dissect(301)
    with pytest.raises(InputError, match="stream"):
        read_capture(io.BytesIO((tmp_path / "a.pcap").read_bytes())).dissect(0)
