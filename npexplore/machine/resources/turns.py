"""Strict round robin among the threads of an engine, which skips threads without a packet.

A global per engine stores the thread that has the turn, a flag per thread whether it has a packet. At the end of a
visit the turn passes to the next thread with a packet, ready or not; threads without the turn wait at their gates. A
thread that gets a packet takes the turn from a thread without one.
"""

from dataclasses import dataclass

from npexplore._kernels import engine
from npexplore.errors import ModelError
from npexplore.rows.assembler import Assembler
from npexplore.rows.base import Label
from npexplore.rows.expressions import Operand
from npexplore.rows.server import Server


@dataclass(frozen=True)
class Turns:
    """Turns on the `engines` of the server `name` among `threads` threads, each of which belongs to one engine."""

    name: str
    engines: int
    threads: int

    def server(self) -> Server:
        """Return the server with a gate for each thread."""
        return Server(f"{self.name}.turn", self.threads, role="hidden", start=0)

    def _turn(self, asm: Assembler) -> Operand:
        return asm.home(self.name) + asm.shared_global(f"{self.name}.turn", self.engines)

    def _flags(self, asm: Assembler) -> Operand:
        """Return the index of the engine's first flag: one per thread, always 0 for threads of other engines."""
        return asm.home(self.name) * self.threads + asm.shared_global(f"{self.name}.flags", self.engines * self.threads)

    def emit_await(self, asm: Assembler, *_: object) -> None:
        """Wait for the turn, or take it from a thread without a packet; raises ModelError in forked work."""
        if asm.outlives:
            raise ModelError(f"{self.name}: with strict turns forked work cannot compute, its thread may have no turn")
        take_turn, go = Label(), Label()
        with asm.scope():
            asm.check_below(asm.thread, self.threads, f"{self.name} has turns for threads")
            turn = asm.read(self._turn(asm))
            awake = asm.read(self._flags(asm) + turn)
            asm.write(self._flags(asm) + asm.thread, 1)
            asm.jump(take_turn, awake == 0)
            asm.jump(go, turn == asm.thread)
        asm.consume(f"{self.name}.turn", member=asm.thread)
        asm.jump(go)
        asm.place(take_turn)
        asm.write(self._turn(asm), asm.thread)
        asm.place(go)

    def emit_pass(self, asm: Assembler, *_: object) -> None:
        """Give the turn to the next thread that has a packet, and wake that thread if it waits."""
        last, after = asm.shared_global(f"{self.name}.last"), Label()
        with asm.scope():
            asm.write(last, asm.thread)
            following = asm.pick(f"{self.name}.turn", engine.NEXT_FLAGGED, self._flags(asm), last)
            asm.write(self._turn(asm), following)
            asm.jump(after, asm.read(self._flags(asm) + following) == 0)  # no thread of this engine has a packet
            asm.jump(after, asm.line(f"{self.name}.turn", following) == 0)
            asm.put(f"{self.name}.turn", member=following)
        asm.place(after)

    def emit_idle(self, asm: Assembler) -> None:
        """Clear the thread's flag, and pass the turn if the thread has it."""
        skip = Label()
        with asm.scope():
            asm.write(self._flags(asm) + asm.thread, 0)
            asm.jump(skip, asm.read(self._turn(asm)) != asm.thread)
            self.emit_pass(asm)
        asm.place(skip)
