"""Token channels and buckets alone, behind Poisson arrivals: exact waits and losses (solve/queueing/token_bucket.py).

closed, a channel is never without somebody who waits for its next token: its rate. A bucket that drops has none.
"""

from __future__ import annotations

from npexplore.errors import RefusedError
from npexplore.machine.resources import Policer, TokenChannel
from npexplore.solve.queueing.token_bucket import bucket_loss, saved_tokens_wait
from npexplore.study.laboratory.lone import LoneResource


def closed_channel(lone: LoneResource, threads: int) -> float:
    """Return packets a second of any number of threads."""
    channel, members = _channel(lone)
    if members > 1:
        raise RefusedError("theory: closed, a channel has a result for packets of one member")
    return channel.rate


def open_channel(lone: LoneResource, rate: float) -> float:
    """Return the mean seconds that a packet waits for a token."""
    channel, members = _channel(lone)
    if rate >= channel.rate * members:
        raise RefusedError(f"theory: the load is {rate / channel.rate / members:.3g}, no steady state")
    return saved_tokens_wait(rate / members, 1 / channel.rate, channel.depth)


def _channel(lone: LoneResource) -> tuple[TokenChannel, int]:
    channel = lone.resource
    assert isinstance(channel, TokenChannel)
    member = lone.number("member") if "member" in lone.operands else 0
    known = not isinstance(member, str) or member == "random" or channel.members == 1
    if channel.clock is not None or lone.operands.get("tokens", 1) != 1 or not known:
        raise RefusedError("theory: a channel needs free edges, a token a packet, and one member or random ones")
    return channel, channel.members if isinstance(member, str) else 1


def dropped(lone: LoneResource, rate: float) -> float:
    """Return the share of packets that find no token in the bucket of their flow."""
    one, flow = lone.resource, lone.operands["flow"]
    assert isinstance(one, Policer)
    if one.timer or not (flow == "random" or isinstance(flow, int)):
        raise RefusedError("theory: a policer needs a timer without ticks, and one flow or random ones")
    if flow != "random":
        return bucket_loss(rate / one.rates[int(flow)], one.depth)
    each = rate / len(one.rates)
    return sum(bucket_loss(each / own, one.depth) for own in one.rates) / len(one.rates)
