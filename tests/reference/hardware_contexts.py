"""A lowered program run on contexts whose registers share places, beside the same run on registers of their own."""

from npexplore.hardware.allocation import START
from npexplore.hardware.lowering import ENDS
from npexplore.hardware.places import NOWHERE


def put(context, bits, value_of):
    """Return a context with some bits of registers at their places."""
    for place, (name, k) in bits.items():
        context = context & ~(1 << place) | (value_of(name) >> k & 1) << place
    return context


class Run:
    """A packet's way through a program, step by step; `differs` is what first differed, in words, or None.

    shared: registers are read from, and written to, a context; `apart` are the same registers in places of their own.
    most: steps, behind which the run is left. A run also ends where a step looks at what nobody gave a value.
    """

    def __init__(self, program, places, begins, answers, held=None, most=60):
        self.program, self.places, self.answers, self.held = program, places, answers, held
        self.signed = {name for name, lo, _ in program.registers if lo < 0}
        self.sizes = {name: len(bits) for name, bits in places.at.items()}
        self.apart = dict.fromkeys(self.sizes, 0) | {name: begins[name] for name in begins if name in self.sizes}
        self.given, self.differs, self.passed = set(program.begins), None, []
        self.context = put(0, places.enters, self.apart.__getitem__)
        name = program.start
        self._looked_at(START)
        while name != ENDS and self.differs is None and len(self.passed) < most:
            self.passed.append(name)
            name = self._stepped(program.steps[name])
            if name is None:
                return
            self._looked_at(self.passed[-1])
        if name == ENDS:
            told = [one for one in program.results if one in self.given and self.read(one) != self.apart[one]]
            self.differs = self.differs or (f"the answer {told}" if told else None)

    def read(self, name):
        """Return a register out of the context."""
        found = sum((self.context >> at & 1) << k for k, at in enumerate(self.places.at[name]) if at != NOWHERE)
        size = self.sizes[name]
        return found - (1 << size) if name in self.signed and found >> size - 1 else found

    def _stepped(self, step):
        """Do a step on both; returns the next one, None where the run ends."""
        asked = [at for one in step.requests for at in (one.when, *one.arguments)]
        own = {name: at for name, at in step.writes.items() if name in self.sizes}
        if (
            self.held is not None
            and not step.inputs([step.next, *asked, *own.values()]) & self.sizes.keys() <= self.given
        ):
            return None
        apart, shared = dict(self.apart), {name: self.read(name) for name in self.sizes}
        found, other = (step.graph.evaluate(one, asked) for one in (apart, shared))
        for one in step.requests:
            made, again = ([done[at] for at in (one.when, *one.arguments)] for done in (found, other))
            if made[0] != again[0] or (made[0] and made != again):
                self.differs = f"step {step.name} asks {again}, not {made}"
                return None
            reply = {leaf: 0 for leaf, _, _ in one.reply}
            if made[0]:
                answer = self.answers(one.accelerator, made[1:])
                reply |= {f"reply.{one.name}{suffix}": value for suffix, value in answer.items()}
            apart, shared = apart | reply, shared | reply
        wanted = [step.next, *own.values()]
        found, other = (step.graph.evaluate(one, wanted) for one in (apart, shared))
        if found[step.next] != other[step.next]:
            self.differs = f"step {step.name} goes on elsewhere"
            return None
        self.apart |= {name: found[at] for name, at in own.items()}
        self.given |= own.keys()
        self.context = put(self.context, self.places.writes[step.name], lambda name: other[own[name]])
        return step.goes[found[step.next]]

    def _looked_at(self, point):
        """Hold every bit that is held at a point, and has a value, to the register of its own."""
        for name, k in self.held[point] if self.held is not None else ():
            if name in self.given and (self.context >> self.places.at[name][k] ^ self.apart[name] >> k) & 1:
                self.differs = self.differs or f"bit {k} of {name} at {point}"
