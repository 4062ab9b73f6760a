"""The resource kinds: one file and one import here per kind; the common tests run on all of them.

A class with `kind="NAME"` registers itself in KINDS, under the name that machine files use.
"""

from npexplore.machine.resources.accelerator import Accelerator as Accelerator
from npexplore.machine.resources.address_map import AddressMap as AddressMap
from npexplore.machine.resources.arbiter import Arbiter as Arbiter
from npexplore.machine.resources.balancer import Balancer as Balancer
from npexplore.machine.resources.banked import BankedMemory as BankedMemory
from npexplore.machine.resources.base import KINDS as KINDS
from npexplore.machine.resources.channel import TokenChannel as TokenChannel
from npexplore.machine.resources.ddr_controller import DdrController as DdrController
from npexplore.machine.resources.ddr_controller import WriteBuffer as WriteBuffer
from npexplore.machine.resources.dram import Dram as Dram
from npexplore.machine.resources.dram import DramOptions as DramOptions
from npexplore.machine.resources.dram_controller import DramController as DramController
from npexplore.machine.resources.dram_device import DramDevice as DramDevice
from npexplore.machine.resources.dram_policy import DramPolicy as DramPolicy
from npexplore.machine.resources.dram_timing import DramTiming as DramTiming
from npexplore.machine.resources.line_card import LineCard as LineCard
from npexplore.machine.resources.lock import Lock as Lock
from npexplore.machine.resources.matrix import SwitchMatrix as SwitchMatrix
from npexplore.machine.resources.memory import WordMemory as WordMemory
from npexplore.machine.resources.mesh import Mesh as Mesh
from npexplore.machine.resources.policer import Policer as Policer
from npexplore.machine.resources.pool import BufferPool as BufferPool
from npexplore.machine.resources.processor import Processor as Processor
from npexplore.machine.resources.queue import BoundedQueue as BoundedQueue
from npexplore.machine.resources.reorder import ReorderQueue as ReorderQueue
from npexplore.machine.resources.scheduled_queue import ScheduledQueue as ScheduledQueue
from npexplore.machine.resources.server import Delay as Delay
from npexplore.machine.resources.server import FifoServer as FifoServer
from npexplore.machine.resources.shared_bus import SharedBus as SharedBus
from npexplore.machine.resources.streams import StaticStreams as StaticStreams
from npexplore.machine.resources.tcam import Tcam as Tcam
