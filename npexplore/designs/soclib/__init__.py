"""The SoCLIB multiprocessor NPU.

design  one unit, or several as a router: what a task does with a packet
unit    a unit's resources, cycles of its parts, its locks and interconnect
ways    packets, each on its own way through the element graph
router  units around a switch matrix
"""

from npexplore.designs.soclib.unit import element_cycles

__all__ = ["element_cycles"]
