"""What applications say in the first packets of flows: plain messages, damaged ones, segments in any order."""

import io
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import capture_files as make

from npexplore.errors import InputError
from npexplore.packets import read_capture
from npexplore.packets.application import dns_names, http_head, stream, tls_hello


def client_hello(name):
    sent = ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()


def server_hello(version, extensions=b""):
    body = (
        version.to_bytes(2, "big") + bytes(32) + b"\0" + b"\x13\x01\0" + len(extensions).to_bytes(2, "big") + extensions
    )
    message = b"\2" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\3" + len(message).to_bytes(2, "big") + message


def question(name):
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b"."))
    return b"\0\1\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"


HELLO = client_hello("example.org")
MODERN = server_hello(0x303, b"\0\x2b\0\2\3\4")
REQUEST, RESPONSE = b"GET / HTTP/1.1\r\nHost: example.net\r\n\r\n", b"HTTP/1.1 404 Not Found\r\n\r\n"
MESSAGES = [HELLO, MODERN, REQUEST, RESPONSE, question(b"a.example")]


def test_messages_are_read_and_names_are_printable():
    assert tls_hello(HELLO) == {"tls_server_name": "example.org"}
    assert tls_hello(MODERN) == {"tls_version": "TLS 1.3"}
    assert tls_hello(b"\x15\3\3\0\2\1\x70" + server_hello(0x301)) == {"tls_version": "TLS 1.0"}
    assert tls_hello(server_hello(0x303, b"\0\x2b\0\2\x7f\x1c")) == {"tls_version": "TLS 1.3 draft 28"}
    assert (http_head(REQUEST), http_head(RESPONSE)) == ({"http_host": "example.net"}, {"http_status": 404})
    assert http_head(b"GET it done\r\nHost: a\r\n\r\n") == {}
    assert dns_names(question(b"a.\x1b[2J")) == ["a.\\x1b[2J"]


@given(st.data(), st.sampled_from(MESSAGES))
def test_damaged_messages_raise_nothing(data, message):
    damaged = bytearray(message[: data.draw(st.integers(0, len(message)))])
    for _ in range(data.draw(st.integers(0, 4)) if damaged else 0):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    told = [*dns_names(bytes(damaged)), *tls_hello(bytes(damaged)).values(), *http_head(bytes(damaged)).values()]
    assert all(str(value).isascii() and str(value).isprintable() for value in told)


@given(st.binary(min_size=1, max_size=30), st.integers(0, 2**32 - 1), st.data())
def test_segments_in_any_order_repeated_and_overlapping_are_one_stream(data, begin, draws):
    cuts = sorted(draws.draw(st.sets(st.integers(1, len(data)), max_size=4)) | {0})
    pieces = [
        ((begin + a) % 2**32, data[a : b + draws.draw(st.integers(0, 3))])
        for a, b in zip(cuts, [*cuts[1:], len(data)], strict=True)
    ]
    assert stream(draws.draw(st.permutations(pieces + pieces[:1]))) == data
    if len(pieces) > 1:
        assert stream([pieces[0], ((begin + len(data) + 1) % 2**32, b"later")]) == pieces[0][1]


def segment(payload, back, sequence):
    head = make.tcp(*((443, 9) if back else (9, 443)), payload=payload)
    packet = make.ipv4(head[:4] + sequence.to_bytes(4, "big") + head[8:], proto=6)
    return make.ethernet(packet[:12] + packet[16:20] + packet[12:16] + packet[20:] if back else packet)


def test_flows_have_names_from_their_first_packets_alone(tmp_path):
    packets = [segment(HELLO[100:], False, 100), segment(HELLO[:100], False, 0), segment(MODERN, True, 5)]
    packets += [
        make.ethernet(make.ipv4(make.udp(53, 53, payload=question(b"n%d" % k)))) for k in (1, 2, 1, 4, 5, 6, 7, 8, 9)
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(make.pcap([(k, 0, one, None) for k, one in enumerate(packets)]))
    flows = read_capture(path).flows(application=True)
    assert flows["tls_server_name"].tolist()[0] == "example.org"
    assert flows["tls_version"].tolist()[0] == "TLS 1.3"
    assert flows["dns_names"].tolist()[1] == "n1,n2,n4,n5,n6,n7,n8"
    assert flows[["http_host", "http_status"]].isna().all(axis=None)
    with pytest.raises(InputError, match="stream"):
        read_capture(io.BytesIO(path.read_bytes())).flows(application=True)
