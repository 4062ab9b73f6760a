"""Runs a lowered program on numbers: the graphs that become hardware, evaluated in Python, a packet at a time."""

from npexplore.designs.gorilla.lowered import lowered_router, registers_of, verdict
from npexplore.designs.gorilla.steps.router import accelerators
from npexplore.hardware.lowering import ENDS

MOST_STEPS = 10_000


def run_graphs(program, begins, answers):
    """Return the registers of a thread at the end, and the steps that it passed.

    begins: registers by name at first. answers(accelerator, arguments): the reply's registers by what follows its name
    (`""`, `.kind`, ...).
    """
    registers = dict.fromkeys((name for name, _, _ in program.registers), 0) | dict(begins)
    name, passed = program.start, []
    while name != ENDS:
        assert len(passed) <= MOST_STEPS, f"program {program.name!r} does not end, the last step was {name!r}"
        passed.append(name)
        step = program.steps[name]
        read_nodes = [at for one in step.requests for at in (one.when, *one.arguments)]
        inputs = dict(registers)
        node_values = step.graph.evaluate(inputs, read_nodes)
        for one in step.requests:
            inputs |= {leaf: 0 for leaf, _, _ in one.reply}
            if node_values[one.when]:
                reply = answers(one.accelerator, [node_values[at] for at in one.arguments])
                inputs |= {f"reply.{one.name}{suffix}": value for suffix, value in reply.items()}
        done = step.graph.evaluate(inputs, [step.next, *step.writes.values()])
        registers |= {leaf: done[at] for leaf, at in step.writes.items()}
        name = step.goes[done[step.next]]
    return registers, passed


class GraphRouter:
    """A router's lowered program with its accelerators: frames in, verdicts out."""

    def __init__(self, box, protocols=("ipv4",), counting=False):
        self.program, self.units = lowered_router(box, protocols, counting), accelerators(box)
        self.box = box

    def forward(self, port, frame):
        """Return what the graphs make of a frame."""
        left, _ = run_graphs(self.program, registers_of(self.program, port, frame), self._answer)
        return verdict(self.program, left, frame)

    def _answer(self, name, arguments):
        if name == "flow_counter":
            self.units[name](tuple(arguments))
            return {}
        if name == "label_table":
            number, _ = self.box.label_cache.look_up(arguments[0])
            return {".kind": int(number >= 0), ".is1": max(0, number)}
        answer = self.units[name](*arguments)
        return {".kind": 0, ".is1": 0} if answer.value is None else {".kind": 1, ".is1": int(answer.value)}
