"""Element graphs: the language, what is found before running, what each element does, and cycles by way."""

import pytest
from reference.click_elements import ARGUMENTS

from npexplore.designs import design
from npexplore.designs.soclib import element_cycles
from npexplore.errors import InputError, UnknownNameError
from npexplore.golden.checksum import header_checksum_is_right
from npexplore.golden.elements import ELEMENTS, Graph, Pack
from npexplore.golden.elements.base import Place
from npexplore.golden.elements.filters import expression
from npexplore.golden.elements.icmp import ICMPError
from npexplore.golden.elements.transport import summed
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.reasons import Reason
from npexplore.paths import share

FILE = share("models", "graphs") / "soclib_ipv4.click"
COST = element_cycles(design("soclib").parameters)
MACS = bytes.fromhex("020000000010 020000000110")

TWO_PORTS = """// two networks, the usual elements, names used before they are declared
FromDevice(eth0) -> c0 :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
FromDevice(eth1) -> c1 :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
out0 :: Queue(200) -> ToDevice(eth0);
out1 :: Queue(200) -> ToDevice(eth1);
c0[0] -> ARPResponder(10.0.0.1 2:0:0:0:0:10) -> out0;  c0[1] -> [1] arp0;
c1[0] -> ARPResponder(20.0.0.1 2:0:0:0:0:20) -> out1;  c1[1] -> [1] arp1;
arp0 :: ARPQuerier(10.0.0.1, 2:0:0:0:0:10) -> out0;
arp1 :: ARPQuerier(20.0.0.1, 2:0:0:0:0:20) -> out1;
rt :: StaticIPLookup(10.0.0.1/32 0, 20.0.0.1/32 0, 10.0.0.0/255.0.0.0 1, 20.0.0.0/8 2, 0.0.0.0/0 20.9.9.9 2);
ip :: Strip(14) -> CheckIPHeader(INTERFACES 10.0.0.1/8 20.0.0.1/8) -> [0] rt;
c0[2] -> Paint(1) -> ip;  c1[2] -> Paint(2) -> ip;
rt[0] -> ToHost;
rt[1] -> DropBroadcasts -> cp0 :: PaintTee(1) -> gio0 :: IPGWOptions(10.0.0.1) -> FixIPSrc(10.0.0.1)
      -> dt0 :: DecIPTTL -> fr0 :: IPFragmenter(300) -> [0] arp0;
rt[2] -> DropBroadcasts -> cp1 :: PaintTee(2) -> gio1 :: IPGWOptions(20.0.0.1) -> FixIPSrc(20.0.0.1)
      -> dt1 :: DecIPTTL -> fr1 :: IPFragmenter(300) -> [0] arp1;
dt0[1], /* a list */ unused :: Discard;
"""
TWO_PORTS = TWO_PORTS.replace("dt0[1], /* a list */ unused :: Discard;\n", "") + "\n".join(
    f"dt{k}[1] -> ICMPError({a}, timeexceeded) -> [0] rt; fr{k}[1] -> ICMPError({a}, unreachable, needfrag) -> [0] rt;"
    f"gio{k}[1] -> ICMPError({a}, parameterproblem) -> [0] rt; cp{k}[1] -> ICMPError({a}, redirect, host) -> [0] rt;"
    f"c{k}[3] -> Print(rest) -> Discard;"
    for k, a in enumerate(("10.0.0.1", "20.0.0.1"))
)


def packet(to="192.0.2.1", *, source="10.0.0.9", ttl=9, size=56, flags=0, options=b""):
    """An IPv4 packet with a right checksum."""
    ends = b"".join(bytes(int(part) for part in text.split(".")) for text in (source, to))
    words = 5 + len(options) // 4
    head = bytes([0x40 + words, 0]) + size.to_bytes(2, "big") + bytes([0, 7, flags, 0, ttl, 17, 0, 0]) + ends + options
    return with_checksum(head + bytes(size - len(head)))


def frame(body, kind=b"\x08\x00", to=MACS[:6]):
    return to + MACS[6:] + kind + body


@pytest.fixture
def graph():
    return Graph.load(FILE)


# ---- the paper's application


def test_the_longest_way_costs_what_the_table_adds_up_to(graph):
    (gone,) = graph.run("eth0", frame(packet()))
    assert gone.exit == "switch"
    assert graph.cycles(gone.path, COST) == sum(COST.values()) == 112_502
    assert max(way.cycles for way in graph.ways(COST) if way.exit == "switch") == 112_502


def test_three_exits(graph):
    assert [p.exit for p in graph.run("eth0", frame(packet("192.0.2.1")))] == ["switch"]
    assert [p.exit for p in graph.run("eth0", frame(packet("10.0.0.1")))] == ["self"]
    assert [p.exit for p in graph.run("eth0", frame(bytes(28), b"\x08\x06"))] == ["self"]
    assert [p.exit for p in graph.run("switch", bytes(8) + frame(packet()))] == ["device"]


def test_what_another_unit_routed_only_loses_the_switch_header(graph):
    whole = frame(packet())
    (gone,) = graph.run("switch", b"12345678" + whole)
    assert gone.pack.data == whole
    assert graph.cycles(gone.path, COST) == 30534 + 356 + 25218


def test_switch_header_goes_on_and_comes_off_again(graph):
    (gone,) = graph.run("eth0", frame(packet()))
    (back,) = graph.run("switch", gone.pack.data)
    assert back.pack.data == gone.pack.data[8:]
    assert back.pack.data[14:][8] == 8  # one less to live
    assert header_checksum_is_right(back.pack.data[14:34])


def test_back_where_it_came_from_also_tells_the_sender(graph):
    gone = graph.run("eth0", frame(packet("10.0.0.77")))
    assert sorted(p.exit for p in gone) == ["device", "device"]
    told = next(p.pack.data[14:] for p in gone if p.pack.data[14:][9] == 1)
    assert (told[20], told[21], told[12:16], told[16:20]) == (5, 1, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 9]))


def test_traffic_is_counted_by_way(graph):
    frames = [("eth0", frame(packet())), ("eth0", frame(packet())), ("switch", bytes(8) + frame(packet()))]
    ways = graph.traffic(frames, COST)
    assert [(way.exit, way.packets, way.cycles) for way in ways] == [("switch", 2, 112_502), ("device", 1, 56_108)]


@pytest.mark.parametrize(
    ("sent", "left", "reason"),
    [
        (frame(packet(ttl=1)), "device", Reason.NONE),  # time exceeded goes to the sender
        (frame(b"\x45" + packet()[1:12] + b"zzzz" + packet()[16:]), "discard", Reason.BAD_CHECKSUM),
        (frame(packet(), to=b"\xff" * 6), "drop", Reason.LINK_BROADCAST),
        (b"short", "discard", Reason.NONE),
    ],
)
def test_what_is_wrong_leaves_with_its_reason(graph, sent, left, reason):
    (gone,) = graph.run("eth0", sent)
    assert (gone.exit, gone.pack.reason) == (left, reason)


# ---- a user's router


def test_a_two_port_router_loads_and_asks_for_a_neighbour_first():
    graph = Graph.read(TWO_PORTS, "mine.click")
    first = graph.run("eth0", frame(packet("20.0.0.7", size=700)))
    assert [p.exit for p in first] == ["device", "rest", "rest"]  # one question, for three pieces
    assert (first[0].pack.data[12:14], first[0].pack.data[38:42]) == (b"\x08\x06", bytes([20, 0, 0, 7]))
    mac, own = b"\x02" * 6, bytes.fromhex("020000000020")
    body = bytes.fromhex("0001080006040002") + mac + bytes([20, 0, 0, 7]) + own + bytes([20, 0, 0, 1])
    released = graph.run("eth1", frame(body, b"\x08\x06"))
    assert [len(p.pack.data) - 14 for p in released] == [300, 300, 140]
    assert all(p.pack.data[:12] == mac + own for p in released)


def test_arp_requests_are_answered():
    graph = Graph.read(TWO_PORTS)
    ask = bytes.fromhex("0001080006040001") + MACS[6:] + bytes([10, 0, 0, 9]) + bytes(6) + bytes([10, 0, 0, 1])
    (gone,) = graph.run("eth0", frame(ask, b"\x08\x06"))
    assert gone.pack.data[20:22] == b"\x00\x02"
    assert gone.pack.data[22:32] == bytes.fromhex("020000000010") + bytes([10, 0, 0, 1])


def test_the_gateway_is_asked_for_where_a_route_has_one():
    (gone,) = Graph.read(TWO_PORTS).run("eth0", frame(packet("99.1.2.3")))
    assert gone.pack.data[38:42] == bytes([20, 9, 9, 9])


# ---- found before a packet comes

DEVICES = "in :: FromDevice(a); out :: ToDevice(b);"
ONE = "elementclass X {"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("FromDevice(a) -> Wifi ->\nTun -> Wifi -> Discard;", r"1: 2 .* unknown: 'Wifi' .line 1., 'Tun' .line 2."),
        ("x :: FromDevice(a) ->\nClasifier(1/08) -> Discard;", r"2: .* 'Clasifier' is unknown .nearest: Classifier"),
        (f"{DEVICES}\nin -> out;", r"2: push output 0 of 'in' meets pull input 0 of 'out'; a Queue"),
        (f"{DEVICES}\nin -> Strip(14) -> Paint(1) -> out;", r"2: .*meets pull input 0 of 'out'"),
        ("in :: FromDevice(a);\nPaint(1) -> Discard; in -> Discard;", r"2: input 0 of Paint 'Paint@1' is not"),
        ("FromDevice(a) -> Paint(1, 2) -> Discard;", r"1: Paint 'Paint@2' must have 1 arguments, got 2"),
        ("FromDevice(a) -> t :: Tee(2) -> Discard;", r"1: output 1 of Tee 't' is not connected"),
        ("FromDevice(a) -> c :: Classifier(12/0800, -) -> Discard;", r"1: output 1 of Classifier 'c' is not connected"),
        ("FromDevice(a) -> rw :: IPRewriter(pattern 1.0.0.1 - - - 0 5) -> Discard;", r"1: output 1 of IPRewriter 'rw'"),
        ("FromDevice(a) -> t :: Tee(1) -> Discard; t[1] -> Discard;", r"1: Tee 't' has 1 outputs, got output 1"),
        ("FromDevice(a) -> c :: Classifier(-) -> Discard; c[1] -> Discard;", r"1: Classifier 'c' has 1 outputs, got"),
        ("FromDevice(a) -> Paint(red) -> Discard;", r"1: Paint 'Paint@2': a paint must be 0 to 255, got 'red'"),
        ("a :: FromDevice(a);\n\na -> Discard; a -> Discard;", r"3: push output 0 of 'a' is connected twice"),
        ("FromDevice(a) -> p :: Paint(1)\n-> t :: Tee -> Discard;\nt[1] -> p;", r"3: a cycle .*: p -> t -> p"),
        ("FromDevice(a) -> [1] Paint(1) -> Discard;", r"1: Paint 'Paint@2' has 1 inputs, got input 1"),
        ("FromDevice(a) -> c :: Classifier(1/08, -);\nc[1] -> Discard;", r"1: output 0 of Classifier 'c' is not"),
        ("FromDevice(a) -> Strip(14", r"1: a bracket is opened and never closed"),
        ("FromDevice(a) => Discard;", r"1: no element, port or connection begins with '='"),
        (f"{ONE} $a | input -> Paint($a) -> output; }}\nFromDevice(a) -> X -> Discard;", r"2: X 'X@2' must have 1 arg"),
        (f"{ONE} input -> Paint(1) -> output; }}\nFromDevice(a) -> [1] X -> Discard;", r"2: nothing inside 'X@2'"),
        ("a :: Discard; a :: Discard;", r"1: element 'a' is declared twice"),
        (f"{ONE} input -> output || $a | input -> Paint($a) -> output; }}", r"1: a compound has parameters"),
        (f"{ONE}\nN $a | input -> Paint($a) -> output; }}", r"2: a compound has parameters"),
        ("\nrequire(library other.click);", r"2: other files are not read"),
        ("define($x 1); FromDevice(a) -> Paint($xy) -> Discard;", r"1: Paint 'Paint@2': .* got '\$xy'"),
        ("FromDevice(a) -> Classifier(-12/08) -> Discard;", r"1: Classifier .*: a number is needed, got '-12'"),
        ("FromDevice(a) -> IPFilter(alow all) -> Discard;", r"1: IPFilter .*: action or output 'alow'.*allow"),
        ("// nothing\nelementclass X { input -> output; }", " no element stands here"),
        ("\ndefine(DEV eth0);", r"2: define\(...\) takes names with \$ and their values, got 'DEV eth0'"),
    ],
)  # fmt: skip
def test_errors_say_file_and_line(text, told):
    with pytest.raises(InputError, match=f"m.click:{told}"):
        Graph.read(text, "m.click")


def test_defined_names_stand_for_their_values_in_compounds_too():
    text = """# 1 "a line that a preprocessor left"
        elementclass Marked { $mark | input -> Paint($mark) -> Strip($HEAD) -> output }
        define($DEV eth0, $HEAD 2); define($DEV0 other);
        FromDevice($DEV) -> Marked(3) -> Discard;"""
    (gone,) = Graph.read(text).run("eth0", b"abcd")
    assert (gone.pack.data, gone.pack.paint) == (b"cd", 3)


@pytest.mark.parametrize("data", ["a,  b", "a (b", "a) b", "a // b", "a /* b", 'a \\" b', "a $x b"])
@pytest.mark.parametrize("quote", "\"'")
def test_quoted_texts_stay_as_they_are(data, quote):
    graph = Graph.read(f"define($y c); s :: InfiniteSource({quote}{data}{quote} /* ) */ , // ,)\n 5) -> Discard;")
    assert graph.elements["s"].arguments == [f"{quote}{data}{quote}", "5"]


def test_parameters_belong_to_the_innermost_compound():
    inner = "elementclass Y { $x | input -> Paint($x) -> output }"
    graph = Graph.read(f"elementclass X {{ {inner} input -> Y(3) -> output }} FromDevice(a) -> X -> Discard; // end\r")
    assert [gone.pack.paint for gone in graph.run("a", b"x")] == [3]


def test_packets_that_are_too_long_go_aside_or_are_dropped():
    text = "FromDevice(a) -> c :: CheckLength(4); c[0] -> Discard;"
    aside = Graph.read(text + "c[1] -> Paint(9) -> out :: ToHost;")
    assert [aside.run("a", bytes(n))[0].pack.paint for n in (4, 5)] == [0, 9]
    assert [gone.pack.reason.name for n in (4, 5) for gone in Graph.read(text).run("a", bytes(n))] == [
        "NONE", "FRAGMENTATION_NEEDED",
    ]  # fmt: skip


def test_a_cycle_through_a_queue_is_fine():
    graph = Graph.read(
        "FromDevice(a) -> p :: Paint(1) -> t :: Tee -> Discard; u :: Queue -> ToDevice(b); t[1] -> u;", "m.click"
    )
    assert [p.exit for p in graph.run("a", b"x")] == ["discard", "device"]


def test_graphs_are_composed_in_python_too():
    graph = Graph().add("in", "FromDevice", "a").add("mark", "Paint", 7).add("end", "Discard")
    graph.connect("in", "mark", "end").check()
    (gone,) = graph.run("a", b"x")
    assert (gone.path, gone.pack.paint) == (("in", "mark", "end"), 7)
    with pytest.raises(UnknownNameError, match="nearest: mark"):
        graph.connect("in", "mrk")
    with pytest.raises(UnknownNameError, match="device 'b' is unknown"):
        graph.run("b", b"x")


# ---- every element


@pytest.mark.parametrize("name", ELEMENTS)
def test_no_element_loses_a_packet(name):
    """What is taken is handed on, ends at an exit, or rests where packets may rest."""
    made = ELEMENTS[name](name, ARGUMENTS.get(name, []), Place("t", 1))
    assert made.EXIT or made.STORES or made.ENTRY or made.DECLARES or made.take(Pack(packet()), 0)
    assert type(made).__doc__
    for output, pack in made.take(Pack(packet(options=b"\x07\x07\x04" + bytes(5))), 0) or []:
        assert -1 <= output < max(made.OUTPUTS[1], 1)
        assert output >= 0 or pack.reason


def test_every_timed_row_of_the_table_is_an_element():
    assert {kind.TIMED for kind in ELEMENTS.values()} - {""} == set(COST)


def test_patterns_with_masks_open_digits_and_negation():
    text = "FromDevice(a) -> c :: Classifier(0/4? 9/11, !0/45, 8/0f%0f, -); " + "; ".join(
        f"c[{k}] -> d{k} :: Discard" for k in range(4)
    )
    graph = Graph.read(text)

    def way(first, ttl, protocol):
        return graph.run("a", bytes([first, *bytes(7), ttl, protocol]))[0].path[-1]

    assert [way(0x46, 0, 17), way(0x60, 0, 0), way(0x45, 0x3F, 0), way(0x45, 0, 0)] == ["d0", "d1", "d2", "d3"]


# ---- what other people's configurations use


def udp(source, destination, source_port, destination_port, protocol=17, body=b"\0\x0c\0\0body"):
    """Return a packet with ports."""
    ends = b"".join(bytes(map(int, end.split("."))) for end in (source, destination))
    head = b"\x45\0" + (24 + len(body)).to_bytes(2, "big") + bytes(4) + bytes([64, protocol, 0, 0]) + ends
    return with_checksum(head) + source_port.to_bytes(2, "big") + destination_port.to_bytes(2, "big") + body


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("udp", True), ("tcp", False), ("udp && !icmp", True), ("not (udp or tcp)", False), ("-", True),
        ("all", True),
        ("src host 10.0.0.1", True), ("dst 10.0.0.1", False), ("host 10.0.0.1", True), ("10.0.0.1 or tcp", True),
        ("src net 10.0.0.0/8", True), ("dst net 10/8", False), ("src and dst net 0.0.0.0/0", True),
        ("src port 99 dst port 80", True), ("dst udp port www", True), ("dst tcp www or https", False),
        ("dst port 53 or 80", True), ("src or dst port dns", False), ("ip proto udp", True), ("ip ttl > 64", False),
        ("ip ttl 64", True), ("ip frag", False), ("ip unfrag", True), ("icmp type echo", False), ("tcp opt syn", False),
        ("port > 79", True), ("src prot 5", None), ("(udp", None), ("udp and", None), ("", None),
    ],
)  # fmt: skip
def test_expressions(text, fits):
    if fits is None:
        with pytest.raises(InputError, match=r"is not understood at|must be IPv4"):
            expression(text)
    else:
        assert expression(text)(udp("10.0.0.1", "20.0.0.1", 99, 80)) is fits


def test_filters_allow_deny_and_number():
    graph = Graph.read(
        "FromDevice(a) -> f :: IPFilter(deny src 10.0.0.9, 1 udp port 53, allow udp);"
        "f -> x :: Discard; f[1] -> y :: Discard"
    )
    ends = [graph.run("a", udp(*row, 7, port))[0] for *row, port in
            (("10.0.0.1", "1.1.1.1", 80), ("10.0.0.1", "1.1.1.1", 53), ("10.0.0.9", "1.1.1.1", 53))]  # fmt: skip
    assert [(one.path[-1], one.exit) for one in ends] == [("x", "discard"), ("y", "discard"), ("f", "drop")]


def test_a_rewriter_gives_ports_and_takes_replies_back():
    graph = Graph.read(
        "AddressInfo(out 9.0.0.1 2:0:0:0:0:9); IPRewriterPatterns(nat out 1024-1025 - -);"
        "FromDevice(in) -> rw :: IPRewriter(pattern nat 0 1, drop); FromDevice(back) -> [1] rw;"
        "rw -> x :: Discard; rw[1] -> y :: Discard"
    )
    first = graph.run("in", udp("10.0.0.1", "20.0.0.1", 5, 53))[0].pack.data
    second = graph.run("in", udp("10.0.0.2", "20.0.0.1", 5, 53))[0].pack.data
    assert first == udp("9.0.0.1", "20.0.0.1", 1024, 53)  # a checksum of UDP that was none stays none
    assert second == udp("9.0.0.1", "20.0.0.1", 1025, 53)
    (reply,) = graph.run("back", udp("20.0.0.1", "9.0.0.1", 53, 1025))
    assert (reply.path[-1], reply.pack.data) == ("y", udp("20.0.0.1", "10.0.0.2", 53, 5))
    assert graph.run("in", udp("10.0.0.3", "20.0.0.1", 5, 53))[0].exit == "drop"  # no port is left
    assert graph.run("back", udp("20.0.0.2", "9.0.0.1", 53, 1025))[0].exit == "drop"
    tcp = udp("20.0.0.1", "9.0.0.1", 53, 1025, 6, bytes(12) + b"\x12\x34\0\0")
    for packet in (tcp, summed(tcp, 20, 6)):  # RFC 1624: right sums stay right, wrong ones wrong
        text = "FromDevice(in) -> rw :: IPRewriter(pattern 7.0.0.7 9 8.0.0.8 7 0 0) -> Discard"
        (changed,) = Graph.read(text).run("in", packet)
        assert (summed(changed.pack.data, 20, 6) == changed.pack.data) is (packet != tcp)
    with pytest.raises(InputError, match="a named pattern is NAME SADDR SPORT DADDR DPORT, got 'nat'"):
        Graph.read("IPRewriterPatterns(nat);")


def test_names_prefixes_and_compounds_without_a_name():
    graph = Graph.read(
        "AddressInfo(home 10.0.0.1 10.0.0.0/24 0-1-2-3-4-5);"
        "FromDevice(a) -> { input -> Strip(14) -> output } -> r :: StaticIPLookup(home:ip 0, home 1, 0/0 2);"
        "r -> ToHost; r[1] -> e :: EtherEncap(0x0800, home, home:eth) -> Queue -> ToDevice(a);"
        "r[2] -> IPMirror -> Discard; FromDevice(b) -> q :: ARPResponder(home, 20/8 home) -> Discard"
    )
    assert [graph.elements["q"].owner(one) is None for one in (0x0A000001, 0x0A000002, 0x14FFFFFF)] == [0, 1, 0]
    assert graph.elements["e"].header == bytes.fromhex("000102030405" * 2 + "0800")


def test_pings_are_made_and_answered():
    graph = Graph.read("p :: ICMPPingSource(1.0.0.1, 1.0.0.2) -> ICMPPingResponder -> IPMirror -> IPPrint(x) -> [0] p")
    (gone,) = graph.run("p", graph.elements["p"].data)
    assert (gone.exit, gone.pack.data[20], header_checksum_is_right(gone.pack.data)) == ("rest", 0, True)


# ---- keywords and relations: read, or refused by name

QUERY = bytes.fromhex("45000020000100004011f6adc000020ac000021403e80035000c000078787878")
LATER = bytes.fromhex("4500002c0001000340068e91c0000201c6336402" + "00" * 24)  # a later piece of TCP
SHORT = bytes.fromhex("45000016000100004011f6adc000020ac000021403e8")  # ends behind its first port


@pytest.mark.parametrize(
    ("text", "packet", "fits"),
    [
        ("src host != 192.0.2.10", QUERY, False), ("src host != 192.0.2.11", QUERY, True),
        ("host != 192.0.2.20", QUERY, False), ("dst net != 192.0.2.0/24", QUERY, False),
        ("ip proto != udp", QUERY, False), ("ip proto != 6", QUERY, True),
        ("port != 53", QUERY, False), ("src port != 53", QUERY, True), ("port != 99", QUERY, True),
        ("tcp port != 99", QUERY, False), ("port != 99", SHORT, False), ("port != 99", LATER, False),
        ("dst port < 99", SHORT, False), ("icmp type != 8", SHORT, False), ("ack", LATER, False),
        ("tcp opt ack", LATER, False), ("tcp", LATER, True), ("udp host 192.0.2.10", QUERY, True),
        ("tcp host 192.0.2.10", QUERY, False), ("udp src port 1000", SHORT, True),
    ],
)  # fmt: skip
def test_relations_compare_and_missing_fields_fit_nothing(text, packet, fits):
    assert expression(text)(packet) is fits


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ip proto 300", "a protocol must be 0 to 255, got '300'"), ("src port 70000", "a port must be 0 to 65535"),
        ("ip ttl 300", "ttl must be 0 to 255"), ("ip dscp 64", "dscp must be 0 to 63"), ("ip hl 16", "hl must be 0"),
        ("icmp type 256", "type of ICMP must be 0 to 255"), ("src host < 1.2.3.4", "an address cannot be compared by"),
        ("tcp opt != syn", "a flag cannot be compared by '!='"), ("src host 1.2.3.4 & udp", "not understood at '&'"),
        ("src host 010.0.0.1", "010.0.0.1"), ("src net 10.0.0.0/08", "a number is needed, got '08'"),
        ("ip ttl <> 3", "got '>'"), ("ip ecn 1", "is not understood at"), ("ip frag or 53", "'53' is of no field"),
    ],
)  # fmt: skip
def test_what_no_packet_can_have_and_what_is_not_read_is_refused(text, told):
    with pytest.raises(InputError) as caught:
        expression(text)
    assert told in str(caught.value)


KEYWORDS = [
    ("CheckIPHeader(CHECKSM false)", "CheckIPHeader 'e': keyword 'CHECKSM' is not supported (nearest: CHECKSUM)"),
    ("CheckIPHeader(CHECKSUM maybe)", "CHECKSUM must be true or false, got 'maybe'"),
    ("CheckIPHeader(OFFSET 1, OFFSET 2)", "keyword 'OFFSET' stands twice"),
    ("CheckIPHeader(VERBOSE true, INTERFACES 10.0.0.1/8, COLOR 1)", "keyword 'COLOR' is not supported"),
    ("IPFragmenter(576, HONOR_D false)", "keyword 'HONOR_D' is not supported (nearest: HONOR_DF)"),
    ("UDPIPEncap(1.0.0.1, 70000, 1.0.0.2, 2)", "a port must be 0 to 65535, got '70000'"),
    ("Queue(CAPACITIES 3)", "keyword 'CAPACITIES' is not supported (nearest: CAPACITY)"),
    ("RED(5, 50, 0.02, ACTIVE false)", "lets no packets pass (supported: ACTIVE true)"),
    ("Unqueue(LIMIT 3)", "a limit on packets is not supported"),
    ("Counter(COUNT_CALL 3 f.active false)", "handlers are not run, got 'f.active false' (supported: stop)"),
    ("Tee(-2)", "a number is needed, got '-2'"),
    ("Strip(014)", "a number is needed, got '014'"),
    ("Paint(300)", "a paint must be 0 to 255, got '300'"),
    ("Paint(1, ANNO 17)", "keyword 'ANNO' is not supported"),
    ("EtherEncap(70000, 2:0:0:0:0:1, 2:0:0:0:0:2)", "the type of frames must be 0 to 65535"),
    ("SwitchEncap(70000)", "a port of the matrix must be 0 to 65535, got '70000'"),
]


@pytest.mark.parametrize(("text", "told"), KEYWORDS, ids=range(len(KEYWORDS)))
def test_every_keyword_is_read_or_refused(text, told):
    with pytest.raises(InputError) as caught:
        Graph.read(f"FromDevice(a, PROMISC true) ->\ne :: {text} -> Discard", "m.click")
    assert str(caught.value).startswith("m.click:2: ")
    assert told in str(caught.value)


SILENT = [
    "InfiniteSource(LIMIT 0)", "InfiniteSource(x, 1, 1, 0)", "RatedSource(ACTIVE no)",
    "ICMPPingSource(1.0.0.1, 1.0.0.2, LIMIT 0)",
]  # fmt: skip


@pytest.mark.parametrize("source", SILENT)
def test_a_source_that_makes_no_packets_is_refused(source):
    with pytest.raises(InputError, match="makes no packets"):
        Graph.read(f"{source} -> Discard;")
    with pytest.raises(InputError, match="takes no packets"):
        Graph.read("FromDevice(a) -> Queue -> Discard(ACTIVE false);")


FROM, TO = "0:0:0:0:0:1, 1.0.0.1, 1234", "1:1:1:1:1:1, 2.0.0.2, 80"
MADE_BY_CLICK = [  # commit 9197a59
    ("InfiniteSource(DATA \\<0a0b>, LENGTH 7)", "0a0b0a0b0a0b0a"), ("InfiniteSource(hello, 1)", b"hello".hex()),
    ("TimedSource(1ms, \"abc\", LIMIT 1)", b"abc".hex()), ("RatedSource(\\<0102>, 5, DATASIZE 5)", "0102010201"),
    (f"FastUDPSource(100, 1, 60, {FROM}, {TO})", "01010101010100000000000108004500002e00000000fa11bdbc0100000102000002"
     "04d20050001af795" + "00" * 18),
    (f"FastUDPSource(100, 1, 20, {FROM}, {TO}, CHECKSUM false)", "01010101010100000000000108004500002e00000000fa11bdbc"
     "010000010200000204d20050001a0000" + "00" * 18),
    ("ICMPPingSource(1.0.0.1, 2.0.0.2)", "4500001c00010000c801efdd01000001020000020800f7fe00000001"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "octets"), MADE_BY_CLICK, ids=range(len(MADE_BY_CLICK)))
def test_sources_make_what_click_makes(source, octets):
    between = "Unqueue -> " if source.startswith("Fast") else ""
    assert Graph.read(f"s :: {source} -> {between}Discard;").elements["s"].data.hex() == octets


def test_scripts_that_change_elements_before_packets_come_are_refused():
    with pytest.raises(InputError, match=r"handlers cannot be written before packets come, got 'write q.capacity 3'"):
        Graph.read("FromDevice(a) -> q :: Queue -> Discard; Script(print hello, write q.capacity 3);")
    Graph.read("FromDevice(a) -> q :: Queue -> Discard; Script(wait 10, write q.capacity 3, write stop);")


ETHERNET = bytes.fromhex("0200000000010200000000020800")
BAD_SUM = bytes.fromhex("450000200001000040111111c000020ac000021403e80035000c000078787878")
CHECKED = [  # arguments, IP packet, whether it is good: the manual of Click's CheckIPHeader
    ("", BAD_SUM, False), ("CHECKSUM false", BAD_SUM, True), ("CHECKSUM false", BAD_SUM[:24], False),
    ("INTERFACES 192.0.2.1/24 198.51.100.1/24", udp("192.0.2.1", "203.0.113.9", 1, 2), True),
    ("INTERFACES 192.0.2.1/24 198.51.100.1/24", udp("192.0.2.255", "203.0.113.9", 1, 2), False),
    ("INTERFACES 192.0.2.1/24 198.51.100.1/24", udp("0.0.0.0", "203.0.113.9", 1, 2), False),
    ("INTERFACES 192.0.2.1/24", udp("0.0.0.0", "192.0.2.1", 1, 2), True),
    ("192.0.2.7", udp("192.0.2.7", "203.0.113.9", 1, 2), False),
    ("BADSRC 192.0.2.7, GOODDST 203.0.113.9", udp("192.0.2.7", "203.0.113.9", 1, 2), True),
]  # fmt: skip


@pytest.mark.parametrize(("said", "packet", "good"), CHECKED, ids=range(len(CHECKED)))
def test_headers_are_checked_as_the_keywords_say(said, packet, good):
    graph = Graph.read(
        f"FromDevice(a) -> Strip(14) -> c::CheckIPHeader({said}) -> good::Discard; c[1] -> bad::Discard;"
    )
    assert graph.run("a", ETHERNET + packet)[0].path[-1] == ("good" if good else "bad")


def test_a_fragmenter_that_does_not_honour_the_flag():
    text = "FromDevice(a) -> f :: IPFragmenter(100, HONOR_DF {}) -> good :: Discard; f[1] -> bad :: Discard;"
    whole = with_checksum(bytes.fromhex("450000e40001400040110000c0000201c6336402") + bytes(208))
    assert [gone.path[-1] for gone in Graph.read(text.format("true")).run("a", whole)] == ["bad"]
    pieces = Graph.read(text.format("false")).run("a", whole)
    assert [(gone.path[-1], len(gone.pack.data) <= 100) for gone in pieces] == [("good", True)] * 3
    assert all(gone.pack.data[6] & 0x40 == 0 and header_checksum_is_right(gone.pack.data[:20]) for gone in pieces)


def test_a_source_route_leads_back_but_where_the_error_is_about_it():
    """Two hops of a loose source route that was followed to its end; its option is octets 20 to 30."""
    route = bytes([131, 11, 12, 10, 0, 0, 1, 10, 0, 0, 2, 0])
    packet = with_checksum(bytes([0x48, 0, 0, 32, *bytes(4), 9, 17, 0, 0, 10, 0, 0, 9, 10, 0, 0, 8]) + route)
    element = ICMPError.__new__(ICMPError)
    element.type, element.code = 12, 0
    assert [element._source_route(packet, at) for at in (20, 30)] == [b"", b""]
    back = bytes([131, 11, 4, 10, 0, 0, 2, 10, 0, 0, 1, 0])
    assert [element._source_route(packet, at) for at in (1, 31)] == [back, back]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_packet_of_pieces_has_the_header_of_its_first(order):
    head = "4500001c0001{}0{}110000c0000201c6336402"  # 8 bytes of data behind 20
    pieces = [with_checksum(bytes.fromhex(head.format(*how)) + bytes(8)) for how in (("2000", 9), ("0001", 5))]
    graph = Graph.read("FromDevice(a) -> IPReassembler -> good :: Discard;")
    (whole,) = [gone.pack.data for k in order for gone in graph.run("a", pieces[k]) if gone.path[-1] == "good"]
    assert (whole[2:4], whole[6:9], len(whole)) == (b"\0\x24", b"\0\0\x09", 36)
