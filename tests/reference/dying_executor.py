"""An executor whose workers die, as those of a process pool that is killed."""

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool


class DyingExecutor:
    """Answers some tasks, then its workers are dead."""

    def __init__(self, alive):
        self.alive = alive

    def submit(self, function, *args):
        future = Future()
        if self.alive:
            self.alive -= 1
            future.set_result(function(*args))
        else:
            future.set_exception(BrokenProcessPool("killed"))
        return future
