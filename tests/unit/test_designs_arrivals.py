"""Any packets arrive in any way at every listed design and template; own packets arrive otherwise; windows go."""

from pathlib import Path

import numpy as np
import pytest

from npexplore.designs import design, design_names
from npexplore.errors import InputError
from npexplore.machine.workload import Workload, offered_rate
from npexplore.machine.workload_sources import workload
from npexplore.paths import share
from npexplore.study.sweeping.identity import model_key

TEMPLATE = Path(share("models", "template"))
MACHINES = [*design_names(), TEMPLATE / "toml" / "my_machine.toml", TEMPLATE / "python" / "my_machine.py"]
OWN = [name for name in design_names() if design(name).own is not None]


@pytest.mark.parametrize("arrivals", ["poisson", "periodic", "batch:2", "on_off:2us:3us", "timestamps"])
@pytest.mark.parametrize("name", MACHINES, ids=lambda name: Path(name).name)
def test_packets_of_odd_lengths_arrive_in_any_way(name, arrivals):
    made = design(name).by_packets()
    rate = 0.1 * made.bounds(workload(packet_bytes=1499)).rate_pps
    for sizes in ([65], [577, 65, 1499]):
        packets = Workload("odd", {"packet_bytes": np.resize(sizes, 160)}, t_ns=np.arange(160) * 1000)
        load = packets.with_arrivals(arrivals, rate)
        answer = made.simulate(load, packets=140, warm_up=0)
        assert not sum(answer.drops.values())
        assert answer.offered_pps == pytest.approx(rate, rel=1e-5)  # stamps in whole ns
        assert answer.rate_pps == pytest.approx(rate, rel=0.02 if arrivals in ("periodic", "timestamps") else 0.6)
        assert made.bounds(load).rate_pps == pytest.approx(rate, rel=1e-5)


@pytest.mark.parametrize("name", OWN)
def test_own_packets_arrive_otherwise(name):
    made = design(name)
    rate = 0.2 * made.bounds(made.workload().with_arrivals("saturated")).rate_pps
    poisson = made.arriving("poisson", rate)
    assert (poisson.workload().arrivals, poisson.workload().rate_pps) == ("poisson", rate)
    assert poisson.workload().packets_key == made.workload().packets_key
    assert poisson.bounds().bottleneck == "arrivals"
    assert poisson.arriving(speed=2).workload().rate_pps == pytest.approx(2 * rate)
    with pytest.raises(InputError, match="speed must be greater than 0"):
        poisson.arriving(speed=-1).workload()


def test_packets_given_set_the_knob_of_their_length():
    """What the machine has by that knob holds the longest; packets of that length are the design's own."""
    made = design("soclib")
    room = made.with_(packet_bytes=500).machine().ingress.capacity
    assert made.machine(workload(packet_bytes=500)).ingress.capacity == room > made.machine().ingress.capacity
    for name, knobs in (("ixp1200", {"receivers": 4, "receiver_engines": 1}), ("soclib", {})):
        own = design(name).with_(**knobs)
        given = own.simulate(workload(packet_bytes=500))
        assert given == own.with_(packet_bytes=500).simulate()


def test_a_window_goes_and_the_key_tells():
    made = design("soclib")
    assert made.by_packets().machine().window_s is None
    assert made.by_packets() == made.by_packets()
    assert model_key(made.by_packets()) != model_key(made)
    assert made.by_packets().simulate(packets=160).about["packets"] == pytest.approx(160, abs=16)


def test_a_capture_is_played_at_a_rate_and_at_a_speed():
    packets = Workload("w", {"packet_bytes": np.array([100, 300, 200])}, t_ns=np.array([0, 1000, 4000]))
    stamped = packets.with_arrivals("timestamps")
    assert offered_rate(stamped.with_arrivals("timestamps", "1.6Mb/s")) == pytest.approx(1000)  # 200 bytes in the mean
    assert stamped.with_arrivals("timestamps", 1e6).t_ns.tolist() == [0, 500, 2000]
    assert stamped.at_speed(2).t_ns.tolist() == [0, 500, 2000]
    assert stamped.with_arrivals("timestamps").t_ns.tolist() == [0, 1000, 4000]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda load: load.with_arrivals("timestamps", "2000Mpps"), "at most 1000 Mpps, got 2000 Mpps"),
        (lambda load: load.with_arrivals("timestamps", 0), "rate must be greater than 0"),
        (lambda load: load.with_arrivals("timestamps", "0Mpps"), "rate must be greater than 0, got '0Mpps'"),
        (lambda load: load.with_arrivals("saturated", "1Mpps"), "a rate needs poisson or periodic arrivals"),
        (lambda load: load.with_arrivals("timestamps").at_speed(0), "speed must be greater than 0"),
        (lambda load: design("soclib").with_(units=2).workload(load), "packets of one length, got 30 to 40 bytes"),
        (lambda load: design("soclib").workload(workload(packet_bytes=19)), "a header of 20 bytes, .* one of 19"),
        (lambda load: design("ixp1200").bounds(workload(packet_bytes=9000)), "packet_bytes must be in 20..1518 "),
    ],
)
def test_loads_that_cannot_be(ask, message):
    load = Workload("w", {"packet_bytes": np.array([30, 40])}, t_ns=np.array([0, 10]))
    with pytest.raises(InputError, match=message):
        ask(load)


def test_one_instant_has_no_rate():
    at_once = Workload("w", {"packet_bytes": np.array([30, 40])}, t_ns=np.array([5, 5]))
    with pytest.raises(InputError, match="'w' has one time stamp for all packets"):
        at_once.with_arrivals("timestamps", 1e6)
