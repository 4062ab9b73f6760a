"""Which order makes a mode: who passes a lock after whom when a run has settled; and what jitter makes of modes.

The order is that of a run's last takes of the lock at which most threads wait, if these repeat. Threads of one pool are
alike but for the member of their home that they live on, so that members are named, from the smallest rotation on.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from npexplore.engine.run import run
from npexplore.solve.estimate.plan import FIRST_RUNS, Plan, packet_events
from npexplore.solve.estimate.replications import Replication, Subject, over, replicate
from npexplore.solve.modes import Modes, modes_of

SETTLED_PACKETS = 600  # after which a run keeps its order
LOG_ROWS = 1 << 18  # takes and gives that are noted at most
REPEATS = 3  # periods that must be alike
JITTERS = (0.01, 0.05)


def shown(subject: Subject, modes: Modes, runs: Sequence[Replication], plan: Plan, events: float) -> Modes:
    """Return modes with the order that makes each, and with what 1 and 5 % of jitter make of them.

    runs: those that show the modes. plan: of the runs with jitter, which `events` must have room for.
    """
    orders: tuple[str, ...] = ()
    if subject.locks:
        lock = _contended(subject, runs)
        orders = tuple(order_of(subject, seeds[0], lock) for seeds in modes.seeds)
    needed = len(JITTERS) * FIRST_RUNS * (plan.warm_up + plan.packets) * packet_events(runs)
    jitter = tuple(_with_jitter(subject, plan, modes, share) for share in JITTERS) if needed <= events else ()
    return replace(modes, orders=orders, jitter=jitter)


def _contended(subject: Subject, runs: Sequence[Replication]) -> str:
    """Return the lock at which most threads wait."""
    return max(subject.locks, key=lambda name: sum(one.prediction.queue[name].mean for one in runs))


def order_of(subject: Subject, seed: int, lock: str) -> str:
    """Return who passes a lock in the end of the run with a seed, in words."""
    model = subject.saturated_model_of(seed)
    result = run(model, seed, SETTLED_PACKETS + subject.inside, 1, log_rows=LOG_ROWS)
    server, number = model.servers[lock]
    log = result.log
    takes = log[(log[:, 1] >= number) & (log[:, 1] < number + server.members) & (log[:, 2] > 0), 3].tolist()
    period = period_of(takes, 2 * subject.machine.threads)
    if period is None:
        return f"{lock} is passed in no fixed order"
    tokens = [model.tokens[int(token)] for token in takes[-period:] if token < len(model.tokens)]
    several = len({token.name for token in tokens}) > 1
    names = [f"{token.name} {token.member}" if several else str(token.member) for token in tokens]
    first = min(names[k:] + names[:k] for k in range(len(names)))
    return f"{lock} is passed by threads of members {', '.join(first) if several else ' '.join(first)}"


def period_of(takes: list[int], longest: int) -> int | None:
    """Return the shortest period of the end of a sequence, up to a length; None if it does not repeat."""
    for period in range(1, longest + 1):
        part = takes[-REPEATS * period :]
        if len(part) == REPEATS * period and part == part[-period:] * REPEATS:
            return period
    return None


def _with_jitter(subject: Subject, plan: Plan, modes: Modes, share: float) -> str:
    """Return the rates with some jitter, in words."""
    machine = copy(subject.machine)
    machine.jitter = share
    shaken = Subject(machine, subject.endless)
    shaken.saturated_model()
    seeds = sorted(seed for some in modes.seeds for seed in some)[:FIRST_RUNS]
    runs = replicate(lambda seed: shaken.saturated_run(seed, plan.warm_up, plan.packets), seeds)
    shaken_modes = modes_of(runs)
    rate, half = over((one.packets for one in runs), (one.seconds for one in runs))
    text = str(shaken_modes) if shaken_modes is not None else f"{rate / 1e6:.4g} Mpps +-{100 * half / rate:.2g} %"
    return f"with {100 * share:g} % of jitter: {text}"
