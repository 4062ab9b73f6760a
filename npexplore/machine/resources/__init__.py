"""The resource kinds, one file a kind; what is listed here is tested by the common tests."""

from npexplore.machine.resources.dram import Dram, DramOptions, DramTiming
from npexplore.machine.resources.memory import WordMemory
from npexplore.machine.resources.pool import BufferPool
from npexplore.machine.resources.processor import Processor
from npexplore.machine.resources.server import Delay, FifoServer

KINDS = {
    "processor": Processor,
    "server": FifoServer,
    "delay": Delay,
    "memory": WordMemory,
    "dram": Dram,
    "pool": BufferPool,
}

__all__ = ["KINDS", "BufferPool", "Delay", "Dram", "DramOptions", "DramTiming", "FifoServer", "Processor", "WordMemory"]
