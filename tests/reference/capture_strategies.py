"""Hypothesis strategies: packets of every kind, pcap, pcapng and ERF files made of them, and broken ones."""

from hypothesis import strategies as st
from reference import capture_files as make

from npexplore.packets.erf import TYPES
from npexplore.packets.links import LINK_TYPES

HEX = "4500 6000 0800 86dd 81000005 88a80006 8847 8864 1100000100200021 aaaa03000000 060603 ff03 0021 57 00000140"
MORE_HEX = "00010040 0000d140 0806 02000000 0000001e 03cc 0300800080c20001 1841 0f000800 894f 8842 00000800 50"
PIECES = [bytes.fromhex(text) for text in (*HEX.split(), *MORE_HEX.split(), 6 * "00", 12 * "00", 20 * "00")]

payloads = st.one_of(
    st.builds(make.udp, st.integers(0, 65535), st.integers(0, 65535), st.binary(max_size=8)),
    st.builds(make.tcp, flags=st.integers(0, 255)),
    st.binary(max_size=12),
)
extensions = st.lists(st.sampled_from([(0, 1), (43, 1), (60, 2), (44, 1), (51, 1), (135, 1)]), max_size=3)


@st.composite
def ipv6_packets(draw):
    chain = draw(extensions)
    kinds = [kind for kind, _ in chain] + [draw(st.sampled_from([6, 17, 58, 59]))]
    body = b""
    for (kind, units), following in zip(chain, kinds[1:], strict=True):
        body += bytes([following, (units * 2 if kind == 51 else units - 1 if kind != 44 else 0)])
        body += draw(st.binary(min_size=8 * units - 2, max_size=8 * units - 2))
        body += bytes(8) if kind == 51 else b""
    return make.ipv6(body + draw(payloads), kinds[0], draw(st.integers(0, 255)), draw(st.integers(0, 255)))


networks = st.one_of(
    st.builds(
        make.ipv4,
        payloads,
        proto=st.sampled_from([1, 6, 17, 33, 132, 136]),
        ttl=st.integers(0, 255),
        tos=st.integers(0, 255),
        fragment=st.sampled_from([0, 0x4000, 0x2000, 0x0001, 0x3FFF]),
        options=st.sampled_from([b"", b"\1\1\1\0", bytes(40)]),
        bad=st.booleans(),
    ),
    ipv6_packets(),
    st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join),
)
ETHERTYPES = [0x0800, 0x86DD, 0x0806, 0x8847, 0x8864, 0x8870, 0x894F, 0x88CC, 0x05DC, 0x0026, 0x05DD]
ethernets = st.builds(
    make.ethernet,
    st.one_of(
        networks,
        st.builds(make.mpls, networks, st.integers(0, 20), st.integers(0, 1048575)),
        st.builds(
            make.nsh,
            st.one_of(networks, networks.map(make.ethernet), networks.map(make.nsh)),
            *[st.integers(0, 6), st.integers(1, 2), st.sampled_from([b"", bytes(16)])],
            words=st.sampled_from([None, None, 0, 1, 6, 63]),
            version=st.sampled_from([0, 0, 1]),
        ),
        st.builds(make.pppoe, networks, st.sampled_from([0x21, 0x57, 0x2145, 0xC021])),
        st.builds(make.llc_snap, networks, st.sampled_from(ETHERTYPES), st.sampled_from([0, 0xF8, 12])),
    ),
    st.sampled_from(ETHERTYPES),
    st.lists(st.tuples(st.sampled_from([0x8100, 0x88A8, 0x9100]), st.integers(0, 65535)), max_size=10),
    pad=st.sampled_from([0, 60]),
)
wifi = st.builds(
    make.wifi_data, st.builds(make.llc_snap, networks), *[st.booleans()] * 3, st.integers(0, 1), *[st.booleans()] * 2
)
anything = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6), networks), max_size=8).map(b"".join)
packets = st.one_of(
    ethernets, networks, anything, wifi, st.builds(make.radiotap, wifi, st.sampled_from([None, 0, 0x20]))
)
links = st.sampled_from([1] * 20 + sorted(LINK_TYPES) + [9999])
u32 = st.one_of(st.integers(0, 2000), st.sampled_from([2**31, 2**32 - 1, 10**9]))
lengths = st.one_of(st.none(), u32)
orders = st.sampled_from("<>")


@st.composite
def pcaps(draw):
    magic = draw(st.sampled_from([make.US, make.NS, make.MODIFIED, make.IXIA_HW]))
    version = draw(st.sampled_from([(2, 4), (2, 4), (2, 4), (2, 3), (2, 2), (2, 0), (543, 0)]))
    records = draw(st.lists(st.tuples(u32, u32, packets, lengths), max_size=6))
    link = draw(links) | draw(st.sampled_from([0, 0x24000000]))
    return make.pcap(records, magic, draw(orders), version, link)


@st.composite
def pcapngs(draw):
    out = []
    for _ in range(draw(st.integers(1, 3))):
        order = draw(orders)
        out.append(make.section(order))
        known = 0
        for _ in range(draw(st.integers(0, 6))):
            kind = draw(st.sampled_from("ieeepsux"))
            data, length = draw(packets), draw(lengths)
            ticks, number = draw(st.integers(0, 2**64 - 1)), draw(st.integers(0, max(0, known - 1)))
            if kind == "i" or not known:
                resolution = draw(st.one_of(st.none(), st.integers(0, 255)))
                offset = draw(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-(10**10), 10**10)))
                snaplen = draw(st.sampled_from([0, 20, 65535]))
                out.append(make.interface(order, draw(links), snaplen, resolution, offset, name=b"eth"))
                known += 1
            elif kind == "e":
                options = draw(st.sampled_from([b"", make.option(1, b"hello", order)]))
                out.append(make.enhanced(data, ticks, number, length, order, options))
            elif kind == "p":
                out.append(make.obsolete(data, ticks, number, length, order))
            elif kind == "s":
                out.append(make.simple(data, length, order))
            else:
                out.append(make.block(draw(st.sampled_from([4, 5, 10, 0xBAD, 0x40000BAD, 0x80001234])), data, order))
    return b"".join(out)


@st.composite
def erfs(draw):
    ticks = draw(st.integers(0, 2**64 - 1))
    out = [make.erf(22, draw(st.binary(min_size=1, max_size=30)), ticks)]  # no file of padding alone, which is none
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from([1, 2, 2, 2, 4, 5, 9, 11, 17, 22, 23, *sorted(TYPES)]))
        data = bytes(TYPES[kind].subheader_bytes) + (bytes(4) if kind in (4, 9) else b"") + draw(packets)
        ticks = min(2**64 - 1, ticks + draw(st.integers(0, 2**33)))
        wire = draw(st.one_of(st.none(), st.integers(0, 65535)))
        extensions, pad = draw(st.sampled_from([0, 0, 0, 1, 3])), draw(st.integers(0 if data else 1, 7))
        out.append(make.erf(kind, data, ticks, draw(st.integers(0, 3)), wire, extensions, pad))
    return b"".join(out)


@st.composite
def broken(draw, files):
    data = bytearray(draw(files))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.sampled_from([0, 1, 2, 4]))
        value = draw(st.sampled_from([b"\0", b"\xff", b"\x80"])) * size
        data[at : at + size] = draw(st.one_of(st.just(value), st.binary(max_size=4)))
    return bytes(data[: draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))])
