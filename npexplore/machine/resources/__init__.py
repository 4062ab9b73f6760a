"""The resource kinds, one file per kind; what is listed here is tested by the common tests."""

from npexplore.machine.resources.accelerator import Accelerator
from npexplore.machine.resources.address_map import AddressMap
from npexplore.machine.resources.arbiter import Arbiter
from npexplore.machine.resources.balancer import Balancer
from npexplore.machine.resources.banked import BankedMemory
from npexplore.machine.resources.channel import TokenChannel
from npexplore.machine.resources.ddr_controller import DdrController, WriteBuffer
from npexplore.machine.resources.dram import Dram, DramOptions
from npexplore.machine.resources.dram_controller import DramController
from npexplore.machine.resources.dram_device import DramDevice
from npexplore.machine.resources.dram_policy import DramPolicy
from npexplore.machine.resources.dram_timing import DramTiming
from npexplore.machine.resources.line_card import LineCard
from npexplore.machine.resources.lock import Lock
from npexplore.machine.resources.matrix import SwitchMatrix
from npexplore.machine.resources.memory import WordMemory
from npexplore.machine.resources.mesh import Mesh
from npexplore.machine.resources.policer import Policer
from npexplore.machine.resources.pool import BufferPool
from npexplore.machine.resources.processor import Processor
from npexplore.machine.resources.queue import BoundedQueue
from npexplore.machine.resources.reorder import ReorderQueue
from npexplore.machine.resources.scheduled_queue import ScheduledQueue
from npexplore.machine.resources.server import Delay, FifoServer
from npexplore.machine.resources.streams import StaticStreams

KINDS = {
    "processor": Processor,
    "server": FifoServer,
    "accelerator": Accelerator,
    "channel": TokenChannel,
    "arbiter": Arbiter,
    "reorder": ReorderQueue,
    "balancer": Balancer,
    "delay": Delay,
    "memory": WordMemory,
    "banked_memory": BankedMemory,
    "dram": Dram,
    "ddr": DdrController,
    "dram_controller": DramController,
    "pool": BufferPool,
    "queue": BoundedQueue,
    "scheduled_queue": ScheduledQueue,
    "policer": Policer,
    "line_card": LineCard,
    "mesh": Mesh,
    "streams": StaticStreams,
    "lock": Lock,
    "matrix": SwitchMatrix,
}

__all__ = [
    "KINDS",
    "Accelerator",
    "AddressMap",
    "Arbiter",
    "Balancer",
    "BankedMemory",
    "BoundedQueue",
    "BufferPool",
    "DdrController",
    "Delay",
    "Dram",
    "DramController",
    "DramDevice",
    "DramOptions",
    "DramPolicy",
    "DramTiming",
    "FifoServer",
    "LineCard",
    "Lock",
    "Mesh",
    "Policer",
    "Processor",
    "ReorderQueue",
    "ScheduledQueue",
    "StaticStreams",
    "SwitchMatrix",
    "TokenChannel",
    "WordMemory",
    "WriteBuffer",
]
