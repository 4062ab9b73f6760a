"""Files of routes read as columns: every prefix as `prefix_pair` reads it, every line as the same [[route]]."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from npexplore.errors import InputError
from npexplore.golden.lookup.family import IPV4, IPV6
from npexplore.golden.router.configuration import load_router

OCTETS = st.sampled_from(
    ["0", "1", "10", "127", "192", "255", "256", "00", "01", "", "1000", "\N{FULLWIDTH DIGIT ONE}"]
)
LENGTHS = st.sampled_from(["", "/0", "/8", "/24", "/32", "/33", "/08", "/", "/-1", "/ 8", "/8/8", ".1", "/320"])
WRITTEN = st.builds(lambda octets, length: ".".join(octets) + length, st.lists(OCTETS, min_size=3, max_size=5), LENGTHS)
TEXTS = st.one_of(WRITTEN, st.text("0123456789./\x00 a", max_size=20),
                  st.builds(lambda v, n: f"{v >> 24}.{v >> 16 & 255}.{v >> 8 & 255}.{v & 255}/{n}",
                            st.integers(0, 2**32 - 1).map(lambda v: v & 0xFFFF0000), st.integers(16, 32)))  # fmt: skip


GROUPS = st.lists(st.sampled_from(["0", "1", "ff", "ABCD", "00fe", "12345", "g", "", "%1", "1.2.3.4"]), max_size=9)
WRITTEN6 = st.builds(
    lambda groups, length: ":".join(groups) + length, GROUPS,
    st.one_of(LENGTHS, st.sampled_from(["::", "::/0", "::/48", "::/64", "::1/128", "/128", "/129"])),
)  # fmt: skip
TEXTS6 = st.one_of(WRITTEN6, st.text("0123456789abcdef:/\x00 %.", max_size=45),
                   st.ip_addresses(v=6, network="2001:db8::/32").map(lambda address: f"{address}/128"))  # fmt: skip


@given(st.one_of(st.tuples(st.just(IPV4), st.lists(TEXTS, max_size=20)),
                 st.tuples(st.just(IPV6), st.lists(TEXTS6, max_size=20))))  # fmt: skip
@example((IPV4, ["255.255.255.255/32", "255.255.255.255/320", "0.0.0.0/0", "1.2.3.4", "1.2.3.4\x00", "1.2.3.4/\x008"]))
@example((IPV6, ["::/0", "::1/127", "2001:db8::/32", "2001:db8::/032", "::1\x00", "fe80::1%eth0", "::1/-1", "::1/"]))
def test_many_prefixes_are_read_as_one_by_one(case):
    family, texts = case
    value, length, read = family.plain_prefixes(texts)
    for row, text in enumerate(texts):
        try:
            expected = family.prefix_pair(text)
        except InputError:
            assert not read[row], text
        else:
            assert not read[row] or (family.numbers(value[row : row + 1])[0], length[row]) == expected, text
            assert read[row], text
    if all(read):
        both = family.prefix_columns(texts)
        assert (both[0].tolist(), both[1].tolist()) == (value.tolist(), length.tolist())


PORTS = "".join(f'[[port]]\nname = "p{k}"\naddress = "10.0.{k}.1/24"\naddress6 = "2001:db8:{k}::1/64"\n'
                f'mac = "02:00:00:00:00:0{k}"\npeer_mac = "02:00:00:00:01:0{k}"\n' for k in range(2))  # fmt: skip
LEADS = [("via 10.0.0.9", 'via = "10.0.0.9"'), ("via 10.0.1.9 push 16/17", 'via = "10.0.1.9"\npush = [16, 17]'),
         ("p1", 'port = "p1"'), ("blackhole", 'kind = "blackhole"')]  # fmt: skip
LEADS6 = [("via 2001:db8:0::9", 'via = "2001:db8:0::9"'), *LEADS[2:],
          ("via 2001:db8:1::9 push 16/17", 'via = "2001:db8:1::9"\npush = [16, 17]')]  # fmt: skip
PREFIXES = ["10.9.0.0/16", "10.9.1.0/24", "0.0.0.0/0", "10.9.1.7", "11.0.0.0/8"]
PREFIXES6 = ["2001:db8:9::/48", "2001:db8:9:1::/64", "::/0", "2001:db8:9::7", "2001:DB8:9::/48"]
SPACES = st.sampled_from(["", "# a", "\t", "  "])
LINES = st.one_of(
    st.tuples(st.sampled_from(prefixes), st.sampled_from(leads), SPACES)
    for prefixes, leads in ((PREFIXES, LEADS), (PREFIXES6, LEADS6))
)


@given(st.lists(LINES))
def test_a_line_is_the_same_route_as_in_the_file_of_the_router(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("routes")
    lines = [
        f"{prefix} {line}{space}" if "#" in space else f"{space}{prefix}  {line} {space}"
        for prefix, (line, _), space in drawn
    ]
    (folder / "routes.txt").write_text("\n".join(["# first", "", *lines]))
    (folder / "a.toml").write_text('routes = { file = "routes.txt" }\n' + PORTS)
    listed = "".join(f'[[route]]\nprefix = "{prefix}"\n{record}\n' for prefix, (_, record), _ in drawn)
    (folder / "b.toml").write_text(PORTS + listed)
    one, other = load_router(folder / "a.toml"), load_router(folder / "b.toml")
    for field in fields(one.routes):
        if field.name != "stack":
            assert np.array_equal(getattr(one.routes, field.name), getattr(other.routes, field.name)), field.name
    pushed = [[made.stacks[k] for k in made.routes.stack] for made in (one, other)]
    assert pushed[0] == pushed[1]
    assert one.six == other.six
    assert [*one.six.routes] == [one.six.routes[row] for row in range(len(one.six.routes))]


@pytest.mark.parametrize(("line", "said"), [
    ("1.2.3.0/24 via 9.9.9.9", "routes.txt:70002: next hop 9.9.9.9 is on no link"),
    ("1.2.3.4/24 p1", "routes.txt:70002: prefix '1.2.3.4/24' has bits set below its length; nearest: 1.2.3.0/24"),
    ("1.2.3.0/24 p1 p2", "routes.txt:70002: a route is PREFIX via ADDRESS or PREFIX PORT, got '1.2.3.0/24 p1 p2'"),
    ("1.2.3.0/24", "routes.txt:70002: a route is PREFIX via ADDRESS or PREFIX PORT, got '1.2.3.0/24'"),
    ("2::/16 via 9::9", "routes.txt:70002: next hop 9::9 is on no link"),
    ("2::1/16 p1", "routes.txt:70002: prefix '2::1/16' has bits set below its length; nearest: 2::/16"),
])  # fmt: skip
def test_a_wrong_line_is_told_by_its_number(tmp_path, line, said):
    (tmp_path / "routes.txt").write_text("# first\n" + "10.9.0.0/16 p1\n" * 70_000 + line + "\n")
    (tmp_path / "a.toml").write_text('routes = { file = "routes.txt" }\n' + PORTS)
    with pytest.raises(InputError) as error:
        load_router(tmp_path / "a.toml")
    assert said in str(error.value)
