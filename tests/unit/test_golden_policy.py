"""The switches of [policy] and listed_only: what each changes, and that it is off at first."""

import gzip
import re

import pytest

from npexplore.errors import InputError
from npexplore.golden.ipv4.header import write_packet
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import load_router
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.route_file import read_routes

ROUTER = """
[[port]]
name = "a"
address = "10.0.0.1/24"
mac = "02:00:00:00:00:00"
peer_mac = "02:00:00:00:01:00"
[[port]]
name = "b"
address = "10.1.0.1/24"
mac = "02:00:00:00:00:01"
peer_mac = "02:00:00:00:01:01"
{more}
[[neighbour]]
address = "10.1.0.2"
mac = "02:00:00:00:02:02"
[[route]]
prefix = "20.0.0.0/8"
via = "10.1.0.2"
[[route]]
prefix = "30.0.0.0/8"
via = "10.1.0.3"
"""
INSIDE, BESIDE = 0x0A000009, 0x0A010009  # on the links of a and b


def router(tmp_path, text="", more=""):
    path = tmp_path / "r.toml"
    path.write_text(ROUTER.format(more=more) + text)
    return load_router(path)


def asked(forwarder, source, destination, port=0, ttl=9):
    """Return the outcome of a packet that a neighbour sends to the router."""
    link = forwarder.router.ports[port]
    return forwarder.forward(port, link.mac + link.peer_mac + b"\x08\x00" + write_packet(source, destination, ttl=ttl))


def test_directed_broadcasts_leave_as_broadcasts_of_the_link_where_that_is_on(tmp_path):
    everybody = 0x0A0100FF
    assert asked(Forwarder(router(tmp_path)), INSIDE, everybody).reason is Reason.DIRECTED_BROADCAST
    on = Forwarder(router(tmp_path, "[policy]\ndirected_broadcasts = true"))
    outcome = asked(on, INSIDE, everybody)
    assert not outcome.reason
    assert [(sent.port, sent.frame[:12]) for sent in outcome.sent] == [(1, b"\xff" * 6 + on.router.ports[1].mac)]
    assert outcome.sent[0].frame[22] == 8  # one less to live
    assert asked(on, BESIDE, everybody, port=1).reason is Reason.DIRECTED_BROADCAST  # its link has it already
    assert asked(on, INSIDE, everybody, ttl=1).sent == ()  # no error about a broadcast
    assert asked(on, INSIDE, 0xFFFFFFFF).reason is Reason.LIMITED_BROADCAST


def test_sources_are_believed_by_their_own_port_where_that_is_on(tmp_path):
    off, on = Forwarder(router(tmp_path)), Forwarder(router(tmp_path, "[policy]\nreverse_path = true"))
    for source, port, believed in (
        (INSIDE, 0, True),
        (INSIDE, 1, False),
        (0x14000001, 1, True),
        (0x14000001, 0, False),
    ):
        assert asked(on, source, 0x14000002, port).reason is (Reason.NONE if believed else Reason.REVERSE_PATH)
        assert not asked(off, source, 0x14000002, port).reason
    nowhere = asked(on, 0x63000001, 0x63000002)
    assert nowhere == (Reason.REVERSE_PATH, ())  # silently, although the destination has no route either


def test_who_is_not_listed_is_not_there(tmp_path):
    on = Forwarder(router(tmp_path, more="listed_only = true"))
    assert not asked(on, INSIDE, 0x14000001).reason
    for destination in (BESIDE, 0x1E000001):  # the host itself; a next hop
        outcome = asked(on, INSIDE, destination)
        assert outcome.reason is Reason.NO_NEIGHBOUR
        (told,) = outcome.sent
        assert told.icmp
        assert told.frame[34:36] == b"\x03\x01"  # RFC 1812 section 4.3.3.1: host unreachable
        assert told.frame[14 + 28 : 14 + 48] == write_packet(INSIDE, destination, ttl=9)  # as it came
    silent = asked(on, BESIDE, 0x63000001, port=1)
    assert silent == (Reason.NO_ROUTE, ())  # there is nobody to tell


def test_messages_are_limited(tmp_path):
    on = Forwarder(router(tmp_path, "[policy]\nicmp_per_second = 1\nicmp_burst = 2"))
    assert [len(asked(on, INSIDE, 0x63000001).sent) for _ in range(3)] == [1, 1, 0]
    assert Forwarder(router(tmp_path)).ipv4.error_limit is None
    assert Forwarder(router(tmp_path, "[policy]\nicmp_per_second = 7")).ipv4.error_limit.burst == 7


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[policy]\nreverse_paths = true", "key 'reverse_paths' is unknown (nearest: reverse_path"),
        ("[policy]\nicmp_burst = 2", "r.toml: policy: icmp_burst needs icmp_per_second beside it"),
        (
            "[policy]\nicmp_per_second = 2\nicmp_burst = 0",
            "r.toml: policy: icmp_burst must be greater than 0",
        ),
        ("[policy]\nicmp_per_second = -1", "r.toml: policy: icmp_per_second must be greater than 0"),
    ],
)
def test_wrong_switches(tmp_path, text, told):
    with pytest.raises(InputError) as raised:
        router(tmp_path, text)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("text", "more", "name"),
    [
        ("[policy]\ndirected_broadcasts = true", "", "directed_broadcasts"),
        ("[policy]\nreverse_path = true", "", "reverse_path"),
        ("", "listed_only = true", "listed_only"),
    ],
)
def test_the_kernels_profile_has_no_switches(tmp_path, text, more, name):
    with pytest.raises(InputError, match=f"profile linux has no switch {name}"):
        Forwarder(router(tmp_path, text, more), profile="linux")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('address = "10.0.0.1/24"', 'address = "10.0.0.255/24"', "port[0] 'a': address must be that of a host"),
        ('address = "10.0.0.1/24"', 'address = "10.0.0.0/24"', "port[0] 'a': address must be that of a host"),
        ('address = "10.0.0.1/24"', 'address = "224.0.0.1/24"', "port[0] 'a': address must be that of a host"),
        ('address = "10.0.0.1/24"', 'address = "127.0.0.1/24"', "port[0] 'a': address must be that of a host"),
        ("02:00:00:00:00:00", "01:00:5e:00:00:01", "port[0] 'a': mac must be that of one station"),
        ("02:00:00:00:01:01", "ff:ff:ff:ff:ff:ff", "port[1] 'b': peer_mac must be that of one station"),
        ("10.1.0.3", "10.1.0.255", "route[1]: next hop 10.1.0.255 is no host's: first or last address of link 10.1"),
        ("10.1.0.3", "10.1.0.0", "route[1]: next hop 10.1.0.0 is no host's"),
        ("10.1.0.3", "10.1.0.1", "route[1]: next hop 10.1.0.1 is the router itself"),
        ('address = "10.1.0.2"', 'address = "10.1.0.1"', "neighbour[0]: address 10.1.0.1 is the router itself"),
        (
            "[[neighbour]]", '[[neighbour]]\naddress = "10.1.0.2"\nmac = "02:00:00:00:02:03"\n[[neighbour]]',
            "neighbour[1]: 10.1.0.2 has a MAC address already",
        ),
    ],
)  # fmt: skip
def test_addresses_that_no_host_has(tmp_path, old, new, told):
    path = tmp_path / "r.toml"
    path.write_text(ROUTER.format(more="").replace(old, new))
    with pytest.raises(InputError) as raised:
        load_router(path)
    assert f"r.toml: {told}" in str(raised.value)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('via = "10.1.0.2"\nnext_hops = [{via = "10.1.0.3"}]', "a route with next_hops has neither via nor port"),
        ('kind = "blackhole"\nnext_hops = [{via = "10.1.0.3"}]', "a route of kind blackhole has neither via"),
        ('next_hops = [{via = "10.1.0.3", weight = 0}]', "next_hops[0]: weight must be 1 to 256, got 0"),
        ('next_hops = [{via = "10.1.0.3"}, {via = "10.1.0.3"}]', "next_hops[1]: next hop 10.1.0.3 stands there twice"),
        ('next_hops = [{via = "10.1.0.3"}, {via = "10.9.0.3"}]', "next_hops[1]: next hop 10.9.0.3 is on no link"),
        ('next_hops = [{via = "10.1.0.3", port = "c"}]', "next_hops[0]: port"),
    ],
)
def test_next_hops_that_contradict_each_other(tmp_path, lines, told):
    with pytest.raises(InputError) as raised:
        router(tmp_path, f'[[route]]\nprefix = "40.0.0.0/8"\n{lines}')
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_one_of_several_next_hops_is_a_next_hop(tmp_path):
    one = router(tmp_path, '[[route]]\nprefix = "40.0.0.0/8"\nnext_hops = [{via = "10.1.0.3"}]')
    assert asked(Forwarder(one), INSIDE, 0x28000001).sent[0].port == 1
    assert Forwarder(one).explain(0x28000001).endswith("via 10.1.0.3")
    hops = '[{via = "10.1.0.3"}, {via = "10.0.0.3", weight = 2}]'
    several = router(tmp_path, f'[[route]]\nprefix = "40.0.0.0/8"\nnext_hops = {hops}')
    assert "one of b via 10.1.0.3, a via 10.0.0.3" in Forwarder(several).explain(0x28000001)


MORE = 'addresses = ["10.0.7.1/24", "10.0.0.9"]'
VLAN = '[[port]]\nname = "v"\naddress = "10.7.0.1/24"\non = "a"\nvlan = 7'
SECOND = VLAN.replace('"v"', '"w"').replace("10.7", "10.8")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('addresses = ["10.0.9.9"]', "port[0] 'a': address 10.0.9.9 without a length is in no network of its link"),
        ('addresses = ["10.1.0.9/24"]', "port[1] 'b': network 10.1.0.1/24 overlaps with that of port 'a'"),
        ('addresses = ["10.0.0.9/25"]', "port[0] 'a': network of 10.0.0.9/25 overlaps with another one of the port"),
        ('addresses = ["10.0.0.1"]', "port[0] 'a': the port has the address 10.0.0.1 already"),
        ('addresses = ["10.0.7.255/24"]', "port[0] 'a': address must be that of a host on its network"),
        ('addresses = ["2001:db8::1/64"]', "port[0] 'a': addresses has '2001:db8::1/64', but the port has no address6"),
        ("vlan = 7", "port[0] 'a': a VLAN needs both `vlan` and the port that it is `on`"),
        (VLAN.replace("vlan = 7", "vlan = 4095"), "port[1] 'v': vlan must be 1 to 4094 (IEEE 802.1Q clause 9.6)"),
        (VLAN + "\nmtu = 9000", "port[1] 'v': mtu must be that of port 'a' at most, 1500, got 9000"),
        (f"{VLAN}\n{SECOND}", "port[2] 'w': VLAN 7 of port 'a' is that of 'v' already"),
        (VLAN + "\n" + SECOND.replace('on = "a"', 'on = "v"'), "port[2] 'w': a VLAN must be on a port, 'v' is a VLAN"),
        ("[linux]\nrp_filter = 3", "linux: rp_filter must be 0 (off), 1 (strict) or 2 (loose), got 3"),
        ("[linux]\nrp_filter = 1", 'linux: settings of the kernel need profile = "linux", got '),
    ],
)  # fmt: skip
def test_wrong_interfaces(tmp_path, text, told):
    with pytest.raises(InputError) as raised:
        interfaces(tmp_path, text)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_vlan_has_the_mac_addresses_of_its_port(tmp_path):
    ports = interfaces(tmp_path, f"{MORE}\n{VLAN}").ports
    assert (ports[1].mac, ports[1].on, ports[1].vlan) == (ports[0].mac, 0, 7)
    assert ports[0].own == (0x0A000001, 0x0A000701, 0x0A000009)


def interfaces(folder, text):
    """Return a router of port `a` with more lines, and port `b`."""
    path = folder / "r.toml"
    macs = 'mac = "02:00:00:00:00:0{0}"\npeer_mac = "02:00:00:00:01:0{0}"'
    head, table, tail = text.partition("[linux]")
    path.write_text(
        f'[[port]]\nname = "a"\naddress = "10.0.0.1/24"\n{macs.format(0)}\n{head}\n'
        f'[[port]]\nname = "b"\naddress = "10.1.0.1/24"\n{macs.format(1)}\n{table}{tail}'
    )
    return load_router(path)


def test_a_link_of_two_addresses_has_hosts_alone(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(ROUTER.format(more="").replace("10.0.0.1/24", "10.0.0.0/31"))
    assert load_router(path).ports[0].address == 0x0A000000


def test_a_file_of_routes_that_is_no_gzip_file(tmp_path):
    (tmp_path / "routes.gz").write_bytes(b"20.0.0.0/8 b")
    with pytest.raises(InputError, match=r"routes.gz: not a whole gzip file"):
        router(tmp_path, '[routes]\nfile = "routes.gz"')


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        ("default via 192.0.2.1 dev eth0 proto static metric 100", "0.0.0.0/0 via 192.0.2.1"),
        ("default via 2001:db8::1", "::/0 via 2001:db8::1"),
        ("10.0.0.0/8 dev eth0 proto kernel scope link src 10.0.0.1", "10.0.0.0/8 eth0"),
        ("blackhole 10.0.0.0/8", "10.0.0.0/8 blackhole"),
        ("ip route add 2001:db8::/32 via fe80::1 dev eth0", "2001:db8::/32 via fe80::1"),
        ("B>* 198.51.100.0/24 [20/0] via 203.0.113.1, eth0, weight 1, 00:00:10", "198.51.100.0/24 via 203.0.113.1"),
    ],
)
def test_a_route_of_another_tool_is_refused_with_the_nearest_route(tmp_path, line, nearest):
    (tmp_path / "routes.txt").write_text(f"# routes\n{line}\n")
    with pytest.raises(InputError, match=rf"routes\.txt:2: .* \(nearest: '{re.escape(nearest)}'\)"):
        read_routes(tmp_path / "routes.txt")
    (tmp_path / "routes.txt").write_text(nearest)
    assert "".join(f"{record}" for part in read_routes(tmp_path / "routes.txt") for record in part.records)


@pytest.mark.parametrize(
    "line", ["10.0.0.0/255.0.0.0 via 192.0.2.1", "10/8 via 192.0.2.1", "10.0.0.0/8,192.0.2.1", "x" * 9000]
)
def test_a_line_that_says_no_route_has_no_nearest_one(tmp_path, line):
    (tmp_path / "routes.txt").write_text(line)
    with pytest.raises(InputError) as error:
        read_routes(tmp_path / "routes.txt")
    assert "nearest" not in str(error.value)
    assert len(str(error.value)) < 2100


def test_routes_are_read_with_a_byte_order_mark_and_as_gzip_under_any_name(tmp_path):
    text = "10.0.0.0/8 via 192.0.2.1\r\n"
    for data in (text.encode(), text.encode("utf-8-sig"), gzip.compress(text.encode())):
        (tmp_path / "routes.txt").write_bytes(data)
        assert read_routes(tmp_path / "routes.txt").four.length.tolist() == [8]
