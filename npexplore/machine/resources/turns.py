"""Strict round robin among the threads of an engine: whose turn it is, and who is passed over.

Per engine a global says whose turn it is, per thread one whether it has a packet. The turn passes at the end of a
visit to the next thread that has a packet, ready or not; a thread whose turn it is not waits at its gate. A thread that
comes back with a packet takes the turn of one that has none.
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
        """A gate for each thread."""
        return Server(f"{self.name}.turn", self.threads, role="hidden", start=0)

    def _turn(self, asm: Assembler) -> Operand:
        return asm.home(self.name) + asm.shared_global(f"{self.name}.turn", self.engines)

    def _flags(self, asm: Assembler) -> Operand:
        """Return the first of the engine's flags: one for every thread, which stays 0 for those of other engines."""
        return asm.home(self.name) * self.threads + asm.shared_global(f"{self.name}.flags", self.engines * self.threads)

    def emit_await(self, asm: Assembler, *_: object) -> None:
        """Wait for the turn; take it from a thread that has no packet. Raises ModelError in work that outlives it."""
        if asm.outlives:
            raise ModelError(f"{self.name}: with strict turns forked work cannot compute, its thread may have no turn")
        own, go = Label(), Label()
        with asm.scope():
            asm.check_below(asm.thread, self.threads, f"{self.name} has turns for threads")
            turn = asm.read(self._turn(asm))
            awake = asm.read(self._flags(asm) + turn)
            asm.write(self._flags(asm) + asm.thread, 1)
            asm.jump(own, awake == 0)
            asm.jump(go, turn == asm.thread)
        asm.consume(f"{self.name}.turn", member=asm.thread)
        asm.jump(go)
        asm.place(own)
        asm.write(self._turn(asm), asm.thread)
        asm.place(go)

    def emit_pass(self, asm: Assembler, *_: object) -> None:
        """Give the turn to the next thread that has a packet, and wake it if it waits for it."""
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
        """Have no packet; pass the turn on."""
        skip = Label()
        with asm.scope():
            asm.write(self._flags(asm) + asm.thread, 0)
            asm.jump(skip, asm.read(self._turn(asm)) != asm.thread)
            self.emit_pass(asm)
        asm.place(skip)
