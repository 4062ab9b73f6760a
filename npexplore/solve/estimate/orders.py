"""The order of threads at a lock that causes a mode, and the effect of jitter on modes.

The order is that of a run's last takes of the lock at which most threads wait, if it repeats. Threads of one pool
differ only by the member of their home, so the order is a list of members, rotated to the smallest text.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from npexplore.engine.run import run
from npexplore.solve.estimate.plan import FIRST_RUNS, Plan, packet_events
from npexplore.solve.estimate.replications import Replication, Subject, over, replicate
from npexplore.solve.modes import Modes, modes_of

SETTLED_PACKETS = 600  # after which the order of a run no longer changes
LOG_ROWS = 1 << 18  # limit of logged takes and gives
REPEATS = 3  # periods that must be equal
JITTERS = (0.01, 0.05)


def shown(subject: Subject, modes: Modes, runs: Sequence[Replication], plan: Plan, events: float) -> Modes:
    """Return modes with the order that causes each, and with the effect of 1 and 5 % of jitter.

    runs: the runs that have the modes. plan: of runs with jitter, which are made if `events` events suffice.
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
    return max(subject.locks, key=lambda name: sum(run.prediction.queue[name].mean for run in runs))


def order_of(subject: Subject, seed: int, lock: str) -> str:
    """Return, in words, the order in which threads pass a lock at the end of the run with a seed."""
    model = subject.saturated_model_of(seed)
    result = run(model, seed, SETTLED_PACKETS + subject.inside, 1, log_rows=LOG_ROWS)
    server, number = model.servers[lock]
    log = result.log
    takes = log[(log[:, 1] >= number) & (log[:, 1] < number + server.members) & (log[:, 2] > 0), 3].tolist()
    period = period_of(takes, 2 * subject.machine.threads)
    if period is None:
        return f"{lock} is passed in no fixed order"
    tokens = [model.tokens[int(token)] for token in takes[-period:] if token < len(model.tokens)]
    several_pools = len({token.name for token in tokens}) > 1
    names = [f"{token.name} {token.member}" if several_pools else str(token.member) for token in tokens]
    first = min(names[k:] + names[:k] for k in range(len(names)))
    return f"{lock} is passed by threads of members {', '.join(first) if several_pools else ' '.join(first)}"


def period_of(takes: list[int], longest: int) -> int | None:
    """Return the shortest period, at most `longest`, of the end of a sequence (None: it does not repeat)."""
    for period in range(1, longest + 1):
        part = takes[-REPEATS * period :]
        if len(part) == REPEATS * period and part == part[-period:] * REPEATS:
            return period
    return None


def _with_jitter(subject: Subject, plan: Plan, modes: Modes, share: float) -> str:
    """Return, in words, the rates with a share of jitter of service times."""
    machine = copy(subject.machine)
    machine.jitter = share
    jittered = Subject(machine, subject.endless)
    jittered.saturated_model()
    seeds = sorted(seed for seeds_of_mode in modes.seeds for seed in seeds_of_mode)[:FIRST_RUNS]
    runs = replicate(lambda seed: jittered.saturated_run(seed, plan.warm_up, plan.packets), seeds)
    jittered_modes = modes_of(runs)
    rate, half = over((run.packets for run in runs), (run.seconds for run in runs))
    text = str(jittered_modes) if jittered_modes is not None else f"{rate / 1e6:.4g} Mpps +-{100 * half / rate:.2g} %"
    return f"with {100 * share:g} % of jitter: {text}"
