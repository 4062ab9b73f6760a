"""The input of a net's kernel (`_kernels/petri`): the net as arrays, and its initial state.

Random numbers come from one seed: one stream per transition, and one for choices.
"""

from dataclasses import dataclass

import numpy as np

from npexplore._kernels import petri as kernel
from npexplore.machine.petri import Net
from npexplore.solve.petri.firing import Array

INITIAL_TOKENS = 1024  # initial room for tokens with data and for firings in progress


@dataclass(eq=False)
class Program:
    """A net for one run of the kernel. ticks: per unit of time. endings: transitions that record their tokens' ages."""

    net: Net
    rules: kernel.Rules
    formulas: kernel.Formulas
    ticks: float
    slots: dict[str, int]
    endings: list[int]
    places: Array
    weight: Array
    plain: bool  # durations without formulas, capacities and tokens with data
    words: int
    gives: int

    def state(self, seed: int) -> kernel.State:
        """Return the initial state, with random numbers of a seed."""
        net, n = self.net, len(self.net.transitions)
        T = self.rules.T
        P, levels = self.places, self.rules.levels
        S = np.zeros((n, kernel.S_WIDTH), dtype=np.int64)
        fields = len(self.slots)
        tokens = sum(place.tokens for place in net.places if place.of)
        K = np.zeros((max(INITIAL_TOKENS, 2 * tokens), kernel.K_DATA + fields), dtype=np.int64)
        K[:, kernel.K_NEXT] = [*range(1, len(K)), -1]
        used = 0
        for p, place in enumerate(net.places):
            P[p, kernel.P_HEAD] = used if place.of and place.tokens else -1
            for k in range(place.tokens if place.of else 0):
                for key, value in place.carried:
                    K[used, kernel.K_DATA + self.slots[key]] = value
                K[used, kernel.K_NEXT] = used + 1 if k < place.tokens - 1 else -1
                P[p, kernel.P_TAIL] = used
                used += 1
        room = max(INITIAL_TOKENS, n)
        F = np.zeros((INITIAL_TOKENS, kernel.F_DATA + fields + 2 * self.gives), dtype=np.int64)
        F[:, kernel.F_TRANSITION] = [*range(1, INITIAL_TOKENS), -1]
        Q = np.zeros(kernel.Q_WIDTH, dtype=np.int64)
        Q[kernel.Q_TOKEN], Q[kernel.Q_TOKENS_LEFT] = used, len(K) - used
        Q[kernel.Q_RECORDS_LEFT] = INITIAL_TOKENS
        Q[kernel.Q_RACE], Q[kernel.Q_PLAIN] = net.timing == "race", self.plain
        Q[kernel.Q_FIELDS], Q[kernel.Q_GIVES], Q[kernel.Q_TICKS] = fields, self.gives, self.ticks
        for p in range(len(P)):
            for t, least, sense, _ in self.rules.met[P[p, kernel.P_MET] : P[p, kernel.P_MET_END]].tolist():
                S[t, kernel.S_UNMET] += (P[p, kernel.P_TOKENS] >= least) != bool(sense)
        bits = np.zeros(self.words, dtype=np.uint64)
        dirty, timers = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        for t in range(n):
            if T[t, kernel.T_FLAGS] & kernel.CHECKED:
                S[t, kernel.S_DIRTY] = 1
                dirty[Q[kernel.Q_DIRTY]] = t
                Q[kernel.Q_DIRTY] += 1
            elif net.timing == "race" and T[t, kernel.T_FLAGS] & kernel.TIMED:
                S[t, kernel.S_TIMER] = 1
                timers[Q[kernel.Q_TIMERS]] = t
                Q[kernel.Q_TIMERS] += 1
            elif S[t, kernel.S_UNMET] == 0:
                bits[T[t, kernel.T_WORD]] |= np.uint64(1) << np.uint64(T[t, kernel.T_BIT])
                levels[T[t, kernel.T_LEVEL], kernel.V_COUNT] += 1
        rng = np.random.SeedSequence(seed).generate_state(n + 1, np.uint64).astype(np.uint64)
        widest = max(len(each.take) + len(each.give) for each in net.transitions) if n else 0
        return kernel.State(
            P, np.zeros(len(P)), S, np.zeros(n), self.weight.copy(), bits, dirty, timers, K, F,
            np.zeros(kernel.NEAR_WIDTH * kernel.NEAR_MOST, dtype=np.int64),
            np.zeros((room, 3), dtype=np.int64), np.full(room, -1, dtype=np.int64), rng, Q, np.zeros(fields),
            np.zeros(kernel.STACK + 1), np.zeros((widest, 2), dtype=np.int64),
            np.zeros((len(self.endings), kernel.BINS), dtype=np.int64), np.zeros(len(self.endings)),
            np.zeros((n, fields)),
        )  # fmt: skip
