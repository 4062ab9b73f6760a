"""Laws of element graphs: no packet disappears, and what is forwarded is what the golden functions make of it."""

from hypothesis import given
from hypothesis import strategies as st

from npexplore.golden.elements import Graph
from npexplore.golden.elements.transport import summed
from npexplore.golden.ipv4.fragment import fragment
from npexplore.golden.ipv4.header import read_header, write_packet
from npexplore.golden.ipv4.options import LOOSE_ROUTE, RECORD_ROUTE, STRICT_ROUTE, TIMESTAMP, read_options
from npexplore.golden.ipv4.ttl import decrement_ttl
from npexplore.golden.ipv4.validate import validate_ipv4
from npexplore.golden.reasons import Reason
from npexplore.paths import share
from npexplore.testing.strategies import ipv4_packets

GRAPH = Graph.load(share("models", "graphs") / "soclib_ipv4.click")
OWN = 10 << 24 | 1
LINK = bytes.fromhex("020000000010 020000000110 0800")


@given(ipv4_packets())
def test_the_graph_does_what_the_golden_functions_do(packet):
    gone = GRAPH.run("eth0", LINK + packet)
    assert gone
    header = read_header(packet)
    if validate_ipv4(packet) or header.source in (OWN, 0, 0xFFFFFFFF):
        assert [p.exit for p in gone] == ["discard"]
        assert gone[0].pack.reason in (validate_ipv4(packet), Reason.MARTIAN_SOURCE)
        return
    if header.destination == OWN:
        assert [p.exit for p in gone] == ["self"]
        return
    packet = packet[: header.total_length]
    options = read_options(packet)
    if options.pointer is not None or options.find(RECORD_ROUTE, TIMESTAMP, LOOSE_ROUTE, STRICT_ROUTE):
        return  # Click's rules, which read fewer options: oracle/test_click_recorded
    reason, forwarded = decrement_ttl(packet)
    if not reason and len(forwarded) <= 1500:
        inner = [p.pack.data[14 if p.exit == "device" else 22 :] for p in gone if p.exit in ("device", "switch")]
        assert forwarded in inner
    else:
        assert all(p.exit in ("drop", "device") or len(packet) > 1500 for p in gone)


@given(st.binary(max_size=80), st.sampled_from(["eth0", "switch"]))
def test_every_frame_leaves_somewhere(frame, device):
    gone = GRAPH.run(device, frame)
    assert gone
    assert all(p.exit in ("device", "switch", "self", "discard", "drop") for p in gone)
    assert all(p.pack.reason for p in gone if p.exit == "drop")


TRANSLATE = "IPRewriter(pattern 203.0.113.1 2000-2999# 10.9.9.9 - 0 0)"


@given(
    st.sampled_from((6, 17)), st.binary(min_size=20, max_size=300), st.sampled_from((28, 44, 68, 100, 148)),
    st.booleans(), st.randoms(use_true_random=False),
)  # fmt: skip
def test_pieces_in_any_order_are_translated_as_the_whole(protocol, data, mtu, right, random):
    whole = write_packet(0xC0000201, 0xC6336402, data, protocol=protocol, identification=7)
    whole = summed(whole, len(data), protocol) if right else whole
    pieces = list(fragment(whole, mtu).packets)
    random.shuffle(pieces)
    text = f"FromDevice(a) -> r::IPReassembler -> {TRANSLATE} -> Discard;"
    gone = [passage for graph in [Graph.read(text)] for piece in pieces for passage in graph.run("a", piece)]
    (alone,) = Graph.read(f"FromDevice(a) -> {TRANSLATE} -> Discard;").run("a", whole)
    assert [passage.pack.data for passage in gone if passage.exit == "discard"] == [alone.pack.data]
    assert alone.exit == "discard"
    assert {passage.exit for passage in gone} <= {"discard", "rest"}
    if right:
        assert summed(alone.pack.data, len(data), protocol) == alone.pack.data
