"""With any switches on, the batch pipeline decides what the reference decides; the switches only take away or add."""

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from npexplore.golden.reasons import Reason
from npexplore.golden.router.batch import BatchForwarder, Frames
from npexplore.golden.router.forward import Forwarder
from npexplore.golden.router.policy import Policy
from npexplore.testing import frames, router_configurations

policies = st.builds(
    Policy,
    directed_broadcasts=st.booleans(),
    reverse_path=st.booleans(),
    icmp_per_second=st.one_of(st.none(), st.integers(1, 3)),
)


@settings(max_examples=30)
@given(st.data())
def test_batch_equals_reference_with_any_switches(data):
    drawn = data.draw(router_configurations())
    listed = data.draw(st.lists(st.booleans(), min_size=len(drawn.ports), max_size=len(drawn.ports)))
    ports = (dataclasses.replace(port, listed_only=only) for port, only in zip(drawn.ports, listed, strict=True))
    router = dataclasses.replace(drawn, ports=tuple(ports), policy=data.draw(policies))
    rows = [(*row, 10**8 * k) for k, row in enumerate(data.draw(st.lists(frames(router), min_size=1, max_size=8)))]
    reference = Forwarder(router, lookup="binary_trie")
    batch = BatchForwarder(router, lookup="binary_trie")
    outcomes, made = [reference.forward(*row) for row in rows], batch.forward(Frames.of(rows))
    assert made.reason.tolist() == [outcome.reason for outcome in outcomes]
    expected = [(row, *sent) for row, outcome in enumerate(outcomes) for sent in outcome.sent]
    columns = (made.packet.tolist(), made.port.tolist(), list(made.frames), made.icmp.tolist())
    assert list(zip(*columns, strict=True)) == expected
    assert batch.counters == reference.counters
    plain = Forwarder(drawn, lookup="binary_trie")
    for row, outcome in zip(rows, outcomes, strict=True):
        without = plain.forward(*row).reason
        if outcome.reason not in (Reason.REVERSE_PATH, Reason.NO_NEIGHBOUR):
            opened = without is Reason.DIRECTED_BROADCAST and router.policy.directed_broadcasts
            assert outcome.reason is without or opened
