"""Strategies of DiffServ: policers, sequences of arrivals, queue limits, ports, whole set-ups."""

from fractions import Fraction

from hypothesis import strategies as st

from npexplore.golden.diffserv import Arrivals, ClassQueue, DiffServ, OutputPort, Receiver, Shaping, Treatment
from npexplore.golden.diffserv.queues import EarlyDrop, QueueLimits, Thresholds
from npexplore.golden.police import Colour, DifferentiatedTwoRate, LeakyBucket, SingleRate, TwoRate
from npexplore.golden.schedule import SCHEDULERS
from npexplore.golden.token_rate import TokenRate


def token_rates(counted="bytes"):
    """Rates around which a few hundred bytes in a few hundred ns make a difference, some of awkward fractions."""
    some = [(1, 1), (1, 8), (1, 80), (3, 7), (25, 2), (243, 12500), (1, 16000), (999_999_937, 1_000_000_007)]
    return st.sampled_from(some).map(lambda pair: TokenRate(*pair, counted))


def bursts(counted):
    return st.integers(1, 3000) if counted == "bytes" else st.integers(1, 6)


@st.composite
def differentiated_markers(draw):
    counted = draw(st.sampled_from(["bytes", "packets"]))
    rate, burst = token_rates(counted), bursts(counted)
    return DifferentiatedTwoRate(draw(rate), draw(burst), draw(rate), draw(burst), draw(st.booleans()))


@st.composite
def policers(draw):
    counted = draw(st.sampled_from(["bytes", "packets"]))
    burst = bursts(counted)
    rate, aware = draw(token_rates(counted)), draw(st.booleans())
    kind = draw(st.sampled_from(["leaky", "single", "two", "differentiated"]))
    if kind == "leaky":
        return LeakyBucket(rate, draw(burst), draw(st.sampled_from([1, 1, 10, 1000])))
    if kind == "single":
        one, other = draw(burst), draw(st.one_of(st.just(0), burst))
        return SingleRate(rate, *draw(st.permutations([one, other])), aware)
    if kind == "differentiated":
        return draw(differentiated_markers())
    rates = sorted([rate, draw(token_rates(counted))], key=lambda one: one.fraction)
    return TwoRate(rates[1], draw(burst), rates[0], draw(burst), aware)


def lengths():
    return st.one_of(st.sampled_from([1, 64, 1500]), st.integers(1, 1500))


def gaps():
    """Times between arrivals, often none, seldom long."""
    return st.one_of(
        st.just(0), st.integers(0, 20), st.integers(0, 5000), st.sampled_from([6720, 16000, 10**9, 10**15])
    )


@st.composite
def arrivals(draw, most=30):
    """Times that do not go back, and lengths."""
    steps = draw(st.lists(st.tuples(gaps(), lengths()), max_size=most))
    now, rows = draw(st.sampled_from([0, 5, 1_700_000_000_000_000_000])), []
    for gap, length in steps:
        now += gap
        rows.append((now, length))
    return rows


# --- whole routers ---

KERNEL_SCHEDULERS = [name for name in SCHEDULERS if SCHEDULERS[name].KIND is not None]
CLASS_NAMES = ("EF", "AF1", "BE")
LARGEST = 1500


@st.composite
def queue_limits(draw):
    packets, most = draw(st.one_of(st.none(), st.integers(1, 6))), draw(st.one_of(st.none(), st.integers(1, 5000)))
    early = None
    if draw(st.booleans()):
        some = []
        for _ in Colour:
            low = draw(st.integers(0, 3))
            chance = draw(st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(1, 3)]))
            some.append(Thresholds(low, low + draw(st.integers(1, 4)), chance))
        early = EarlyDrop(tuple(some), draw(st.integers(0, 4)), draw(st.sampled_from([1, 512, 6720])))
    return QueueLimits(packets, most, early)


@st.composite
def output_ports(draw, schedulers=KERNEL_SCHEDULERS):
    name = draw(st.sampled_from(schedulers))
    weight = st.integers(100, 3000) if SCHEDULERS[name].IN_BYTES else st.integers(1, 5)
    queues = tuple(ClassQueue(draw(weight), draw(queue_limits())) for _ in CLASS_NAMES)
    shaping = draw(st.one_of(st.none(), st.builds(Shaping, token_rates(), st.integers(LARGEST, 2 * LARGEST))))
    preamble, gap = draw(st.sampled_from([(0, 0), (8, 12), (0, 7)]))
    return OutputPort(draw(token_rates()), queues, name, preamble, gap, shaping, LARGEST)


@st.composite
def routers(draw, schedulers=KERNEL_SCHEDULERS):
    """A router and packets for it."""
    several = tuple(draw(st.lists(policers(), max_size=2)))
    treatment = st.builds(
        Treatment,
        st.sampled_from(CLASS_NAMES),
        st.one_of(st.none(), st.integers(0, len(several) - 1)) if several else st.none(),
        st.sampled_from([Colour.RED, Colour.YELLOW, None]),
        st.one_of(st.none(), st.integers(0, 63)),
        st.sampled_from(Colour),
    )
    treatments = tuple(draw(st.lists(treatment, max_size=3)))
    ports = tuple(draw(st.lists(output_ports(schedulers), min_size=1, max_size=2)))
    receiver = st.builds(
        Receiver, st.sampled_from([0, 10, 3000, 9000]), st.one_of(st.none(), st.integers(0, 2)), st.integers(1, 2)
    )
    receivers = draw(st.one_of(st.none(), st.tuples(receiver, receiver)))
    rows = draw(arrivals(most=40))
    each = {
        "rule": st.integers(-1, len(treatments) - 1),
        "port": st.integers(0, len(ports) - 1),
        "source": st.integers(0, 1),
        "colour": st.sampled_from([0, 0, 1, 2]),
        "service_ns": st.sampled_from([-1, -1, 0, 5000]),
    }
    columns = {name: draw(st.lists(one, min_size=len(rows), max_size=len(rows))) for name, one in each.items()}
    times, sizes = [time for time, _ in rows], [size for _, size in rows]
    router = DiffServ(treatments, ports, several, CLASS_NAMES, receivers)
    return router, Arrivals.of(times, sizes, columns.pop("rule"), columns.pop("port"), **columns)
