"""The oracles find planted faults, show the smallest case with its clause, and let a right router pass."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npexplore.errors import InputError
from npexplore.golden.ipv4.addresses import prefix_mask, prefix_pair
from npexplore.golden.ipv4.header import with_checksum
from npexplore.golden.ipv4.validate import validate_ipv4
from npexplore.golden.lookup import BinaryTrie, LinearLpm
from npexplore.golden.reasons import Reason
from npexplore.golden.router.configuration import PortRecord, RouteRecord, RouterFile, resolve_router
from npexplore.golden.router.forward import Forwarder
from npexplore.testing import (
    Bench,
    CounterexampleError,
    arrival_times,
    check_captures,
    check_lookup,
    check_router,
    compare,
    frames,
    router_configurations,
    run_captures,
)

ROUTER = resolve_router(
    RouterFile(
        port=[
            PortRecord(name="a", address="10.0.0.1/24", mac="02:00:00:00:00:01", peer_mac="02:00:00:00:01:01"),
            PortRecord(name="b", address="10.1.0.1/24", mtu=576, mac="02:00:00:00:00:02", peer_mac="02:00:00:00:01:02"),
        ],
        route=[RouteRecord(prefix="20.0.0.0/8", via="10.1.0.2"), RouteRecord(prefix="20.1.0.0/16", via="10.0.0.2")],
    )
)
GOLDEN = Forwarder(ROUTER)
PROGRAM = Path(__file__).parents[1] / "reference" / "capture_router.py"


def golden(port, frame):
    """Forward as the golden router does."""
    return [(sent.port, sent.frame) for sent in GOLDEN.forward(port, frame).sent]


def forwards_ttl_1(port, frame):
    """Forward packets that have one hop left."""
    outcome = GOLDEN.forward(port, frame)
    if outcome.reason is not Reason.TTL_EXPIRED or frame[22] != 1:
        return golden(port, frame)
    again = frame[:14] + with_checksum(frame[14:22] + b"\2" + frame[23:])
    return [(number, data[:22] + b"\0" + data[23:]) for number, data in golden(port, again)]


def test_a_right_router_passes():
    check_router(golden, ROUTER, max_examples=150)
    check_router(lambda port, frame: Forwarder(ROUTER, profile="linux").forward(port, frame).sent, ROUTER,
                 profile="linux", max_examples=150)  # fmt: skip


def test_a_fault_is_shown_small_and_with_its_clause():
    with pytest.raises(CounterexampleError) as caught:
        check_router(forwards_ttl_1, ROUTER, max_examples=400)
    found = caught.value
    assert found.frame[22] == 1
    assert len(found.frame) == 34
    assert "no time to live is left (RFC 1812 section 5.3.1)" in str(found)
    assert found.difference.field in ("frame", "protocol", "time to live")


def test_the_same_case_is_found_each_time():
    def message():
        with pytest.raises(CounterexampleError) as caught:
            check_router(forwards_ttl_1, ROUTER, max_examples=400)
        return str(caught.value)

    assert message() == message()


def test_what_the_router_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        check_router(lambda port, frame: 1 // 0, ROUTER, max_examples=5)


def test_compare_takes_one_outcome():
    port, frame = 0, ROUTER.ports[0].mac + bytes(6) + b"\x08\x00" + b"\x45"
    outcome = GOLDEN.forward(port, frame)
    compare([], outcome, port=port, frame=frame)
    with pytest.raises(CounterexampleError, match="none, for fewer than the 20 bytes"):
        compare([(1, frame)], outcome, port=port, frame=frame)


class ForgetsCovering(LinearLpm):
    """A removal takes the covering routes away, too."""

    def remove(self, prefix):
        """Take away a route, and all that cover it."""
        value, length = prefix_pair(prefix)
        for covering, bits in list(self._hops):
            if bits <= length and value & prefix_mask(bits) == covering:
                self._remove(covering, bits)


def test_lookups_pass_or_show_the_shortest_updates():
    check_lookup(BinaryTrie, max_examples=100)
    with pytest.raises(CounterexampleError, match=r"RFC 1812 section 5\.2\.4\.3") as caught:
        check_lookup(ForgetsCovering, max_examples=400)
    steps = str(caught.value).splitlines()[2:]
    assert [step.split()[0] for step in steps] == ["insert", "insert", "remove"]


def command(*more):
    return [sys.executable, str(PROGRAM), *more, "--in={port}={file}", "--out={out}"]


@pytest.mark.slow
def test_a_program_is_run_on_captures(tmp_path):
    path = tmp_path / "router.toml"
    path.write_text(
        'port = [{name = "a", address = "10.0.0.1/24", mac = "02:00:00:00:00:01", peer_mac = "02:00:00:00:01:01"},'
        '{name = "b", address = "10.1.0.1/24", mtu = 576, mac = "02:00:00:00:00:02", peer_mac = "02:00:00:00:01:02"}]\n'
        'route = [{prefix = "20.0.0.0/8", via = "10.1.0.2"}, {prefix = "20.1.0.0/16", via = "10.0.0.2"}]\n'
    )
    check_captures(command(str(path)), path, count=150)
    ours = str(Path(sys.executable).with_name("npexplore"))
    check_captures([ours, "route", "--config", str(path), "--in={port}={file}", "--out={out}"], path, count=150)
    with pytest.raises(CounterexampleError) as caught:
        check_captures(command(str(path), "--ttl-1"), path)
    assert caught.value.frame[22] == 1
    assert "\n  in a run of" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["/nowhere/router"], "/nowhere/router cannot be run: No such file or directory"),
        ([sys.executable, "-c", "import sys; sys.exit('no such port')"], "must return 0, got 1: no such port"),
        ([sys.executable, "-c", "import time; time.sleep(9)"], "must end within 0.2 s"),
    ],
)
def test_a_program_that_fails_is_named(words, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        run_captures(words, ROUTER, [(0, bytes(60))], timeout_s=0.2 if "sleep" in words[-1] else 60)


class Device:
    """A device in a simulator: takes frames, hands out what it sends some steps later, port by port in order."""

    def __init__(self, forward):
        self.forward = forward
        self.pending = []

    def send(self, port, frame):
        """Take a frame."""
        self.pending += self.forward(port, frame)

    def step(self):
        """Return the frames that leave now."""
        leaving, self.pending = self.pending[:-3], self.pending[-3:]
        return leaving

    def flush(self):
        """Return all that is left."""
        leaving, self.pending = self.pending, []
        return leaving


def run_bench(forward, **more):
    bench, device = Bench(ROUTER, **more), Device(forward)
    for port, frame in bench.stimuli(200):
        device.send(port, bench.drive(port, frame))
        for out, sent in device.step():
            bench.expect(out, sent)
    for out, sent in device.flush():
        bench.expect(out, sent)
    bench.done()
    return bench


def test_a_bench_follows_a_device():
    bench = run_bench(golden)
    assert bench.seen > 10
    assert bench.awaited == 0


def test_a_bench_notices_what_is_wrong():
    with pytest.raises(CounterexampleError):
        run_bench(forwards_ttl_1)
    with pytest.raises(CounterexampleError, match="got none"):
        run_bench(lambda port, frame: [one for one in golden(port, frame) if one[0] == 0])
    with pytest.raises(CounterexampleError):
        run_bench(lambda port, frame: golden(port, frame)[::-1] * 2)


def test_a_bench_may_take_any_order():
    def swapped(port, frame):
        return golden(port, frame)[::-1]

    assert run_bench(swapped, ordered=False).awaited == 0


def test_a_frame_that_nothing_caused_is_noticed():
    with pytest.raises(CounterexampleError, match="must be none"):
        Bench(ROUTER).expect(1, bytes(60))


@pytest.mark.slow
@given(router_configurations(), st.data())
def test_frames_fit_their_port_and_valid_ones_are_valid(router, data):
    port, frame = data.draw(frames(router))
    assert 14 <= len(frame) <= 14 + router.ports[port].mtu
    port, frame = data.draw(frames(router, valid=True, port=len(router.ports) - 1))
    assert port == len(router.ports) - 1
    assert frame[:6] == router.ports[port].mac
    assert validate_ipv4(frame[14:]) is Reason.NONE


@given(arrival_times(min_size=1, max_size=9, longest_gap_ns=50_000))
def test_arrivals_are_in_order(times):
    assert 1 <= len(times) <= 9
    assert times == sorted(times)
    assert times[0] >= 0
