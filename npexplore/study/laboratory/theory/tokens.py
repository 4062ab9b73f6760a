"""Results for token channels and buckets with Poisson arrivals: exact waits, losses (solve/queueing/token_bucket.py).

Closed, a channel always has a packet that waits for its next token, so it runs at its rate. A bucket that drops has no
closed result.
"""

from __future__ import annotations

from npexplore.errors import RefusedError
from npexplore.machine.resources import Policer, TokenChannel
from npexplore.solve.queueing.token_bucket import bucket_loss, saved_tokens_wait
from npexplore.study.laboratory.lone import LoneResource


def closed_channel(lone: LoneResource, threads: int) -> float:
    """Return the packets/s of any number of threads: the channel's rate."""
    channel, members = _channel(lone)
    if members > 1:
        raise RefusedError("theory: closed, a channel has a result for packets of one member")
    return channel.rate


def open_channel(lone: LoneResource, rate: float) -> float:
    """Return the mean time in s that a packet waits for a token; rate: packets/s."""
    channel, members = _channel(lone)
    if rate >= channel.rate * members:
        raise RefusedError(f"theory: the load is {rate / channel.rate / members:.3g}, no steady state")
    return saved_tokens_wait(rate / members, 1 / channel.rate, channel.depth)


def _channel(lone: LoneResource) -> tuple[TokenChannel, int]:
    channel = lone.resource
    assert isinstance(channel, TokenChannel)
    member = lone.number("member") if "member" in lone.operands else 0
    has_result = not isinstance(member, str) or member == "random" or channel.members == 1
    if channel.clock is not None or lone.operands.get("tokens", 1) != 1 or not has_result:
        raise RefusedError("theory: a channel needs free edges, a token a packet, and one member or random ones")
    return channel, channel.members if isinstance(member, str) else 1


def dropped(lone: LoneResource, rate: float) -> float:
    """Return the share of packets without a token in their flow's bucket; rate: packets/s."""
    policer, flow = lone.resource, lone.operands["flow"]
    assert isinstance(policer, Policer)
    if policer.timer or not (flow == "random" or isinstance(flow, int)):
        raise RefusedError("theory: a policer needs a timer without ticks, and one flow or random ones")
    if flow != "random":
        return bucket_loss(rate / policer.rates[int(flow)], policer.depth)
    rate_per_flow = rate / len(policer.rates)
    return sum(bucket_loss(rate_per_flow / flow_rate, policer.depth) for flow_rate in policer.rates) / len(
        policer.rates
    )
