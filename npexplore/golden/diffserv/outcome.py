"""The outcome of a simulation: departure or drop of each packet; rates, drops and delays by class, port and rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from npexplore._kernels import golden_diffserv as kernels
from npexplore.errors import InputError
from npexplore.golden.diffserv.arrivals import Arrivals
from npexplore.golden.diffserv.setup import DiffServ
from npexplore.golden.police import Colour
from npexplore.golden.token_rate import NS
from npexplore.records import by_content

if TYPE_CHECKING:
    import pandas as pd

NOT_MARKED, NOT_SENT = -1, -1
QUANTILES = {"delay_p50_ns": 0.5, "delay_p95_ns": 0.95, "delay_p99_ns": 0.99}


class Fate(IntEnum):
    """The fate of a packet: a code, its meaning (`text`), and the document that defines it (`clause`).

    Example:
        >>> from npexplore.golden import Fate
        >>> Fate.SENT.name
        'SENT'
    """

    text: str
    clause: str

    def __new__(cls, code: int, text: str, clause: str) -> Fate:
        """Make a member with its text and clause."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        member.clause = clause
        return member

    SENT = kernels.SENT, "it left by a port", ""
    POLICED = kernels.POLICED, "its flow sent more than its policer allows", "RFC 2475 section 2.3.3.4"
    QUEUE_FULL = kernels.QUEUE_FULL, "the queue of its class was full", "RFC 7567 section 2"
    EARLY = kernels.EARLY, "the queue of its class was long on average", "RFC 7567 section 2"
    BUFFER_FULL = 4, "the MAC buffer was full before it was received", "Lin et al. 2003, Detailed Packet Flow"


@by_content
@dataclass(frozen=True)
class Outcome:
    """One row per packet, in the order of arrivals.

    ready_ns: end of its reception (-1: lost). departure_ns: departure of its last bit (-1: dropped). fate: a code of
    Fate. colour: after policing. dscp: the code point it is marked with (-1: unchanged).
    """

    router: DiffServ
    arrivals: Arrivals
    ready_ns: NDArray[np.int64]
    departure_ns: NDArray[np.int64]
    fate: NDArray[np.uint8]
    colour: NDArray[np.uint8]
    dscp: NDArray[np.int16]

    @classmethod
    def empty(cls, router: DiffServ, arrivals: Arrivals, ready_ns: NDArray[np.int64]) -> Outcome:
        """Return the initial outcome: packets that were not received are lost, the others not yet decided."""
        size = len(arrivals)
        fate = np.where(ready_ns < 0, np.uint8(Fate.BUFFER_FULL), np.uint8(Fate.SENT)).astype(np.uint8)
        colour, dscp = arrivals.colour.astype(np.uint8), np.full(size, NOT_MARKED, np.int16)
        return cls(router, arrivals, ready_ns, np.full(size, NOT_SENT, np.int64), fate, colour, dscp)

    @property
    def sent(self) -> NDArray[np.bool_]:
        """Whether each packet was sent."""
        return np.equal(self.fate, Fate.SENT)

    @property
    def delay_ns(self) -> NDArray[np.int64]:
        """Time in ns from arrival to the departure of the last bit, -1 for dropped packets."""
        return np.where(self.sent, self.departure_ns - self.arrivals.time_ns, NOT_SENT)

    @property
    def class_number(self) -> NDArray[np.int64]:
        """The class (queue) number of each packet."""
        of_rule = [self.router.class_number(rule) for rule in (*range(len(self.router.treatments)), -1)]
        return np.array(of_rule, np.int64)[self.arrivals.rule]

    def by_class(self, since_ns: int | None = None, until_ns: int | None = None) -> pd.DataFrame:
        """Return one row per class: packets offered and by fate, rates, delays (NaN if no packet was sent).

        Counts by fate are of packets that arrived in [since_ns, until_ns); sent rates and delays are of packets that
        departed in this time. Default: from the first arrival until just after the last. Raises InputError for an empty
        interval.
        """
        return self._table(self.class_number, len(self.router.classes), since_ns, until_ns).assign(
            **{"class": self.router.classes}
        ).set_index("class")  # fmt: skip

    def by_port(self, since_ns: int | None = None, until_ns: int | None = None) -> pd.DataFrame:
        """Return one row per port and class, with the columns of `by_class`."""
        ports, classes = len(self.router.ports), len(self.router.classes)
        table = self._table(self.arrivals.port * classes + self.class_number, ports * classes, since_ns, until_ns)
        numbers = np.repeat(np.arange(ports), classes)
        return table.assign(port=numbers, **{"class": self.router.classes * ports}).set_index(["port", "class"])

    def by_rule(self, since_ns: int | None = None, until_ns: int | None = None) -> pd.DataFrame:
        """Return one row per rule, with the columns of `by_class`; the last row, -1: packets without a rule."""
        rules = len(self.router.treatments)
        table = self._table(self.arrivals.rule % (rules + 1), rules + 1, since_ns, until_ns)
        return table.assign(rule=[*range(rules), -1]).set_index("rule")

    def _table(
        self, group: NDArray[np.int64], groups: int, since_ns: int | None, until_ns: int | None
    ) -> pd.DataFrame:  # fmt: skip
        """Return the counts, rates and delays of groups of packets; group: number of each packet's group."""
        import pandas as pd

        time, length = self.arrivals.time_ns, self.arrivals.length_bytes
        begin_ns = since_ns if since_ns is not None else int(time[0]) if len(time) else 0
        end_ns = until_ns if until_ns is not None else int(time[-1]) + 1 if len(time) else 1
        if end_ns <= begin_ns:
            raise InputError(f"time must end after it begins, got {begin_ns} ns to {end_ns} ns")
        seconds = (end_ns - begin_ns) / NS
        arrived = (time >= begin_ns) & (time < end_ns)
        departed = self.sent & (self.departure_ns >= begin_ns) & (self.departure_ns < end_ns)

        def packets(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(group[chosen], minlength=groups)

        def sums(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(group[chosen], length[chosen], minlength=groups).astype(np.int64)

        columns = {"offered": packets(arrived), "offered_bytes": sums(arrived)}
        columns |= {fate.name.lower(): packets(arrived & (self.fate == fate)) for fate in Fate}
        received = arrived & (self.fate != Fate.BUFFER_FULL)
        columns |= {colour.name.lower(): packets(received & (self.colour == colour)) for colour in Colour}
        rates = {
            "offered_pps": packets(arrived) / seconds,
            "sent_pps": packets(departed) / seconds,
            "sent_bps": sums(departed) * 8 / seconds,
        }
        delays = np.full((groups, 1 + len(QUANTILES)), np.nan)
        rows = np.flatnonzero(departed)
        rows = rows[np.argsort(group[rows], kind="stable")]
        delay, ends = self.delay_ns[rows], np.cumsum(packets(departed))
        for number, part in enumerate(np.split(delay, ends[:-1])):
            if len(part):
                delays[number] = part.mean(), *np.quantile(part, list(QUANTILES.values()))
        names = ["delay_mean_ns", *QUANTILES]
        return pd.DataFrame(columns | rates | dict(zip(names, delays.T, strict=True)))
